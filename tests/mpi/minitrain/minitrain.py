# SPDX-License-Identifier: MIT
"""Runs minitrain under mpirun, for the tests beside this file."""

import dataclasses
import json
import os
import re
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

TIMEOUT_S = 60


def program():
    return str(Path(os.environ["SLURMTUNE_BIN_DIR"]) / "minitrain")


def environment(**more):
    """Open MPI may run as root in a test, and its ranks share the cores with other tests."""
    return {
        **os.environ,
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_mpi_yield_when_idle": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        # Open MPI unloads modules that have leaked: no suppression can name them any more.
        "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0",
        **more,
    }


@dataclasses.dataclass
class Run:
    code: int
    out: str
    err: str
    wall_s: float

    def done(self):
        """The numbers of the last line; a failure if the run did not get there."""
        found = re.search(
            r"minitrain: done steps=(\d+) loss=(\S+) samples_per_s=\S+ peak_bytes=(\d+)", self.out
        )
        if self.code != 0 or not found:
            raise AssertionError(f"the run ended with {self.code}:\n{self.out}\n{self.err}")
        return Done(int(found[1]), float(found[2]), int(found[3]))


@dataclasses.dataclass
class Done:
    steps: int
    loss: float
    peak_bytes: int


# Adam divides by the size of the gradients; the large eps lets a wrong scale of theirs show.
ADAM = {"lr": 0.05, "eps": 0.01, "weight_decay": 0.01}


def ds_config(stage=0, micro=None, batch=16, **more):
    config = {
        "train_batch_size": batch,
        "optimizer": {"type": "AdamW", "params": ADAM},
        "zero_optimization": {
            "stage": stage, "reduce_bucket_size": 700, "allgather_bucket_size": 500
        },
        "steps_per_print": 1,
        **more,
    }
    if micro is not None:
        config["train_micro_batch_size_per_gpu"] = micro
    return config


SMALL_MODEL = ["--layers=3", "--hidden=16", "--input=5", "--sequence=3", "--seed=4"]


class MinitrainTest(unittest.TestCase):
    """Gives each test a directory, and ends what it started."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = Path(scratch.name)

    def write_config(self, config):
        path = self.scratch / "ds_config.json"
        path.write_text(config if isinstance(config, str) else json.dumps(config))
        return str(path)

    def start(self, config, *flags, ranks=2, **variables):
        argv = ["mpirun", "-n", str(ranks), program()]
        if config is not None:
            argv += ["--deepspeed_config", self.write_config(config)]
        process = subprocess.Popen(
            argv + list(flags),
            cwd=self.scratch,
            env=environment(**variables),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.addCleanup(end_group, process)
        return process

    def run_minitrain(self, config, *flags, ranks=2, **variables):
        started = time.monotonic()
        process = self.start(config, *flags, ranks=ranks, **variables)
        out, err = process.communicate(timeout=TIMEOUT_S)
        return Run(process.returncode, out, err, time.monotonic() - started)


def end_group(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()
    process.stdout.close()
    process.stderr.close()
