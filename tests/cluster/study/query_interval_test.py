#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Nothing of ours asks the controller more often than once in 30 s: not the foreground, not `status
--watch`, not a job. Submitting and cancelling are no questions."""

import collections
import os
import re
import shutil
import subprocess
import time
import unittest

from cluster_study import PROGRAMS, StudyTest, grid_study, output_of, slurmtune

LIBSLURM = PROGRAMS.parent / "lib" / "slurmtune" / "slurmtune-libslurm.so"

INTERVAL_S = 30
SLACK_S = 0.2       # a shim notes its start, not that of the process that calls it
HELD_S = 66         # two questions more, and a bit
STEP_MS = (5, 20)

SHIM = """\
#!/bin/sh
echo "$(date +%s.%N) $PPID {name} $*" >> {log}
exec {real} "$@"
"""


def is_question(name, arguments):
    """Whether such a call asks the controller or accounting for something."""
    if name == "scontrol":
        return arguments.startswith(("show", "--oneliner show"))
    if "--version" in arguments:
        return False
    return name in ("squeue", "sacct", "sinfo", "sacctmgr")


class QueryInterval(StudyTest):
    def begin(self, *arguments, **environment):
        process = subprocess.Popen([PROGRAMS / "slurmtune", *arguments],
                                   env={**os.environ, **environment}, text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   stdin=subprocess.DEVNULL)
        self.addCleanup(lambda: process.poll() is None and process.kill())
        return process

    def end(self, process, seconds):
        out, _ = process.communicate(timeout=seconds)
        return out

    def shims(self):
        """A directory for PATH whose commands of Slurm note who calls them, and the notes."""
        place = self.place / "shims"
        place.mkdir()
        log = self.place / "calls.txt"
        for name in ("sbatch", "squeue", "scancel", "scontrol", "sacct", "sinfo", "sacctmgr"):
            real = shutil.which(name)
            if not real:
                continue
            shim = place / name
            shim.write_text(SHIM.format(name=name, log=log, real=real), encoding="utf-8")
            shim.chmod(0o755)
        return place, log

    def questions_by_process(self, log):
        asked = collections.defaultdict(list)
        for line in log.read_text(encoding="utf-8").splitlines():
            at, pid, name, *arguments = line.split(" ", 3)
            if is_question(name, arguments[0] if arguments else ""):
                asked[int(pid)].append((float(at), name))
        return asked

    def test_commands(self):
        shims, log = self.shims()
        environment = {"PATH": f"{shims}:{os.environ['PATH']}",
                       "SLURMTUNE_SLURM_CLIENT": "commands"}
        study_toml = self.write_study(grid_study(STEP_MS))
        with self.held_queue():
            tune = self.begin("tune", *self.arguments(study_toml), **environment)
            directory = self.place / "study"
            self.wait_for(lambda: len(list(directory.glob("journal/*.json"))) > 4, "it submits")
            watch = self.begin("status", directory, "--watch", **environment)
            time.sleep(HELD_S)
        said = self.end(tune, 150)
        self.assertEqual(tune.returncode, 0, said)
        watched = self.end(watch, 60)
        self.assertEqual(watch.returncode, 0, watched)
        self.assertGreaterEqual(watched.count("stage "), 3, watched)

        asked = self.questions_by_process(log)
        # It asks at its start, and twice while nothing starts: jobs may go by any hand.
        self.assertGreaterEqual(len(asked[tune.pid]), 2, asked)
        self.assertGreaterEqual(len(asked[watch.pid]), 3, asked)
        jobs = set(asked) - {tune.pid, watch.pid}
        self.assertTrue(jobs, "the reducers asked, too, and are held to it")
        for pid, times in asked.items():
            for (before, _), (after, name) in zip(times, times[1:]):
                self.assertGreaterEqual(after - before, INTERVAL_S - SLACK_S,
                                        f"process {pid} asks {name}: {times}")
        print(f"{sum(map(len, asked.values()))} questions of {len(asked)} processes", flush=True)

    def questions_to_controller(self):
        """How often jobs of a user were asked for, by the controller's own count. The tests' own
        squeue is another question (REQUEST_JOB_INFO)."""
        found = re.search(r"REQUEST_JOB_USER_INFO\s+\(\s*\d+\) count:(\d+)", output_of("sdiag"))
        return int(found.group(1)) if found else 0

    def test_libslurm(self):
        if not LIBSLURM.exists():
            self.skipTest("the libslurm client was not built")
        environment = {"SLURMTUNE_SLURM_CLIENT": "libslurm"}
        study_toml = self.write_study(grid_study(STEP_MS))
        with self.held_queue():
            before = self.questions_to_controller()
            began = time.monotonic()
            tune = self.begin("tune", *self.arguments(study_toml), **environment)
            time.sleep(HELD_S)
            asked = self.questions_to_controller() - before
            lasted_s = time.monotonic() - began
            self.assertGreaterEqual(asked, 2)
            self.assertLessEqual(asked, 1 + lasted_s // INTERVAL_S)

            before = self.questions_to_controller()
            began = time.monotonic()
            status = slurmtune("status", self.place / "study", **environment)
            self.assertEqual(status.code, 0, status.text)
            asked_twice = self.questions_to_controller() - before
            # One for the status, and at most one that the foreground was due to ask meanwhile.
            self.assertLessEqual(asked_twice, 2)
            self.assertGreaterEqual(asked_twice, 1)
        said = self.end(tune, 150)
        self.assertEqual(tune.returncode, 0, said)

    def test_a_shorter_interval_is_refused(self):
        run = slurmtune("status", self.place, "--watch", "--interval", "29")
        self.assertEqual(run.code, 2, run.text)
        self.assertIn("give 30 or more", run.err)


if __name__ == "__main__":
    unittest.main()
