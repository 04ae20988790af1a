#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Real DeepSpeed, two nodes a trial, tuned through the cluster as its user types it: the launch
line and the ds_config.json with its "autotuning" section are all there is. One micro-batch does not
fit.

tests/deepspeed/deepspeed_trials.sh names the Python that has DeepSpeed."""

import json
import os
import re
import shutil
import subprocess
import time
import unittest
from pathlib import Path

from cluster_study import (BUSY_LOAD_PER_CORE, CLUSTER, PROGRAMS, SITE, SOURCE, Study, StudyTest,
                           json_lines, output_of)

STUDY_TIMEOUT_S = 480
TRAINING_TIMEOUT_S = 180
WANTED_S = 240  # where others leave us the machine
LINE_STEPS = "100000"

BIN = Path(os.environ["SLURMTUNE_DEEPSPEED_PYTHON"]).parent
BATCH_KEYS = {"train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps"}
SLOW, FAST, EXCEEDS = 1, 8, 2048  # micro-batches

# As its user wrote it for DeepSpeed's own autotuner. That the flag ends in a space is a mistake of
# DeepSpeed's documentation that many configurations have.
DS_CONFIG = {
    "train_micro_batch_size_per_gpu": [SLOW, FAST, EXCEEDS],
    "gradient_clipping": 1.0,
    "optimizer": {"type": "Adam", "params": {"lr": 0.001, "torch_adam": True}},
    "zero_optimization": {
        "stage": [0, 1],
        "reduce_bucket_size": 1000000,
        "allgather_bucket_size": 1000000,
    },
    "wall_clock_breakdown": False,
    "autotuning": {
        "enabled": True,
        "fast": True,
        "arg_mappings": {"train_micro_batch_size_per_gpu": "--micro_batch "},
    },
}

# So small a model that what a trial costs is mostly its start.
TRAINING = ["train_small_node.py", "--layers", "1", "--sequence", "64", "--deepspeed_config",
            "ds_config.json", "--micro_batch", str(SLOW), "--steps", LINE_STEPS]

# A node with so little memory that EXCEEDS does not fit.
SMALL_NODE = """\
import resource
import runpy

resource.setrlimit(resource.RLIMIT_AS, (1_536_000_000, 1_536_000_000))
runpy.run_path("train.py", run_name="__main__")
"""


class DeepSpeed(StudyTest):
    def setUp(self):
        super().setUp()
        for script in (SOURCE / "examples/deepspeed-tiny").glob("*.py"):
            shutil.copy(script, self.place)
        (self.place / "train_small_node.py").write_text(SMALL_NODE, encoding="utf-8")
        (self.place / "ds_config.json").write_text(json.dumps(DS_CONFIG), encoding="utf-8")
        # Whole nodes, as on most clusters: two trials at a time on the four.
        site = SITE.format(settle_s=1).replace("= false", "= true")
        (self.place / "site.toml").write_text(site, encoding="utf-8")

    def tune(self):
        variables = ["DS_ACCELERATOR=cpu", "DS_BUILD_OPS=0", "OMP_NUM_THREADS=1",
                     "PYTHONDONTWRITEBYTECODE=1"]
        launcher = [BIN / "deepspeed", "--num_nodes", "2", "--num_gpus", "1"]
        start = time.monotonic()
        done = subprocess.run(
            [PROGRAMS / "slurmtune", "tune", "--submit", "graph", "--site",
             self.place / "site.toml", "--dir", self.place / "study", "--", *variables, *launcher,
             *TRAINING],
            cwd=self.place, text=True, check=False, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, timeout=STUDY_TIMEOUT_S)
        wall_s = time.monotonic() - start
        load = os.getloadavg()[0]
        print(f"{done.stdout}\nthe study took {wall_s:.1f} s; load {load:.1f}", flush=True)
        if load < BUSY_LOAD_PER_CORE * os.cpu_count():
            self.assertLess(wall_s, WANTED_S)
        return done

    def test_a_launch_line_is_tuned_through_the_cluster(self):
        done = self.tune()
        study = Study(self.place / "study")
        self.assertEqual(done.returncode, 0, f"{done.stdout}\n{study.logs()}")
        self.assertTrue((self.place / "study-train_small_node.toml").exists())
        self.assert_trials(study)
        best = self.assert_winner(study, done.stdout)
        self.assert_config(study, best)
        self.wait_until_idle(study)
        self.assert_no_trainer_left()
        self.assert_trains(study, best)
        self.wait_until_idle(study)
        self.assert_no_trainer_left()

    def assert_trials(self, study):
        """Each has a verdict, on two of the cluster's nodes; what fits works, what does not is out
        of the node's memory."""
        tried = self.assert_nothing_run_twice(study)
        asked = {line["experiment"] for manifest in study.root.glob("stages/*/manifest.jsonl")
                 for line in json_lines(manifest)[1:]}
        self.assertEqual(set(tried), asked)
        cluster = set(output_of("sinfo", "-h", "-N", "-o", "%N").split())
        self.assertEqual(len(cluster), 4)
        values = study.values()
        for verdict in study.verdicts():
            exceeds = values[verdict["configuration"]]["micro_batch"] == EXCEEDS
            self.assertEqual(verdict["outcome"], "host_oom" if exceeds else "ok", verdict)
            self.assertEqual(len(set(verdict["nodes"])), 2, verdict)
            self.assertLessEqual(set(verdict["nodes"]), cluster)
        self.assertLessEqual({(stage, size) for stage in (0, 1) for size in (SLOW, FAST)},
                             {(at["zero_stage"], at["micro_batch"]) for at in values.values()})
        self.assertEqual({node for line in study.verdicts() for node in line["nodes"]}, cluster)

    def assert_winner(self, study, said):
        result = self.assert_won(study, micro_batch=FAST)
        best = result["best"]
        speed = best["throughput"]
        # On a busy machine three repeats may differ so much that the interval reaches down to 0.
        self.assertTrue(0 <= speed["low"] <= speed["mid"] <= speed["high"], best)
        self.assertGreater(speed["mid"], 0)
        self.assertGreaterEqual(best["repeats"], 3)
        self.assertEqual(result["baseline"]["values"]["micro_batch"], SLOW)
        self.assertIn(f"fits: {FAST} (fits {FAST}, exceeds the node's memory at {EXCEEDS})", said)
        return best

    def assert_config(self, study, best):
        """Of the user's own keys none is lost but the section for the autotuner."""
        config = json.loads((study.root / "best/ds_config_optimal.json").read_text("utf-8"))
        self.assertNotIn("autotuning", config)
        self.assertEqual(len(BATCH_KEYS & set(config)), 2, config)
        self.assertEqual(config["train_micro_batch_size_per_gpu"], FAST)
        wanted = {**DS_CONFIG["zero_optimization"], "stage": best["values"]["zero_stage"]}
        self.assertEqual({**config["zero_optimization"], **wanted}, config["zero_optimization"])
        for key in ("gradient_clipping", "optimizer", "wall_clock_breakdown"):
            self.assertEqual(config[key], DS_CONFIG[key])

    def assert_trains(self, study, best):
        """best/cmd_optimal.sh, in a job of two nodes, but for three steps. Where the test cluster
        may not give its nodes a file of hosts, nobody knows their names."""
        command = (study.root / "best/cmd_optimal.sh").read_text(encoding="utf-8")
        self.assertIn(f"--micro_batch {best['values']['micro_batch']} ", command)
        self.assertEqual(command.count(LINE_STEPS), 1, command)
        text = command.replace(LINE_STEPS, "3")
        if "NAMESPACES=yes" not in (CLUSTER / "etc/cluster.env").read_text(encoding="utf-8"):
            text = re.sub("^MASTER_ADDR=.*", "MASTER_ADDR=127.0.0.1", text, flags=re.MULTILINE)
        short = self.place / "three_steps.sh"
        short.write_text(text, encoding="utf-8")
        done = subprocess.run(
            ["salloc", "--nodes=2", "--ntasks-per-node=1", "--exclusive", "--time=10", "bash",
             short], text=True, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL, timeout=TRAINING_TIMEOUT_S)
        self.assertEqual(done.returncode, 0, f"{command}\n{done.stdout}")
        for key, value in (("world_size", 2), ("train_batch_size", 2 * FAST),
                           ("zero_optimization_stage", best["values"]["zero_stage"])):
            self.assertRegex(done.stdout, rf"{key} \.+ {value}\n")  # what DeepSpeed read

    def assert_no_trainer_left(self):
        """Of the study, on this machine, whatever its name."""
        self.assert_no_process_left()
        left = []
        for proc in Path("/proc").glob("[0-9]*"):
            try:
                if Path(os.readlink(proc / "cwd")).is_relative_to(self.place):
                    left.append((proc / "cmdline").read_bytes())
            except OSError:
                continue  # ended meanwhile
        self.assertEqual(left, [])


if __name__ == "__main__":
    unittest.main()
