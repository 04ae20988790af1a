#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Training on a GPU is the same training as on the processor, and its memory is the limit."""

import json
import os
import re
import sys
import unittest
from pathlib import Path

sys.path.append(str(Path(os.environ["SLURMTUNE_SOURCE_DIR"]) / "tests/mpi/minitrain"))

from minitrain import SMALL_MODEL, MinitrainTest, ds_config  # noqa: E402

STEPS = 8
# Single-precision sums in another order; Adam amplifies them from step to step.
TOLERANCE = 1e-4


class OnGpu(MinitrainTest):
    def losses(self, config, *flags, ranks):
        run = self.run_minitrain(config, f"--steps={STEPS}", *SMALL_MODEL, *flags, ranks=ranks)
        run.done()
        losses = [float(x) for x in re.findall(r"loss=(\S+) after optimizer step", run.out)]
        self.assertEqual(len(losses), STEPS)
        return losses, run

    def test_all_stages_train_as_on_the_processor(self):
        for stage, ranks in ((0, 1), (0, 2), (1, 2), (2, 2), (3, 2)):
            with self.subTest(stage=stage, ranks=ranks):
                config = ds_config(stage=stage, micro=2)
                there, run = self.losses(config, "--device=cuda", ranks=ranks)
                self.assertIn("minitrain: device=", run.out)
                here, _ = self.losses(config, "--device=cpu", ranks=ranks)
                for step, (gpu, cpu) in enumerate(zip(there, here), 1):
                    self.assertLess(abs(gpu / cpu - 1), TOLERANCE, f"step {step}")

    def test_more_than_the_gpu_has_is_out_of_memory(self):
        # Activations of more than 200 GB.
        config = ds_config(batch=65536, micro=65536)
        run = self.run_minitrain(config, "--device=cuda", "--steps=1", "--hidden=1024",
                                 "--layers=64", "--sequence=16", ranks=1)
        self.assertEqual(run.code, 1)
        self.assertIn("minitrain.OutOfMemoryError: device out of memory", run.err)

    def test_the_gpus_memory_is_told(self):
        metrics = self.scratch / "metrics"
        self.run_minitrain(ds_config(batch=4), "--device=cuda", "--steps=1", *SMALL_MODEL, ranks=1,
                           SLURMTUNE_METRICS=str(metrics)).done()
        self.assertGreater(json.loads(metrics.read_text().splitlines()[0])["gpu_bytes"], 1e9)


if __name__ == "__main__":
    unittest.main()
