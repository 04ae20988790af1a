#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What a run says is what DeepSpeed would say, at once, and what the metrics file promises."""

import json
import re
import time
import unittest

from minitrain import SMALL_MODEL, MinitrainTest, ds_config

STAMP = r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\] \[INFO\] "
FLOAT = r"\d+(?:\.\d+)?(?:e[+-]?\d+)?"
PROGRESS = re.compile(
    "^" + STAMP + r"\[logging\.py:96:log_dist\] \[Rank 0\] step=(\d+), skipped=0, lr=\[0\.05\], "
    r"mom=\[\(0\.9, 0\.999\)\]$", re.MULTILINE)
THROUGHPUT = re.compile(
    "^" + STAMP + r"\[timer\.py:260:stop\] epoch=0/micro_step=(\d+)/global_step=(\d+), "
    rf"RunningAvgSamplesPerSec=({FLOAT}), CurrSamplesPerSec=({FLOAT}), "
    rf"MemAllocated=({FLOAT})GB, MaxMemAllocated=({FLOAT})GB$", re.MULTILINE)


class Report(MinitrainTest):
    def test_step_lines(self):
        config = ds_config(stage=2, micro=2, batch=16)
        run = self.run_minitrain(config, "--steps=5", *SMALL_MODEL)
        done = run.done()
        self.assertEqual(PROGRESS.findall(run.out), list("012345"))
        timed = THROUGHPUT.findall(run.out)
        # The throughput timer leaves two steps out; four micro-steps make a step.
        self.assertEqual([(line[0], line[1]) for line in timed],
                         [("12", "3"), ("16", "4"), ("20", "5")])
        for _, _, running, current, allocated, peak in timed:
            self.assertGreater(float(running), 0)
            self.assertGreater(float(current), 0)
            self.assertLess(float(allocated), float(peak))
        peak_gib = float(timed[-1][5])
        self.assertAlmostEqual(peak_gib * 2**30, done.peak_bytes, delta=1e-5 * done.peak_bytes)

    def test_steps_per_print(self):
        config = ds_config(micro=8, steps_per_print=3)
        run = self.run_minitrain(config, "--steps=7", *SMALL_MODEL)
        run.done()
        self.assertEqual(PROGRESS.findall(run.out), ["0", "3", "6"])

    def test_each_line_comes_when_it_is_true(self):
        process = self.start(ds_config(micro=8), "--steps=4", "--step-delay-ms=300", *SMALL_MODEL)
        arrivals = [time.monotonic() for line in process.stdout if "after optimizer step" in line]
        self.assertEqual(process.wait(timeout=30), 0)
        self.assertEqual(len(arrivals), 4)
        self.assertGreater(arrivals[-1] - arrivals[0], 0.8)

    def test_metrics_file(self):
        metrics = self.scratch / "metrics.jsonl"
        metrics.write_text('{"earlier":true}\n')
        config = ds_config(stage=3, micro=4, batch=16)
        flags = ["--steps=3", "--memory-limit=1MiB", *SMALL_MODEL]
        run = self.run_minitrain(config, *flags, SLURMTUNE_METRICS=str(metrics))
        done = run.done()
        earlier, *lines = [json.loads(line) for line in metrics.read_text().splitlines()]
        self.assertEqual(earlier, {"earlier": True})
        self.assertEqual([line["step"] for line in lines], [1, 2, 3])
        for line in lines:
            self.assertEqual(
                set(line),
                {"step", "step_s", "samples", "loss", "peak_gpu_bytes", "gpu_bytes", "params"})
            self.assertEqual(line["samples"], 16)
            self.assertEqual(line["gpu_bytes"], 2**20)
            self.assertEqual(line["params"], 5 * 16 + 16 + 3 * (8 * 256 + 80) + 16 * 5 + 5)
            self.assertGreater(line["step_s"], 0)
        self.assertEqual(lines[-1]["peak_gpu_bytes"], done.peak_bytes)
        self.assertAlmostEqual(lines[-1]["loss"], done.loss, places=7)

    def test_metrics_of_a_run_without_limit_and_with_nan(self):
        metrics = self.scratch / "metrics.jsonl"
        self.run_minitrain(
            ds_config(micro=8), "--steps=2", "--fail-at-step=2", "--fail-kind=nan", *SMALL_MODEL,
            SLURMTUNE_METRICS=str(metrics)).done()
        first, second = [json.loads(line) for line in metrics.read_text().splitlines()]
        self.assertNotIn("gpu_bytes", first)
        self.assertIsInstance(first["loss"], float)
        self.assertIsNone(second["loss"])

    def test_the_step_time_is_the_slowest_ranks(self):
        metrics = self.scratch / "metrics.jsonl"
        self.run_minitrain(
            ds_config(micro=8), "--steps=2", "--step-delay-ms=80", "--step-delay-rank=1",
            *SMALL_MODEL, SLURMTUNE_METRICS=str(metrics)).done()
        for line in metrics.read_text().splitlines():
            self.assertGreater(json.loads(line)["step_s"], 0.08)

    def test_a_metrics_file_that_cannot_be_opened_ends_the_run(self):
        run = self.run_minitrain(ds_config(micro=8), "--steps=2", *SMALL_MODEL,
                                 SLURMTUNE_METRICS=str(self.scratch / "none" / "m.jsonl"))
        self.assertEqual(run.code, 1)
        self.assertIn("SLURMTUNE_METRICS", run.err)


if __name__ == "__main__":
    unittest.main(verbosity=2)
