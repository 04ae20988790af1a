#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The same batch gives the same training, however it is split and partitioned."""

import re
import unittest

from minitrain import SMALL_MODEL, MinitrainTest, ds_config

STEPS = 8
# float32 sums in another order.
TOLERANCE = 2e-6


class Agreement(MinitrainTest):
    def losses(self, config, *flags, ranks=2):
        run = self.run_minitrain(config, f"--steps={STEPS}", *SMALL_MODEL, *flags, ranks=ranks)
        self.assertEqual(run.done().steps, STEPS)
        losses = [float(x) for x in re.findall(r"loss=(\S+) after optimizer step", run.out)]
        self.assertEqual(len(losses), STEPS)
        return losses

    def assert_same_training(self, losses, wanted=None):
        wanted = self.reference() if wanted is None else wanted
        for step, (mine, wanted) in enumerate(zip(losses, wanted), 1):
            self.assertLess(abs(mine / wanted - 1), TOLERANCE, f"step {step}")

    _reference = None

    def reference(self):
        """One rank, one micro-batch, no ZeRO."""
        if Agreement._reference is None:
            Agreement._reference = self.losses(ds_config(stage=0, batch=16), ranks=1)
        return Agreement._reference

    def test_the_reference_learns(self):
        losses = self.reference()
        self.assertLess(losses[-1], 0.9 * losses[0])
        self.assertEqual(len(set(losses)), STEPS)

    def test_zero_stages_and_ranks(self):
        for ranks in (2, 4):
            for stage in (0, 1, 2, 3):
                with self.subTest(ranks=ranks, stage=stage):
                    self.assert_same_training(
                        self.losses(ds_config(stage=stage, micro=2), ranks=ranks))

    def test_splits_of_the_batch(self):
        for stage, micro in ((0, 1), (0, 8), (1, 4), (2, 1), (2, 8), (3, 4)):
            with self.subTest(stage=stage, micro=micro):
                self.assert_same_training(self.losses(ds_config(stage=stage, micro=micro)))

    def test_a_number_of_ranks_that_divides_no_layer(self):
        for stage in (1, 2, 3):
            with self.subTest(stage=stage):
                config = ds_config(stage=stage, batch=15)
                alone = self.losses(ds_config(batch=15), ranks=1)
                self.assert_same_training(self.losses(config, ranks=3), alone)

    def test_bucket_sizes(self):
        for stage in (0, 1, 2, 3):
            for bucket in (64, 10**9):
                with self.subTest(stage=stage, bucket=bucket):
                    zero = {"stage": stage, "reduce_bucket_size": bucket,
                            "allgather_bucket_size": bucket}
                    config = ds_config(micro=4, zero_optimization=zero)
                    self.assert_same_training(self.losses(config))

    def test_all_reduce_instead_of_reduce_scatter(self):
        for stage in (1, 2, 3):
            with self.subTest(stage=stage):
                config = ds_config(stage=stage, micro=4)
                config["zero_optimization"]["reduce_scatter"] = False
                self.assert_same_training(self.losses(config))

    def test_activation_checkpointing(self):
        for stage in (0, 3):
            with self.subTest(stage=stage):
                config = ds_config(stage=stage, micro=4,
                                   activation_checkpointing={"enabled": True})
                self.assert_same_training(self.losses(config))
        self.assert_same_training(
            self.losses(ds_config(stage=2, micro=4), "--activation-checkpointing"))

    def test_another_seed_is_another_training(self):
        losses = self.losses(ds_config(micro=4), "--seed=5")
        self.assertNotEqual(losses[0], self.reference()[0])


if __name__ == "__main__":
    unittest.main(verbosity=2)
