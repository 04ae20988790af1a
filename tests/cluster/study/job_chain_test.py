#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A study that is longer than a job may be: a chain of jobs, as in a debug queue of two."""

import subprocess
import unittest

from cluster_study import Study, StudyTest, grid_study, queue, slurmtune

# Ten minutes: what the stages and reducers of the small study take at worst is more.
SITE = "[slurm]\nwalltime_max_s = 600\nsubmit_jobs_max = 2\n"


class JobChain(StudyTest):
    def submit_chain(self, more=""):
        text = grid_study((5, 20, 40)) + SITE + more
        run = slurmtune("submit", *self.arguments(self.write_study(text)))
        self.assertEqual(run.code, 0, run.text)
        return Study(self.place / "study"), run

    def test_each_job_submits_the_next_and_the_end_takes_it_back(self):
        study, run = self.submit_chain()
        self.assertIn("the whole study", run.out)
        self.assertEqual([event["submit"] for event in study.events("study_created")], ["one-job"])
        self.wait_for(lambda: len(queue("%i")) == 2, "the next job waits", study=study)
        self.assertEqual(sorted(line.split()[1] for line in queue("%i %T")),
                         ["PENDING", "RUNNING"])
        self.wait_until_idle(study)
        self.assert_won(study, step_ms=5)
        self.assert_nothing_run_twice(study)
        whole = [event for event in study.events("submitted") if event["kind"] == "all"]
        self.assertEqual(len(whole), 2)
        self.assert_no_process_left()

    def test_the_next_job_goes_on_where_the_first_is_told_to_end(self):
        with self.held_queue():
            study, _ = self.submit_chain()
            job = study.job("-all-0")
        # As Slurm does two minutes before the end, but sooner: nothing was measured yet.
        self.wait_for(lambda: self.process_with(f"SLURM_JOB_ID={job}", "slurmtune-runner"),
                      "a trial runs", study=study)
        subprocess.run(["scancel", "--batch", "--signal=USR1", str(job)], check=True)
        self.wait_until_idle(study)
        self.assert_won(study, step_ms=5)
        self.assert_nothing_run_twice(study)
        whole = [event for event in study.events("submitted") if event["kind"] == "all"]
        self.assertGreaterEqual(len(whole), 3)
        self.assertEqual([event["stop"] for event in study.events("finished")], ["exhausted"],
                         study.logs())
        self.assert_no_process_left()

    def test_where_jobs_may_not_submit_jobs_the_chain_is_submitted_at_once(self):
        with self.held_queue():
            study, run = self.submit_chain("jobs_can_submit = false\n")
            self.assertEqual(len(queue("%i")), 2, run.text)
            again = slurmtune("resume", study.root)
            self.assertIn("nothing is missing", again.out, again.text)
        self.wait_until_idle(study)
        self.assert_won(study, step_ms=5)
        self.assert_no_process_left()


if __name__ == "__main__":
    unittest.main()
