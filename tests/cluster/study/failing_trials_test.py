#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Trials that crash, hang or run out of memory cost themselves, never the study."""

import unittest

from cluster_study import StudyTest, deepspeed_study


class FailingTrials(StudyTest):
    def test_studies_with_trials_that_fail(self):
        # All at once: what they cost is mostly waiting.
        out_of_memory = self.submit(deepspeed_study(), "oom")
        crash = self.submit(deepspeed_study("crash", 1, 8, "always"), "crash")
        crash_once = self.submit(deepspeed_study("crash", 1, 4, self.place / "crashed"), "once")
        hang = self.submit(deepspeed_study("hang", 1, 4, self.place / "hung", stall_s=1), "hang")
        self.wait_until_idle()
        self.assert_no_process_left()

        with self.subTest("out of memory"):
            self.assert_won(out_of_memory, zero_stage=1, micro_batch=8)
            self.assert_nothing_run_twice(out_of_memory)
            self.assertEqual(out_of_memory.outcomes(zero_stage=0, micro_batch=4), ["gpu_oom"])
        with self.subTest("a crash, each time, of what would be the fastest"):
            self.assert_won(crash, zero_stage=1, micro_batch=4)
            self.assertEqual(crash.outcomes(zero_stage=1, micro_batch=8), ["crashed"] * 2)
        with self.subTest("a crash, once"):
            self.assert_won(crash_once, zero_stage=1, micro_batch=8)
            self.assertEqual(crash_once.outcomes(zero_stage=1, micro_batch=4)[:2],
                             ["crashed", "ok"])
        with self.subTest("a trial that hangs, once"):
            self.assert_won(hang, zero_stage=1, micro_batch=8)
            self.assertEqual(hang.outcomes(zero_stage=1, micro_batch=4)[:2], ["hang", "ok"])


if __name__ == "__main__":
    unittest.main()
