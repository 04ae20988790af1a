#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Training on a device whose memory the host cannot reach is the same training.

The device is remote_device.cpp, which needs no GPU; tests/gpu does the same on a real one.
"""

import json
import os
import re
import unittest

from minitrain import SMALL_MODEL, MinitrainTest, ds_config

STEPS = 5
PLUGIN = os.environ["MINITRAIN_REMOTE_DEVICE"]


class RemoteDevice(MinitrainTest):
    def train(self, config, *flags, ranks=2, **variables):
        return self.run_minitrain(config, f"--steps={STEPS}", *SMALL_MODEL, *flags, ranks=ranks,
                                  **variables)

    def losses(self, run):
        run.done()
        losses = re.findall(r"loss=(\S+) after optimizer step", run.out)
        self.assertEqual(len(losses), STEPS)
        return losses

    def test_all_stages_train_as_on_the_processor_to_the_last_digit(self):
        for stage, ranks, more in ((0, 1, {}), (0, 2, {}), (1, 2, {}), (2, 3, {}), (3, 3, {}),
                                   (3, 2, {"activation_checkpointing": {"enabled": True}})):
            with self.subTest(stage=stage, ranks=ranks):
                config = ds_config(stage=stage, batch=12, micro=2, **more)
                there = self.train(config, "--device=cuda", ranks=ranks, MINITRAIN_CUDA=PLUGIN)
                self.assertIn("minitrain: device=remote memory (test)", there.out)
                here = self.train(config, "--device=cpu", ranks=ranks)
                self.assertNotIn("device=", here.out)
                self.assertEqual(self.losses(there), self.losses(here))

    def test_a_device_is_taken_where_there_is_one_and_needed_only_if_asked_for(self):
        config = ds_config(batch=4)
        found = self.train(config, ranks=1, MINITRAIN_CUDA=PLUGIN)
        self.assertIn("device=remote memory", found.out)
        none = {"MINITRAIN_CUDA": PLUGIN, "MINITRAIN_TEST_NO_DEVICE": "1"}
        self.assertNotIn("device=", self.train(config, ranks=1, **none).out)
        must = self.train(config, "--device=cuda", ranks=2, **none)
        self.assertEqual(must.code, 1)
        self.assertIn("minitrain: --device cuda: no device for local rank 0", must.err)

    def test_a_library_that_is_no_device_is_named(self):
        run = self.train(ds_config(batch=4), "--device=cuda", ranks=1, MINITRAIN_CUDA=__file__)
        self.assertEqual(run.code, 1)
        self.assertIn("cannot be loaded", run.err)

    def test_the_limit_holds_and_else_the_devices_memory_is_told(self):
        config = ds_config(batch=64)
        full = self.train(config, "--device=cuda", "--memory-limit=20KiB", ranks=1,
                          MINITRAIN_CUDA=PLUGIN)
        self.assertEqual(full.code, 1)
        self.assertIn("minitrain.OutOfMemoryError: device out of memory", full.err)
        metrics = self.scratch / "metrics"
        self.train(config, "--device=cuda", ranks=1, MINITRAIN_CUDA=PLUGIN,
                   SLURMTUNE_METRICS=str(metrics)).done()
        line = json.loads(metrics.read_text().splitlines()[0])
        self.assertEqual(line["gpu_bytes"], 2**30)

    def test_a_nan_gets_onto_the_device(self):
        run = self.train(ds_config(batch=4), "--device=cuda", "--fail-at-step=2", "--fail-kind=nan",
                         ranks=1, MINITRAIN_CUDA=PLUGIN)
        self.assertIn("loss=nan after optimizer step 2", run.out)


if __name__ == "__main__":
    unittest.main()
