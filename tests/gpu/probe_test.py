#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The probe measures the GPUs of this machine."""

import json
import os
import subprocess
import unittest
from pathlib import Path

PROGRAM = Path(os.environ["SLURMTUNE_BIN_DIR"]) / "slurmtune"


class Probe(unittest.TestCase):
    def test_figures_are_there_and_possible(self):
        said = subprocess.run([str(PROGRAM), "probe", "--here", "--json"], capture_output=True,
                              text=True, check=True, timeout=240).stdout
        node = json.loads(said)["nodes"][0]
        facts, figures = node["facts"], node["figures"]
        self.assertGreaterEqual(facts["gpus"], 1)
        self.assertGreater(facts["gpu_bytes"], 1e9)
        self.assertTrue(facts["driver"])
        self.assertNotIn("no_gpu_figures_because", figures)
        # From a small GPU of compute capability 7.5 to several times the largest of today.
        self.assertTrue(1e10 < figures["gpu_memory_bytes_per_s"] < 5e13)
        self.assertTrue(1e11 < figures["gpu_fp32_flops"] < 1e15)
        self.assertTrue(figures["gpu_fp32_flops"] < figures["gpu_fp16_flops"] < 2e16)


if __name__ == "__main__":
    unittest.main()
