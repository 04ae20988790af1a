#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Each injected fault looks like the real one from outside."""

import subprocess
import unittest

from minitrain import SMALL_MODEL, MinitrainTest, ds_config


class Faults(MinitrainTest):
    def fail(self, kind, *flags, rank=1):
        return self.run_minitrain(
            ds_config(micro=4), "--steps=6", "--fail-at-step=3", f"--fail-kind={kind}",
            f"--fail-rank={rank}", *SMALL_MODEL, *flags)

    def assert_stopped_after_two_steps(self, run):
        self.assertNotEqual(run.code, 0)
        self.assertIn("after optimizer step 2\n", run.out)
        self.assertNotIn("after optimizer step 3\n", run.out)
        self.assertNotIn("done", run.out)

    def test_crash(self):
        for rank in (0, 1):
            with self.subTest(rank=rank):
                run = self.fail("crash", rank=rank)
                self.assert_stopped_after_two_steps(run)
                self.assertIn("signal 11", run.err)

    def test_exit(self):
        run = self.fail("exit")
        self.assert_stopped_after_two_steps(run)
        self.assertEqual(run.code, 1)
        self.assertNotIn("minitrain:", run.err)

    def test_out_of_memory(self):
        run = self.fail("oom", "--memory-limit=8MiB")
        self.assert_stopped_after_two_steps(run)
        self.assertIn("minitrain.OutOfMemoryError: device out of memory. Tried to allocate "
                      "512.00 KiB (limit 8.00 MiB; 7.", run.err)

    def test_nan(self):
        run = self.fail("nan")
        self.assertEqual(run.code, 0)
        self.assertNotIn("loss=nan after optimizer step 2\n", run.out)
        for step in (3, 4, 5, 6):  # the parameters are spoilt for good
            self.assertIn(f"loss=nan after optimizer step {step}\n", run.out)

    def test_hang(self):
        process = self.start(ds_config(micro=4), "--steps=6", "--fail-at-step=3",
                             "--fail-kind=hang", "--fail-rank=1", *SMALL_MODEL)
        with self.assertRaises(subprocess.TimeoutExpired):
            process.wait(timeout=4)
        process.terminate()  # mpirun passes it on
        out, _ = process.communicate(timeout=20)
        self.assertIn("after optimizer step 2\n", out)
        self.assertNotIn("after optimizer step 3\n", out)

    def test_a_fault_beyond_the_last_step_does_not_happen(self):
        run = self.run_minitrain(ds_config(micro=4), "--steps=2", "--fail-at-step=3",
                                 "--fail-kind=exit", *SMALL_MODEL)
        self.assertEqual(run.done().steps, 2)

    def test_a_slow_rank_slows_every_step(self):
        run = self.run_minitrain(ds_config(micro=4), "--steps=4", "--step-delay-ms=150",
                                 "--step-delay-rank=1", *SMALL_MODEL)
        run.done()
        self.assertGreater(run.wall_s, 0.6)


if __name__ == "__main__":
    unittest.main(verbosity=2)
