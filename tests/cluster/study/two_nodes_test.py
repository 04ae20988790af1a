#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Trials of two nodes each: MPI steps inside the step of a runner with two ranks."""

import unittest

from cluster_study import StudyTest

STUDY_TIMEOUT_S = 240

TWO_NODES = """\
format = 1
name   = "minitrain-two-nodes"
[trial]
nodes              = 2
processes_per_node = 1
launcher           = "srun"
command = ["minitrain", "--deepspeed_config", "{ds_config}", "--steps", "400", "--layers", "2",
           "--hidden", "32"]
env     = { OMPI_MCA_mpi_yield_when_idle = "1" }
[deepspeed]
config = "ds_config.json"
fast   = true
zero_stages = [1]
[batch]
micro_batch = [1, 4]
[model]
params = 20000
[measure]
min_steps = 4
max_steps = 6
interval  = 0.5
startup_s = 60
stall_s   = 30
[search]
rounds = 1
width  = 1
[budget]
max_concurrent_nodes = 2   # the nodes share one machine: one trial at a time
"""


class TwoNodes(StudyTest):
    def test_trials_of_two_nodes(self):
        study_toml = self.write_study(TWO_NODES)
        study = self.submit_in_time(*self.arguments(study_toml))
        self.wait_until_idle(study, STUDY_TIMEOUT_S)
        # So small a model is as fast either way: that something wins is all there is to ask.
        result = self.assert_won(study)
        self.assertEqual(set(study.outcomes(**result["best"]["values"])), {"ok"})
        for line in study.verdicts():
            self.assertEqual(len(set(line["nodes"])), 2, line)
        self.assert_nothing_run_twice(study)
        self.assert_no_process_left()


if __name__ == "__main__":
    unittest.main()
