#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Is the winner of a study as fast as the best of the exhaustive grid, at half its experiments?

Tunes examples/minitrain/study.toml as it stands, then the same study with strategy = "grid" (every
valid configuration), then runs both winners in turn, in random order within each pair, and prints
the ratio of their speeds with a 95 % interval (Student's t over the logarithms of the pairs).

On a cluster if SLURM_CONF is set (tests/cluster/with-cluster.sh), else on this machine alone.
SLURMTUNE_BENCH_PAIRS (9), SLURMTUNE_BENCH_DIR (kept if given, else a temporary directory).
Exit code 1 if the interval does not reach 0.95, or half of the grid's experiments were started.
"""

import csv
import json
import math
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SOURCE = Path(os.environ["SLURMTUNE_SOURCE_DIR"])
BIN = Path(os.environ["SLURMTUNE_BIN_DIR"])
PAIRS = max(9, int(os.environ.get("SLURMTUNE_BENCH_PAIRS", "9")))
STEPS = 14
# Student's t, two-sided 95 %, by degrees of freedom; above 30 the normal value serves.
T95 = {8: 2.306, 9: 2.262, 10: 2.228, 11: 2.201, 12: 2.179, 13: 2.160, 14: 2.145, 15: 2.131,
       19: 2.093, 24: 2.064, 29: 2.045}
TARGET = 0.95


def tune(study, directory):
    """Runs a whole study in the foreground; returns its report and its seconds."""
    mode = "graph" if "SLURM_CONF" in os.environ else "local"
    began = time.monotonic()
    subprocess.run([BIN / "slurmtune", "tune", study, "--submit", mode, "--dir", directory],
                   check=True, stdout=subprocess.DEVNULL)
    seconds = time.monotonic() - began
    report = subprocess.run([BIN / "slurmtune", "report", directory, "--json"], check=True,
                            capture_output=True, text=True).stdout
    return json.loads(report)["result"], seconds


def started(directory):
    """How many experiments of a study were started, repeats of confirm included."""
    with open(directory / "results.csv", newline="") as file:
        return sum(row["outcome"] != "not_started" for row in csv.DictReader(file))


def grid_size(study):
    """How many experiments the exhaustive grid has: one of each valid configuration."""
    plan = subprocess.run([BIN / "slurmtune", "plan", study, "--submit", "local", "--json"],
                          check=True, capture_output=True, text=True).stdout
    return json.loads(plan)["grid_size"]


def speed(config):
    """Samples a second of one run: the median of its later steps, each on the slowest rank."""
    with tempfile.TemporaryDirectory() as work:
        metrics = Path(work) / "metrics.jsonl"
        environment = dict(os.environ, SLURMTUNE_METRICS=str(metrics),
                           OMPI_MCA_mpi_yield_when_idle="1", OMPI_ALLOW_RUN_AS_ROOT="1",
                           OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        subprocess.run(["mpirun", "--oversubscribe", "-n", "2", BIN / "minitrain",
                        "--deepspeed_config", config, "--steps", str(STEPS),
                        "--memory-limit", "7.5MiB"],
                       check=True, env=environment, stdout=subprocess.DEVNULL)
        steps = [json.loads(line) for line in metrics.read_text().splitlines()]
    return statistics.median(step["samples"] / step["step_s"] for step in steps[4:])


def main():
    base = os.environ.get("SLURMTUNE_BENCH_DIR")
    place = Path(base or tempfile.mkdtemp(prefix="slurmtune-bench-"))
    place.mkdir(parents=True, exist_ok=True)
    example = SOURCE / "examples" / "minitrain"
    shutil.copy(example / "ds_config.json", place)
    text = (example / "study.toml").read_text()
    study = place / "study.toml"
    study.write_text(text)
    grid = place / "grid.toml"
    grid.write_text(re.sub(r"\[search\]", '[search]\nstrategy = "grid"', text)
                    .replace("max_node_hours       = 12.0", "max_node_hours       = 40.0"))

    ours, our_seconds = tune(study, place / "ours")
    best, grid_seconds = tune(grid, place / "grid")
    experiments, of_grid = started(place / "ours"), grid_size(study)

    configs = {"ours": place / "ours/best/ds_config_optimal.json",
               "grid": place / "grid/best/ds_config_optimal.json"}
    order = random.Random(1)
    logs = []
    for _ in range(PAIRS):
        names = ["ours", "grid"]
        order.shuffle(names)
        pair = {name: speed(configs[name]) for name in names}
        logs.append(math.log(pair["ours"] / pair["grid"]))
    mean = statistics.mean(logs)
    half = T95.get(PAIRS - 1, 1.96) * statistics.stdev(logs) / math.sqrt(PAIRS)
    low, mid, high = (math.exp(x) for x in (mean - half, mean, mean + half))

    print(f"winner        {ours['best']['label']}, {experiments} experiments, {our_seconds:.0f} s")
    print(f"grid's best   {best['best']['label']}, {of_grid} configurations, {grid_seconds:.0f} s")
    print(f"speed ratio   {mid:.3f} (95 % interval {low:.3f} to {high:.3f}), {PAIRS} pairs")
    print(f"experiments   {experiments / of_grid:.2f} of the grid's")
    if base is None:
        shutil.rmtree(place)
    return 0 if high >= TARGET and experiments < of_grid / 2 else 1


if __name__ == "__main__":
    sys.exit(main())
