#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Processes that submit or decide are killed right after any event of the journal."""

import json

from fault_case import (FINISHED, FIRST_INTENT, SUBMITTED, FaultTest, Study, cases,
                        deepspeed_study, main, slurmtune)

# The first two are part of making the study, in a draft that is then renamed.
EVENTS_OF_SUBMIT = range(FIRST_INTENT, SUBMITTED + 1)
EVENTS_OF_REDUCERS = range(SUBMITTED + 1, FINISHED + 1)
SEARCH = deepspeed_study()
STEPS_OF_SEARCH = 16


class Killed(FaultTest):
    @cases(event=EVENTS_OF_SUBMIT, seeds=1, in_ci=("10",))
    def test_submitter_killed_after_event(self, event):
        """Half a graph is completed by `resume`, and no job is submitted twice."""
        study = Study(self.place / "study")
        killed = slurmtune("submit", *self.prepare(), SLURMTUNE_TEST_DIE_AFTER_EVENT=str(event))
        self.assertEqual(killed.code, -9, killed.text)
        self.assertEqual(len(study.events()), event)
        self.resume(study)
        self.assertEqual(len(study.jobs()), 7)
        self.deeds.append("resume")
        self.conclude(study)

    @cases(event=EVENTS_OF_SUBMIT, seeds=1)
    def test_submitter_killed_then_submitted_again_after_event(self, event):
        study = Study(self.place / "study")
        arguments = self.prepare()
        slurmtune("submit", *arguments, SLURMTUNE_TEST_DIE_AFTER_EVENT=str(event))
        again = slurmtune("submit", *arguments)
        self.assertEqual(again.code, 0, again.text)
        self.deeds.append("submit")
        self.conclude(study)

    # Those of CI are the ones that tests/cluster/study/lost_work_test.py does not resume.
    @cases(event=EVENTS_OF_REDUCERS, seeds=1, in_ci=("18",))
    def test_reducer_killed_after_event(self, event):
        """Nobody resumes unless all jobs are over and the study is not."""
        study = self.begin(SLURMTUNE_TEST_DIE_AFTER_EVENT=str(event))
        self.conclude(study)
        self.assertGreaterEqual(len(study.events()), event)

    @cases(event=EVENTS_OF_REDUCERS, seeds=1)
    def test_reducer_killed_and_resumed_at_once_after_event(self, event):
        study = self.begin(SLURMTUNE_TEST_DIE_AFTER_EVENT=str(event))
        self.wait_for(lambda: len(study.events()) >= event, f"event {event}", study=study)
        run = slurmtune("resume", study.root)
        self.assertIn(run.code, (0, 3), run.text)
        self.deeds.append("resume")
        self.conclude(study)

    @cases(step=range(1, STEPS_OF_SEARCH + 1), seeds=1)
    def test_reducer_of_a_search_killed_at_step(self, step):
        """A search has more rounds, skips stages and drops tasks."""
        arguments = self.prepare(SEARCH)
        plan = slurmtune("plan", "--json", arguments[0], *arguments[3:])
        stages = len(json.loads(plan.out)["stages"])
        event = FIRST_INTENT - 1 + 2 * (2 * stages + 1) + step
        study = self.begin(SEARCH, SLURMTUNE_TEST_DIE_AFTER_EVENT=str(event))
        self.conclude(study, zero_stage=1, micro_batch=8)


if __name__ == "__main__":
    main()
