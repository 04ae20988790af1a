# SPDX-License-Identifier: MIT
"""Tells slurmtune how long a step took. Copy this file, or its few lines, into your training:

    from slurmtune_metrics import report
    report(step, step_s=seconds, samples=global_batch, loss=float(loss), any_name=1.0)

Call it once an optimizer step, on any rank: only rank 0 writes. Without slurmtune it does nothing.
Times are in seconds, memory in bytes; see docs/user/trials.md for the names that mean something.
"""
import json
import os

_PATH = os.environ.get("SLURMTUNE_METRICS") if os.environ.get("RANK", "0") == "0" else None
_FILE = -1


def report(step, **values):
    """Appends one line; each value becomes a number (tensors and numpy scalars too)."""
    global _FILE
    if not _PATH:
        return
    if _FILE < 0:
        _FILE = os.open(_PATH, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    line = {"step": int(step)}
    line.update({name: float(value) for name, value in values.items() if value is not None})
    os.write(_FILE, (json.dumps(line) + "\n").encode())
