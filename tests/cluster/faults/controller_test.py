#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""slurmctld stops or is killed, in each phase of a study, and comes back after a while; munged
stops; the controller forgets jobs that have ended."""

from fault_case import (FINISHED, FIRST_INTENT, SUBMITTED, FaultTest, cases, cluster_sh, go_on,
                        main, slurmtune)

SIGNALS = {"stopped": "TERM", "killed": "KILL"}


class Controller(FaultTest):
    def outage(self, how, low=0.5, high=12.0, meanwhile=lambda: None):
        cluster_sh("kill", "ctld", SIGNALS[how])
        meanwhile()
        self.pause(low, high)
        cluster_sh("start", "ctld")

    @cases(how=SIGNALS, in_ci=("killed",), seeds=6)
    def test_slurmctld_while_submitting(self, how):
        event = self.chance.randint(FIRST_INTENT, SUBMITTED - 1)
        study, submitter = self.begin_stopped(event)
        self.outage(how, meanwhile=lambda: go_on(submitter.pid))
        code = submitter.wait(120)
        self.assertIn(code, (0, 3), self.said())
        if code == 3:
            self.resume(study)
        self.conclude(study)

    # Slurm itself takes a minute to learn of tasks that end meanwhile: not in CI.
    @cases(how=SIGNALS, seeds=6)
    def test_slurmctld_while_an_array_runs(self, how):
        study = self.begin()
        self.wait_for_trial(study, trials=self.chance.randint(1, 4))
        self.pause(0, 1)
        self.outage(how)
        self.conclude(study)

    @cases(how=SIGNALS, in_ci=("stopped",), seeds=4)
    def test_slurmctld_while_a_reducer_runs(self, how):
        event = SUBMITTED + 1 + self.seed % (FINISHED - SUBMITTED)
        study = self.begin(SLURMTUNE_TEST_STOP_AFTER_EVENT=str(event))
        reducer = self.stopped_process(event, study)
        self.outage(how, meanwhile=lambda: go_on(reducer))
        self.conclude(study)

    @cases(in_ci=True)
    def test_munged_stopped_while_a_reducer_runs(self):
        event = SUBMITTED + 1 + self.seed % (FINISHED - SUBMITTED - 1)
        study = self.begin(SLURMTUNE_TEST_STOP_AFTER_EVENT=str(event))
        reducer = self.stopped_process(event, study)
        cluster_sh("kill", "munged")
        go_on(reducer)
        self.pause(0.5, 5)
        cluster_sh("start", "munged")
        self.conclude(study)

    @cases(seeds=2)
    def test_munged_stopped_while_an_array_runs(self):
        """Slurm loses sight of tasks that end meanwhile: it drains their node and holds them."""
        study = self.begin()
        self.wait_for_trial(study)
        cluster_sh("kill", "munged")
        run = slurmtune("status", study.root)
        self.assertEqual(run.code, 0, run.text)
        self.pause(0.5, 8)
        cluster_sh("start", "munged")
        self.conclude(study)


if __name__ == "__main__":
    main()
