#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The plug-ins that use CUDA are built, load, and end in a sentence where there is no GPU."""

import ctypes
import os
import sys
import unittest
from pathlib import Path

sys.path.append(str(Path(os.environ["SLURMTUNE_SOURCE_DIR"]) / "tests/mpi/minitrain"))

from minitrain import SMALL_MODEL, MinitrainTest, ds_config  # noqa: E402

PLUGINS = Path(os.environ["SLURMTUNE_BIN_DIR"]).parent / "lib/slurmtune"


class Plugins(MinitrainTest):
    def test_minitrains_loads_and_exports_its_entry(self):
        library = ctypes.CDLL(str(PLUGINS / "minitrain-cuda.so"))
        self.assertTrue(library.minitrain_make_device)

    def test_the_probes_loads_and_says_why_it_measures_nothing(self):
        library = ctypes.CDLL(str(PLUGINS / "slurmtune-gpu-probe.so"))
        for entry in ("slurmtune_gpu_measure", "slurmtune_gpu_nccl_id", "slurmtune_gpu_all_reduce"):
            self.assertTrue(getattr(library, entry))
        if Path("/dev/nvidiactl").exists():
            self.skipTest("there is a GPU: gpu_probe measures it")
        why = ctypes.create_string_buffer(256)
        figures = (ctypes.c_char * 256)()
        ctypes.cast(figures, ctypes.POINTER(ctypes.c_int))[0] = 1  # version of the interface
        measure = library.slurmtune_gpu_measure
        measure.argtypes = [ctypes.c_double, ctypes.c_void_p, ctypes.c_char_p]
        self.assertNotEqual(measure(0.1, figures, why), 0)
        self.assertRegex(why.value.decode(), "cudaGetDeviceCount.*(driver|device)")

    def test_minitrain_trains_on_what_there_is_and_says_what_is_missing(self):
        self.run_minitrain(ds_config(batch=4), "--steps=2", *SMALL_MODEL, ranks=1).done()
        if Path("/dev/nvidiactl").exists():
            self.skipTest("there is a GPU: gpu_minitrain trains on it")
        must = self.run_minitrain(ds_config(batch=4), "--device=cuda", ranks=1)
        self.assertEqual(must.code, 1)
        self.assertRegex(must.err, "minitrain: --device cuda: CUDA error: .*(driver|device)")


if __name__ == "__main__":
    unittest.main()
