#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Wrong flags and configurations end with code 2 and one sentence."""

import unittest

from minitrain import SMALL_MODEL, MinitrainTest, ds_config


class Configuration(MinitrainTest):
    def assert_refused(self, run, *parts):
        self.assertEqual(run.code, 2, run.err)
        lines = [line for line in run.err.splitlines() if line.startswith("minitrain: ")]
        self.assertEqual(len(lines), 1, run.err)
        for part in parts:
            self.assertIn(part, lines[0])
        self.assertEqual(run.out, "")

    def test_contradictory_batch_keys(self):
        config = ds_config(batch=64, micro=4, gradient_accumulation_steps=4)
        self.assert_refused(
            self.run_minitrain(config),
            "ds_config.json: Check batch related parameters. train_batch_size is not equal to "
            "micro_batch_per_gpu * gradient_acc_step * world_size 64 != 4 * 4 * 2",
        )

    def test_the_number_of_ranks_counts(self):
        config = ds_config(batch=6, micro=1, gradient_accumulation_steps=3)
        self.run_minitrain(config, "--steps=1", *SMALL_MODEL, ranks=2).done()
        self.assert_refused(self.run_minitrain(config, "--steps=1", ranks=3), "6 != 1 * 3 * 3")

    def test_auto(self):
        config = ds_config(micro="auto")
        self.assert_refused(
            self.run_minitrain(config), "train_micro_batch_size_per_gpu", "\"auto\"")

    def test_a_list_of_stages(self):
        config = ds_config(zero_optimization={"stage": [0, 1]})
        self.assert_refused(self.run_minitrain(config), "zero_optimization.stage", "[0,1]")

    def test_broken_json(self):
        self.assert_refused(self.run_minitrain("{"), "ds_config.json: not valid JSON", "line 1")

    def test_a_missing_file(self):
        run = self.run_minitrain(None, "--deepspeed_config", "nowhere.json")
        self.assert_refused(run, "nowhere.json: cannot be opened: No such file")

    def test_unknown_flags(self):
        self.assert_refused(self.run_minitrain(ds_config(), "--hiden=3"), "--hiden=3", "--help")

    def test_local_rank_is_ignored(self):
        flags = ["--local_rank=1", "--steps=1", *SMALL_MODEL]
        self.run_minitrain(ds_config(), *flags).done()

    def test_other_keys_are_warned_of(self):
        run = self.run_minitrain(
            ds_config(wall_clock_breakdown=False), "--steps=1", *SMALL_MODEL)
        run.done()
        self.assertIn("[WARNING]", run.out)
        self.assertIn("wall_clock_breakdown has no effect in minitrain", run.out)

    def test_help(self):
        run = self.run_minitrain(None, "--help")
        self.assertEqual(run.code, 0)
        for flag in ("--deepspeed_config", "--memory-limit", "--fail-at-step", "--step-delay-ms"):
            self.assertEqual(run.out.count(f"  {flag} "), 1, flag)


if __name__ == "__main__":
    unittest.main(verbosity=2)
