#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""slurmtune probe over the nodes of an allocation, and without one."""

import json
import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

PROGRAM = Path(os.environ["SLURMTUNE_BIN_DIR"]) / "slurmtune"
TIMEOUT_S = 150

SITE = """\
format = 1
name   = "test-cluster"
runner_launch = [
  "srun", "--mpi=pmix", "--nodes={nodes}", "--ntasks={nodes}", "--overlap", "--mem=0"
]
"""


def run(*argv):
    return subprocess.run([str(word) for word in argv], capture_output=True, text=True, check=False,
                          timeout=TIMEOUT_S, stdin=subprocess.DEVNULL)


class Probe(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.site = Path(scratch.name) / "site.toml"
        self.site.write_text(SITE)

    def probe(self, allocated, *flags):
        return run("salloc", "--quiet", f"--nodes={allocated}", PROGRAM, "probe", "--site",
                   self.site, *flags)

    def test_all_nodes_of_an_allocation_and_what_is_between_them(self):
        said = self.probe(3, "--json")
        self.assertEqual(said.returncode, 0, said.stderr)
        result = json.loads(said.stdout)
        names = sorted(node["node"] for node in result["nodes"])
        self.assertEqual(len(set(names)), 3)
        for name in names:
            self.assertRegex(name, r"^n[1-4]$")
        for node in result["nodes"]:
            self.assertGreater(node["figures"]["memory_bytes_per_s"], 1e7)
            self.assertGreater(node["figures"]["fp64_flops"], 1e7)
            self.assertGreaterEqual(node["facts"]["cores"], 1)
        self.assertGreater(result["mpi_all_reduce_bytes_per_s"], 1e5)
        self.assertGreater(result["mpi_all_reduce_latency_s"], 1e-7)
        self.assertNotIn("nccl_all_reduce_bytes_per_s", result)

    def test_some_nodes_as_a_table_that_says_what_two_nodes_cannot_tell(self):
        said = self.probe(3, "--nodes", "2")
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertEqual(len(re.findall(r"^  n[1-4] ", said.stdout, re.M)), 2, said.stdout)
        self.assertRegex(said.stdout, r"All-reduce over the nodes, MPI: \S+ [kMG]?B/s")
        self.assertIn("from 3 nodes on", said.stdout)

    def test_more_nodes_than_the_allocation_has_are_refused(self):
        said = self.probe(1, "--nodes", "2")
        self.assertEqual(said.returncode, 2)
        self.assertIn("--nodes 2: the allocation has 1", said.stderr)

    def test_without_an_allocation_it_says_what_to_write(self):
        said = run(PROGRAM, "probe", "--nodes", "2")
        self.assertEqual(said.returncode, 2)
        self.assertIn("salloc --nodes=2 --exclusive slurmtune probe", said.stderr)
        here = run(PROGRAM, "probe", "--here", "--json")
        self.assertEqual(here.returncode, 0, here.stderr)
        self.assertEqual(len(json.loads(here.stdout)["nodes"]), 1)


if __name__ == "__main__":
    unittest.main()
