#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Memory is used as the parallelism says, and refused beyond the limit."""

import json
import re
import unittest

from minitrain import MinitrainTest, ds_config

MODEL = ["--layers=4", "--hidden=64", "--input=16", "--sequence=4"]
PARAMETERS = 16 * 64 + 64 + 4 * (8 * 64 * 64 + 5 * 64) + 64 * 16 + 16
OOM_LINE = re.compile(
    r"^minitrain\.OutOfMemoryError: device out of memory\. Tried to allocate [\d.]+ [KMG]?i?B "
    r"\(limit 2\.50 MiB; [\d.]+ [KM]iB already allocated\)$",
    re.MULTILINE,
)


class Memory(MinitrainTest):
    def peak(self, stage=0, micro=1, bucket=4096, ranks=2, **more):
        zero = {"stage": stage, "reduce_bucket_size": bucket, "allgather_bucket_size": bucket}
        config = ds_config(batch=64, micro=micro, zero_optimization=zero, **more)
        return self.run_minitrain(config, "--steps=2", *MODEL, ranks=ranks).done().peak_bytes

    def test_activations_grow_with_the_micro_batch(self):
        for stage in (0, 1, 2, 3):
            with self.subTest(stage=stage):
                four, eight, sixteen = (self.peak(stage, micro) for micro in (4, 8, 16))
                self.assertEqual(eight - four, (sixteen - eight) / 2)
                # x, z and act(z) of every block: 9 times the hidden width, for every point.
                per_sample = 4 * 4 * 4 * 9 * 64
                self.assertGreater((eight - four) / 4, per_sample)
                self.assertLess((eight - four) / 4, 1.3 * per_sample)

    def test_stages_partition_what_they_should(self):
        for ranks in (2, 4):
            with self.subTest(ranks=ranks):
                z0, z1, z2, z3 = (self.peak(stage, micro=8, ranks=ranks) for stage in range(4))
                saved = 4 * PARAMETERS * (1 - 1 / ranks)
                # Moments, gradients, parameters; a layer at a time and the bucket come on top.
                layer = 4 * (8 * 64 * 64 + 5 * 64)
                self.assertAlmostEqual(z0 - z1, 2 * saved, delta=2000)
                self.assertAlmostEqual(z1 - z2, saved - layer - 4 * 4096, delta=10000)
                self.assertAlmostEqual(z2 - z3, saved - layer, delta=10000)

    def test_checkpointing_saves_activations(self):
        plain = self.peak(micro=16)
        kept = self.peak(micro=16, activation_checkpointing={"enabled": True})
        self.assertLess(kept, plain - 16 * 4 * 4 * 3 * 8 * 64 + 2000)

    def test_buckets_cost_memory(self):
        small, large = (self.peak(stage=2, micro=4, bucket=bucket) for bucket in (4096, 40960))
        self.assertEqual(large - small, 4 * (40960 - 4096))

    def test_stage_3_fits_where_stage_0_does_not(self):
        config = ds_config(stage=3, batch=16, micro=2)
        self.run_minitrain(config, "--memory-limit=2MiB", "--steps=2", *MODEL).done()
        config = ds_config(stage=0, batch=16, micro=2)
        run = self.run_minitrain(config, "--memory-limit=2MiB", "--steps=2", *MODEL)
        self.assertEqual(run.code, 1)

    def test_the_limit_ends_all_ranks_at_once(self):
        for stage, micro in ((0, 32), (1, 64), (2, 64), (3, 64)):
            with self.subTest(stage=stage):
                config = ds_config(stage=stage, batch=128, micro=micro)
                run = self.run_minitrain(config, "--memory-limit=2.5MiB", "--steps=5", *MODEL)
                self.assertEqual(run.code, 1)
                self.assertRegex(run.err, OOM_LINE)
                self.assertNotIn("done", run.out)
                self.assertLess(run.wall_s, 20)

    def test_the_limit_is_exact(self):
        config = ds_config(stage=1, batch=16, micro=4)
        peak = self.run_minitrain(config, "--steps=2", *MODEL).done().peak_bytes
        fits = self.run_minitrain(config, f"--memory-limit={peak}", "--steps=2", *MODEL)
        self.assertEqual(fits.done().peak_bytes, peak)
        fails = self.run_minitrain(config, f"--memory-limit={peak - 1}", "--steps=2", *MODEL)
        self.assertEqual(fails.code, 1)
        self.assertIn("minitrain.OutOfMemoryError", fails.err)

    def test_the_model_info_run_measures_activations(self):
        info = {}
        for micro in (1, 3):
            name = f"info{micro}.json"
            autotuning = {"enabled": True, "model_info_path": name, "model_info": {"profile": True}}
            config = ds_config(stage=3, batch=2 * micro, micro=micro, autotuning=autotuning)
            run = self.run_minitrain(config, *MODEL)
            self.assertEqual((run.code, run.out), (0, ""))
            info[micro] = json.loads((self.scratch / name).read_text())
        self.assertEqual(
            info[1],
            {
                "num_params": PARAMETERS,
                "trainable_num_params": PARAMETERS,
                # Of 4 points, float32: x, z, act(z) of 4 blocks, the last hidden layer, outputs.
                "activation_mem_per_gpu": 4 * 4 * (4 * 9 * 64 + 64 + 16),
                "rank": 0,
            },
        )
        self.assertEqual(
            info[3]["activation_mem_per_gpu"], 3 * info[1]["activation_mem_per_gpu"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
