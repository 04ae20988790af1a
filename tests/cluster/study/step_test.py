#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""submit = "step": each reducer submits the next stage. Nobody looks after it, and jobs die."""

import subprocess
import unittest

from cluster_study import Study, StudyTest, deepspeed_study, grid_study, output_of, queue, slurmtune

STEP = ("--submit", "step")
STEPS_MS = (5, 15, 30, 50)


class Step(StudyTest):
    def submit_by_steps(self, text, directory="study", **environment):
        study_toml = self.write_study(text)
        run = slurmtune("submit", *self.arguments(study_toml, directory), *STEP, **environment)
        self.assertEqual(run.code, 0, run.text)
        return Study(self.place / directory)

    def test_one_stage_after_another(self):
        with self.held_queue():
            study = self.submit_by_steps(deepspeed_study())
            # The array of the first stage, its reducer, and the one behind that.
            self.assertEqual(len(queue("%i")), 3)
            again = slurmtune("resume", study.root)
            self.assertIn("nothing is missing", again.out, again.text)
            self.assertEqual(len(study.jobs()), 3)
            comments = output_of("scontrol", "show", "job", str(study.job("-01-profile-a-0")))
            self.assertIn("slurmtune study=", comments)
            self.assertIn("stage=01-profile", comments)
        self.wait_until_idle(study)
        self.assert_won(study, zero_stage=1, micro_batch=8)
        self.assert_nothing_run_twice(study)
        self.assertFalse([name for name in study.jobs() if "final" in name])
        # Each array had the size that was decided.
        for event in study.events("submitted"):
            if event["kind"] == "a":
                self.assertEqual(event["tasks"], len(study.slices(event["stage"])))

    def test_arrays_that_are_split(self):
        text = grid_study(STEPS_MS) + "[slurm]\narray_size_max = 3\n"
        study = self.submit_by_steps(text)
        self.wait_until_idle(study)
        self.assert_won(study, step_ms=5)
        self.assert_nothing_run_twice(study)
        arrays = [event for event in study.events("submitted") if event["kind"] == "a"]
        self.assertEqual(max(event["tasks"] for event in arrays), 3)
        parts = [event["first_slice"] for event in arrays if event["stage"] == "01-grid"]
        self.assertEqual(parts, list(range(0, len(study.slices("01-grid")), 3)))

    def test_a_reducer_that_is_cancelled_and_a_task_that_is(self):
        mark = self.place / "mark"
        study = self.submit_by_steps(deepspeed_study("hang", 1, 4, mark, stall_s=60))
        self.wait_for(mark.exists, "the trial hangs", study=study)
        # Its stand-in begins at once, and sees to it that another reducer waits for the array.
        subprocess.run(["scancel", str(study.job("-01-profile-r-0"))], check=True)
        self.wait_for(lambda: any(name.endswith("-01-profile-r-2") for name in study.jobs()),
                      "a new reducer waits", study=study)
        array = study.job("-01-profile-a-0")
        tasks = self.wait_for(
            lambda: (found := [line for line in queue("%i") if line.startswith(f"{array}_")])
            and len(found) == 1 and found, "one task is left", study=study)
        subprocess.run(["scancel", "--signal=KILL", tasks[0]], check=True)
        self.wait_until_idle(study)
        self.assert_won(study, zero_stage=1, micro_batch=8)
        self.assert_nothing_run_twice(study)
        self.assert_no_process_left()

    def test_a_submit_that_was_killed_is_completed_and_not_doubled(self):
        # Of the three jobs: before, between and after each intent and answer.
        studies = {}
        with self.held_queue():
            for event in range(3, 9):
                study_toml = self.write_study(grid_study())
                slurmtune("submit", *self.arguments(study_toml, str(event)), *STEP,
                          SLURMTUNE_TEST_DIE_AFTER_EVENT=str(event))
                studies[event] = Study(self.place / str(event))
                run = slurmtune("resume", studies[event].root)
                self.assertEqual(run.code, 0, run.text)
            self.assertEqual(len(queue("%i")), 3 * len(studies))
            self.assertEqual(set(queue("%j")),
                             {name for study in studies.values() for name in study.jobs()})
        self.wait_until_idle()
        for event, study in studies.items():
            with self.subTest(died_after=event):
                self.assert_won(study, step_ms=5)
                self.assert_nothing_run_twice(study)

    def test_cancel_between_steps(self):
        study = self.submit_by_steps(grid_study(behaviours=["hang"], stall_s=60))
        self.wait_for(lambda: [job for job in queue("%T") if job == "RUNNING"], "a task runs",
                      study=study)
        run = slurmtune("cancel", study.root)
        self.assertEqual(run.code, 0, run.text)
        self.wait_until_idle(study, 30)
        self.assertEqual(len(study.events("finished")), 1)
        self.assert_no_process_left()

    def test_plan_compares_the_ways_by_the_queue_as_it_is(self):
        study_toml = self.write_study(grid_study())
        arguments = [study_toml, "--site", self.place / "site.toml"]
        run = slurmtune("plan", *arguments)
        self.assertEqual(run.code, 0, run.text)
        rows = {line.split()[0]: line for line in run.out.splitlines()
                if line.startswith(("  graph  ", "  step  ", "  one-job  "))}
        self.assertEqual(len(rows), 3, run.out)
        for row in rows.values():
            self.assertRegex(row, r" \d+(\.\d+)? (s|min) ", run.out)
        self.assertIn("this plan", rows["graph"])
        # A job that the queue would refuse: the plan is shown all the same.
        refused = slurmtune("plan", *arguments, SLURM_CONF="/nowhere/slurm.conf")
        self.assertEqual(refused.code, 0, refused.text)
        self.assertIn("waits: unknown: SLURM_CONF=/nowhere/slurm.conf", refused.out)
        self.assertEqual(queue(), [])

    def test_where_jobs_may_not_submit_jobs(self):
        text = grid_study() + "[slurm]\njobs_can_submit = false\n"
        run = slurmtune("submit", *self.arguments(self.write_study(text)), *STEP)
        self.assertEqual(run.code, 2, run.text)
        self.assertIn("jobs_can_submit", run.err)
        self.assertFalse((self.place / "study").exists())


if __name__ == "__main__":
    unittest.main()
