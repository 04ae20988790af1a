#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Tasks that are cancelled and reducers that are killed: the study ends with a correct result, by
itself or after `slurmtune resume`, and measures nothing twice."""

import subprocess
import unittest

from cluster_study import StudyTest, deepspeed_study, grid_study, kill, queue, slurmtune

# Of the grid study: plan, then intent and answer of seven jobs.
EVENTS_OF_SUBMIT = 16
# decided, released, decided, finished
EVENTS_OF_REDUCERS = 4


class LostWork(StudyTest):
    def cancel_task_that_hangs(self, study, mark):
        """Cancels the task that runs the trial which left `mark`."""
        self.wait_for(mark.exists, "the trial hangs", study=study)
        array = study.job("-01-profile-a-0")
        # Only the one that hangs is left after a while.
        running = self.wait_for(
            lambda: (tasks := [line for line in queue("%i") if line.startswith(f"{array}_")])
            and len(tasks) == 1 and tasks, "one task is left", study=study)
        subprocess.run(["scancel", running[0]], check=True)

    def test_task_cancelled_while_it_runs(self):
        mark = self.place / "mark"
        study = self.submit(deepspeed_study("hang", 1, 4, mark, stall_s=60))
        self.cancel_task_that_hangs(study, mark)
        self.wait_until_idle(study)
        self.assert_won(study, zero_stage=1, micro_batch=8)
        self.assertIn(study.outcomes(zero_stage=1, micro_batch=4)[0], ("cancelled", "preempted"))
        self.assertEqual(study.outcomes(zero_stage=1, micro_batch=4)[1], "ok")
        self.assert_nothing_run_twice(study)
        self.assert_no_process_left()

    def test_runner_killed_and_then_the_reducer_that_waits_for_it(self):
        mark = self.place / "mark"
        study = self.submit(deepspeed_study("hang", 1, 4, mark, stall_s=60), settle_s=6)
        self.wait_for(mark.exists, "the trial hangs", study=study)
        array = study.job("-01-profile-a-0")
        self.wait_for(lambda: len([1 for line in queue("%i") if line.startswith(f"{array}_")]) == 1,
                      "one task is left", study=study)
        kill(self.process_with(f"SLURM_ARRAY_JOB_ID={array}", "slurmtune-runner"))
        # It left no task_end: the reducer waits for one that the filesystem may not show yet.
        reducer = study.job("-01-profile-r-0")
        kill(self.wait_for(lambda: self.process_with(f"SLURM_JOB_ID={reducer}", "slurmtune"),
                           "the reducer runs", study=study))
        self.wait_until_idle(study)
        self.assert_won(study, zero_stage=1, micro_batch=8)
        self.assert_nothing_run_twice(study)
        self.assert_no_process_left()

    def test_reducer_killed_after_each_event(self):
        # The jobs inherit the environment; `submit` itself wins only earlier events.
        studies = {}
        text = grid_study()
        for event in range(EVENTS_OF_SUBMIT + 1, EVENTS_OF_SUBMIT + 1 + EVENTS_OF_REDUCERS):
            studies[event] = self.submit(text, str(event),
                                         SLURMTUNE_TEST_DIE_AFTER_EVENT=str(event))
        self.wait_until_idle()
        for event, study in studies.items():
            with self.subTest(died_after=event):
                # Whoever won that event is dead.
                self.assertGreaterEqual(len(study.events()), event)
                self.assertEqual(len(study.events("submitted")), 7)
                if not study.events("finished"):
                    run = slurmtune("resume", study.root)
                    self.assertEqual(run.code, 0, run.text)
                    self.wait_until_idle(study)
                self.assert_won(study, step_ms=5)
                self.assert_nothing_run_twice(study)


if __name__ == "__main__":
    unittest.main()
