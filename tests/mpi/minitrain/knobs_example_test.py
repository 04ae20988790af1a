#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""examples/minitrain/study_knobs.toml, as it stands, to its end on this machine."""

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

SLURMTUNE = Path(os.environ["SLURMTUNE_BIN_DIR"]) / "slurmtune"
EXAMPLE = Path(os.environ["SLURMTUNE_SOURCE_DIR"]) / "examples/minitrain"
LISTED = json.loads((EXAMPLE / "ds_config_knobs.json").read_text())["zero_optimization"]
BUCKETS = ("reduce_bucket_size", "allgather_bucket_size")


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def check_trials(study):
    """Every trial works, and knobs are tried among what the config lists."""
    tried = {key: {LISTED[key][0]} for key in BUCKETS}
    stages = sorted(study.glob("stages/*-knobs"))
    assert stages, "no knobs stage ran"
    for stage in sorted(study.glob("stages/*")):
        verdicts = [one for shard in stage.glob("verdicts/*.jsonl") for one in lines(shard)
                    if one["type"] == "verdict"]
        failed = [one for one in verdicts if one["outcome"] != "ok"]
        assert not failed, failed
    for stage in stages:
        for experiment in lines(stage / "manifest.jsonl")[1:]:
            config = json.loads(
                (stage / "work" / experiment["experiment"] / "ds_config.json").read_text())
            zero = config["zero_optimization"]
            assert zero["stage"] in (1, 2), zero
            for key in BUCKETS:
                assert zero[key] in LISTED[key], zero
                tried[key].add(zero[key])
    assert tried == {key: set(LISTED[key]) for key in BUCKETS}, tried


def check_result(study):
    best = json.loads((study / "best/ds_config_optimal.json").read_text())
    assert best["train_micro_batch_size_per_gpu"] == 1, best
    assert best["gradient_accumulation_steps"] == 48, best
    for key in BUCKETS:
        assert best["zero_optimization"][key] in LISTED[key], best
    summary = (study / "best/summary.txt").read_text()
    assert "_knobs" in summary, summary
    report = subprocess.run([SLURMTUNE, "report", study], check=True, capture_output=True,
                            text=True).stdout
    assert "configurations, without knobs" in report, report


def main():
    with tempfile.TemporaryDirectory() as place:
        for name in ("study_knobs.toml", "ds_config_knobs.json"):
            shutil.copy(EXAMPLE / name, place)
        study = Path(place) / "study"
        subprocess.run([SLURMTUNE, "tune", "study_knobs.toml", "--submit", "local", "--dir", study],
                       cwd=place, check=True)
        check_trials(study)
        check_result(study)


if __name__ == "__main__":
    main()
