#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The example as a newcomer submits it, on a cluster of which slurmtune knows nothing."""

import json
import unittest

from cluster_study import SOURCE, StudyTest

STUDY_TIMEOUT_S = 540


class Example(StudyTest):
    def test_submit_and_wait(self):
        with self.held_queue():
            study = self.submit_in_time(SOURCE / "examples" / "minitrain" / "study.toml",
                                        "--dir", self.place / "study")
            self.assert_whole_graph(study)
        self.wait_until_idle(study, STUDY_TIMEOUT_S)
        result = self.assert_won(study)
        self.assertNotEqual(result["best"]["values"]["micro_batch"], 1)
        outcomes = {line["outcome"] for line in study.verdicts()}
        self.assertTrue({"ok", "gpu_oom"} <= outcomes, outcomes)
        config = json.loads((study.root / "best" / "ds_config_optimal.json").read_text())
        self.assertEqual(config["train_micro_batch_size_per_gpu"],
                         result["best"]["values"]["micro_batch"])
        self.assert_nothing_run_twice(study)
        self.assert_no_process_left()


if __name__ == "__main__":
    unittest.main()
