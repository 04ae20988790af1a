#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Builds the spaces of spaces.py with slurmtune and with the builders of python-constraint2,
kernel-tuner and pyatf, one after the other, and prints seconds, ratios and memory.

  BUILD_SPACE=build/release/tests/build_space tests/bench/space/against_builders.py

The Python builders run with SLURMTUNE_BENCH_PYTHON (default: ~/.cache/slurmtune/space-builders/bin/
python, which `python3 -m venv` and `pip install python-constraint2 kernel-tuner pyatf` make); those
that it does not have are left out, and that is said. Each has SLURMTUNE_BENCH_LIMIT_S (default: 60)
and 4 GiB for a space; what takes longer counts as that long.

Exits with 1 if a count differs, if slurmtune is not 10 times faster than python-constraint2 and
faster than the others on every space, or if it needs 1 GiB; with 125 (skipped) if there is none to
compare with.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import spaces

HERE = Path(__file__).resolve().parent
PROGRAM = os.environ.get("BUILD_SPACE", "build/release/tests/build_space")
PYTHON = os.environ.get("SLURMTUNE_BENCH_PYTHON",
                        str(Path.home() / ".cache/slurmtune/space-builders/bin/python"))
LIMIT_S = float(os.environ.get("SLURMTUNE_BENCH_LIMIT_S", "60"))
LIMIT_BYTES = 4 * 2**30
PEAK_MAX = 2**30
# Of each builder how many times faster slurmtune must be.
MARKS = {"python-constraint2": 10.0, "kernel-tuner": 1.0, "pyatf": 1.0}
MODULES = {"python-constraint2": "constraint", "kernel-tuner": "kernel_tuner", "pyatf": "pyatf"}


def installed():
    found = []
    for builder, module in MODULES.items():
        command = [PYTHON, "-W", "ignore", "-c", f"import {module}"]
        try:
            there = subprocess.run(command, capture_output=True, check=False).returncode == 0
        except OSError:
            there = False
        if there:
            found.append(builder)
        else:
            print(f"SKIPPED: {builder}: {PYTHON} cannot import {module}")
    return found


def build_with(builder, number):
    """What the builder says, or nothing if it did not end within its limits."""
    command = [PYTHON, "-W", "ignore", str(HERE / "build_with.py"), builder, str(number)]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=LIMIT_S, check=False,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (LIMIT_BYTES, LIMIT_BYTES)))
    except subprocess.TimeoutExpired:
        return None
    if done.returncode == 0:
        return json.loads(done.stdout.splitlines()[-1])
    if "MemoryError" in done.stderr:
        return None
    sys.exit(f"FAILED: {builder}: {done.stderr}")


def build_ours(space, place):
    study = Path(place) / "study.toml"
    study.write_text(space.study(), encoding="utf-8")
    done = subprocess.run([PROGRAM, str(study), "15"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"FAILED: {space.name}: {done.stderr}")
    return json.loads(done.stdout)


def main():
    builders = installed()
    if not builders:
        print(f"SKIPPED: nothing to compare with; see {__file__}")
        sys.exit(125)
    failures = []
    checked = 0
    peak = 0
    print(f"{'space':22} {'points':>13} {'valid':>12} {'slurmtune':>12} {'MiB':>5}  " +
          "  ".join(f"{builder:>26}" for builder in builders))
    with tempfile.TemporaryDirectory() as place:
        for number, space in enumerate(spaces.all_spaces()):
            ours = build_ours(space, place)
            peak = max(peak, ours["peak_bytes"])
            cells = []
            agreed = False
            for builder in builders:
                theirs = build_with(builder, number)
                seconds = theirs["seconds"] if theirs else LIMIT_S
                ratio = seconds / ours["seconds"]
                sign = " " if theirs else ">"
                cells.append(f"{sign}{seconds:8.3f} s {sign}{ratio:9.1f} x    ")
                if ratio < MARKS[builder]:
                    failures.append(f"{space.name}: {ratio:.1f} times as fast as {builder}")
                if theirs and theirs["valid"] != ours["valid"]:
                    failures.append(f"{space.name}: {builder} finds {theirs['valid']}")
                agreed = agreed or theirs is not None
            checked += agreed
            print(f"{space.name:22} {space.cartesian():13d} {ours['valid']:12d} "
                  f"{1e3 * ours['seconds']:9.2f} ms {ours['peak_bytes'] / 2**20:5.0f}  " +
                  "  ".join(cells), flush=True)
    print(f"spaces that another builder counted, too: {checked}; "
          f"peak memory {peak / 2**20:.0f} MiB")
    if peak >= PEAK_MAX:
        failures.append(f"peak memory {peak} bytes")
    for failure in failures:
        print(f"FAILED: {failure}")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
