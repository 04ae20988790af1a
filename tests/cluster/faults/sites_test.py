#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The same study gives the same winner on sites with other rules, which the controller enforces or
whose keeping is watched."""

import os
import shutil
import subprocess
import tempfile
import threading
from pathlib import Path

from fault_case import (CLUSTER, CLUSTER_SH, WINNER, FaultTest, cases, grid_study, main,
                        output_of, slurmtune)

# Six configurations: more than an array of four tasks holds.
WIDE = grid_study((60, 20, 300, 150, 200, 250))
PURGED_WITHIN_S = 120

CLOSING = """\
function slurm_job_submit(job, partition, uid)
  local closed = io.open("{closed}")
  if closed then closed:close() return slurm.ERROR end
  return slurm.SUCCESS
end
function slurm_job_modify(job, record, partition, uid) return slurm.SUCCESS end
return slurm.SUCCESS
"""


class Watch:
    """The largest number of jobs, array tasks counted one by one, that were there at once."""

    def __init__(self):
        self.most, self.over = 0, threading.Event()
        self.thread = threading.Thread(target=self.look)

    def look(self):
        while not self.over.wait(0.3):
            done = subprocess.run(["squeue", "--noheader", "--array", "--states=PD,R,S,CF"],
                                  text=True, check=False, capture_output=True)
            self.most = max(self.most, len(done.stdout.splitlines()))

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()


class Sites(FaultTest):
    def assert_winner(self, site, text=WIDE, **environment):
        """The study ends by itself with the right winner. Returns what `submit` said."""
        study = self.begin(text, site=site, **environment)
        self.conclude(study, **WINNER)
        self.assertEqual(self.deeds, [])
        return study

    def purge(self):
        self.wait_for(lambda: "JobId" not in output_of("scontrol", "show", "jobs"),
                      "the controller has forgotten the jobs before", PURGED_WITHIN_S)

    @cases(in_ci=True, seeds=1)
    def test_debug_queue_of_two_jobs_and_half_an_hour(self):
        output_of("scontrol", "update", "PartitionName=batch", "MaxTime=30")
        self.addCleanup(output_of, "scontrol", "update", "PartitionName=batch", "MaxTime=1440")
        with Watch() as watch:
            self.assert_winner("submit_jobs_max = 2\nwalltime_max_s = 1800\n")
        self.assertLessEqual(watch.most, 2)

    @cases(in_ci=True, seeds=1)
    def test_max_array_size_4(self):
        self.configure(MaxArraySize=4)
        refused = subprocess.run(["sbatch", "--array=0-4", "--wrap", "true"], text=True,
                                 check=False, capture_output=True)
        self.assertIn("Invalid job array", refused.stderr)
        study = self.assert_winner("array_size_max = 4\n")
        arrays = [event for event in study.events("submitted")
                  if event["stage"] == "01-grid" and event["kind"] == "a"]
        self.assertGreater(len(arrays), 1)
        self.assertTrue(all(event["tasks"] <= 4 for event in arrays))

    @cases(way=("graph", "step", "one-job"), seeds=1)
    def test_max_job_count_20(self, way):
        """The controller counts finished jobs, too, until it has forgotten them."""
        self.configure(MinJobAge=2)
        self.purge()
        self.configure(MaxJobCount=20)
        text = WIDE + f'[slurm]\nsubmit = "{way}"\n'
        with Watch() as watch:
            self.assert_winner("submit_jobs_max = 20\n", text)
        self.assertLessEqual(watch.most, 20)

    @cases(seeds=1)
    def test_without_accounting_and_completion_log(self):
        self.configure(JobCompType="jobcomp/none")
        self.assert_winner("")

    @cases(in_ci=("graph",), way=("graph", "one-job"), seeds=1)
    def test_jobs_cannot_submit_jobs(self, way):
        """Once the study is submitted nobody may submit any more. (Which host asks cannot decide:
        one munged serves all nodes, so that they are one host to the controller.)"""
        closed = CLUSTER / "etc" / "closed"
        script = CLUSTER / "etc" / "job_submit.lua"
        script.write_text(CLOSING.format(closed=closed), encoding="utf-8")
        self.addCleanup(closed.unlink, missing_ok=True)
        self.configure(JobSubmitPlugins="lua")
        text = WIDE + f'[slurm]\nsubmit = "{way}"\n'
        with self.held_queue():
            study = self.begin(text, site="jobs_can_submit = false\n")
            closed.touch()
            refused = subprocess.run(["sbatch", "--wrap", "true"], text=True, check=False,
                                     capture_output=True)
            self.assertNotEqual(refused.returncode, 0)
        self.conclude(study, **WINNER)
        self.assertEqual(self.deeds, [])
        run = slurmtune("plan", self.place / "study.toml", "--site", self.place / "site.toml",
                        "--submit", "step")
        self.assertEqual(run.code, 2, run.text)

    @cases(seeds=1)
    def test_step_by_step(self):
        self.assert_winner("", WIDE + '[slurm]\nsubmit = "step"\n')

    @cases(seeds=1)
    def test_with_accounting(self):
        """On a cluster of its own with slurmdbd."""
        for program in ("slurmdbd", "mariadbd", "mariadb-install-db"):
            if shutil.which(program) is None:
                self.skipTest(f"{program} is not installed")
        place = Path(tempfile.mkdtemp(prefix="slurmtune-dbd.", dir="/tmp"))
        place.chmod(0o755)
        words = [CLUSTER_SH, "up", place, "4"]
        self.addCleanup(subprocess.run, [CLUSTER_SH, "destroy", place], check=True)
        subprocess.run(words, env={**os.environ, "ACCT": "dbd"}, check=True, timeout=300)
        self.use_cluster(place)
        self.assert_winner("")
        self.assertIn("COMPLETED", output_of("sacct", "--noheader", "--format=State"))

    def use_cluster(self, place):
        before = os.environ["SLURM_CONF"]
        os.environ["SLURM_CONF"] = str(place / "etc" / "slurm.conf")
        self.addCleanup(os.environ.__setitem__, "SLURM_CONF", before)


if __name__ == "__main__":
    main()
