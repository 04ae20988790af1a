#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How far `slurmtune estimate --json` is from peaks that others measured, row by row.

  SLURMTUNE_BIN_DIR=build/dev/bin SLURMTUNE_DATA_DIR=DIR tests/bench/memory_model.py

DIR holds memory_points/memory_points.csv and galvatron/memory_llama2_7b.csv; skipped (exit code
125) without them. A row's setup is what its source says; nothing is fitted to its figure.
"""

import csv
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

GIB = 2.0**30
PROGRAM = Path(os.environ.get("SLURMTUNE_BIN_DIR", "build/dev/bin")) / "slurmtune"
DATA = Path(os.environ.get("SLURMTUNE_DATA_DIR", ""))

# hidden, layers, heads, kv_heads, intermediate, vocabulary, params: config.json of each model as
# its authors published it (Qwen: intermediate_size counts both halves). litgpt does not tie the
# embeddings (its checkpoints hold lm_head).
SHAPES = {
    "llama2-7b": (4096, 32, 32, 32, 11008, 32000, 6738415616),
    "llama3-8b": (4096, 32, 32, 8, 14336, 128256, 8030261248),
    "llama3-70b": (8192, 80, 64, 8, 28672, 128256, 70553706496),
    "llama3-405b": (16384, 126, 128, 8, 53248, 128256, 405853388800),
    "qwen-1.8b": (2048, 24, 16, 16, 5504, 151936, 1836828672),
    "qwen-7b": (4096, 32, 32, 32, 11008, 151936, 7721324544),
    "qwen-14b": (5120, 40, 40, 40, 13696, 152064, 14167290880),
    "gemma-2b": (2048, 18, 8, 1, 16384, 256000, 3030460416),
    "llama3.2-3b": (3072, 28, 24, 8, 8192, 128256, 3606752256),
    "tiny-llama": (2048, 22, 32, 4, 5632, 32000, 1100048384),
    "stablelm-3b": (4096, 16, 32, 32, 16384, 50688, 3638525952),
}
MODELS = {
    "Llama 3.1 8B": "llama3-8b", "Llama 3.1 70B": "llama3-70b", "Llama 3.1 405B": "llama3-405b",
    "Qwen-1.8B": "qwen-1.8b", "Qwen-7B": "qwen-7b", "Qwen-14B": "qwen-14b",
    "Qwen-1.8B-Chat": "qwen-1.8b",
    "gemma-2b": "gemma-2b", "llama-3.2-3b": "llama3.2-3b", "tiny-llama": "tiny-llama",
    "stablelm-base-alpha-3b": "stablelm-3b",
}


def estimate(shape, options, stage):
    hidden, layers, heads, kv_heads, intermediate, vocabulary, params = shape
    words = {"hidden": hidden, "layers": layers, "heads": heads, "kv-heads": kv_heads,
             "intermediate": intermediate, "vocabulary": vocabulary, "params": params,
             "gpu-memory": "96GiB", **options}
    config = words.pop("study", None)
    with tempfile.TemporaryDirectory() as place:
        command = [str(PROGRAM.resolve()), "estimate", "--json"]
        if config:
            (Path(place) / "ds_config.json").write_text(json.dumps(config), encoding="utf-8")
            text = STUDY.replace("HIDDEN", str(hidden))
            (Path(place) / "study.toml").write_text(text, encoding="utf-8")
            command.append(f"{place}/study.toml")
        for key, value in words.items():
            command += [f"--{key}"] if value is True else [f"--{key}", str(value)]
        answer = json.loads(
            subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    moved = options.get("offload-param", "none")
    return next(row["memory"] for row in answer["rows"]
                if row["zero_stage"] == stage and row["offload_param"] == moved)


def torchtitan(row):
    # Local batch and layout as in the table; fp32 masters, selective checkpointing by operator;
    # pipelines cut the local batch into as many micro-batches as stages and do not reshard
    # (benchmarks/llama3_h100_202412_torchtitan.md, train_configs of 2024-12). max reserved.
    sharding = row["sharding"]
    options = {"precision": "bf16", "framework": "fsdp", "sequence": row["seq_len"],
               "processes-per-node": row["n_gpus"],
               "checkpointing": "operators"}
    if row["activation_checkpointing"] == "Full":
        options["checkpointing"] = "full"
    stage, batch = 3, int(row["micro_batch_size"])
    if "CP 4" in sharding:
        options["sequence-parallel"] = 4
    if "TP 8" in sharding:
        options |= {"tensor": 8, "tensor-sequence": True}
    if "PP8" in sharding:
        for degree in (8, 2):
            if f"CP {degree}" in sharding:
                options["sequence-parallel"] = degree
        options |= {"pipeline": 8, "gradients": "fp32"}
        stage, batch = 1, batch // 8
    return options | {"micro-batch": batch}, stage, "reserved_bytes", GIB


# "devices" of config_hub/finetune/*/full.yaml where it is not the number of GPUs of the machine,
# which is what the table has.
LITGPT_DEVICES = {"stablelm-base-alpha-3b": 2}


def litgpt(row):
    # bf16-true, torch.optim.AdamW over lists; FSDP with checkpointing on several GPUs, which adds
    # gradients up without synchronising (litgpt/finetune/full.py); max_memory_allocated.
    gpus = LITGPT_DEVICES.get(row["model"], int(row["n_gpus"]))
    options = {"precision": "bf16-only", "sequence": row["seq_len"], "foreach": True,
               "processes-per-node": gpus, "micro-batch": row["micro_batch_size"]}
    if gpus == 1:
        return options, 0, "allocated_bytes", 1e9
    options |= {"framework": "fsdp", "checkpointing": "full", "no-sync": True}
    return options, 3, "allocated_bytes", 1e9


def torchtune(row):
    # One device: paged 8-bit AdamW, whose step runs in backward so that no gradients are kept;
    # eight: FSDP with everything on the host, the embeddings sharded by themselves
    # (custom_sharded_layers). Both with checkpointing
    # (recipes/configs/llama3_1/{8B_full_single_device,70B_full}.yaml of 2024-10).
    options = {"precision": "bf16-only", "sequence": row["seq_len"], "checkpointing": "full",
               "micro-batch": row["micro_batch_size"], "processes-per-node": row["n_gpus"]}
    if int(row["n_gpus"]) == 1:
        return options | {"optimizer": "adam-8bit"}, 0, "allocated_bytes", GIB
    options |= {"framework": "fsdp-units", "offload-optimizer": "cpu", "offload-param": "cpu"}
    return options, 3, "allocated_bytes", GIB


# finetune/ds_config_zero3.json; what is "auto" there follows from the hidden size.
QWEN_ZERO3 = {
    "bf16": {"enabled": "auto"},
    "optimizer": {"type": "AdamW", "params": {"lr": "auto"}},
    "zero_optimization": {
        "stage": 3, "overlap_comm": True, "contiguous_gradients": True, "sub_group_size": 10**9,
        "reduce_bucket_size": "auto", "stage3_prefetch_bucket_size": "auto",
        "stage3_param_persistence_threshold": "auto", "stage3_max_live_parameters": 10**9,
        "stage3_max_reuse_distance": 10**9},
    "gradient_accumulation_steps": "auto", "gradient_clipping": "auto",
    "train_batch_size": "auto", "train_micro_batch_size_per_gpu": "auto"}
STUDY = """format = 1
name = "setup"
[trial]
nodes = 1
processes_per_node = 1
command = ["finetune.py", "--output_dir", "o", "--bf16", "True", "--deepspeed", "{ds_config}"]
[deepspeed]
config = "ds_config.json"
[model]
hidden = HIDDEN
"""


def qwen(row):
    # README: finetune_ds.sh, ZeRO 3 with bf16 and checkpointing; the recipe's single GPU: no
    # DeepSpeed, the model in bf16, torch's AdamW, checkpointing. As nvidia-smi shows it.
    options = {"sequence": row["seq_len"], "micro-batch": 1, "checkpointing": "full",
               "processes-per-node": row["n_gpus"]}
    if row["source"].startswith("Qwen/recipes"):
        return options | {"precision": "bf16-only", "foreach": True}, 0, "total_bytes", GIB
    unit = GIB / int(row["n_gpus"]) if "total over all" in row["mem_unit"] else GIB
    return options | {"precision": "bf16", "study": QWEN_ZERO3}, 3, "total_bytes", unit


SETUPS = {"torchtitan": torchtitan, "litgpt": litgpt, "torchtune": torchtune, "Qwen": qwen}


def memory_points():
    with open(DATA / "memory_points/memory_points.csv", newline="", encoding="utf-8") as file:
        for line, row in enumerate(csv.DictReader(file), 2):
            full = row["method"].lower().startswith(("full", "pretrain"))
            if not full or not row["peak_mem"] or not row["seq_len"] or row["model"] not in MODELS:
                continue
            source = row["source"].split("/")[0]
            options, stage, figure, unit = SETUPS[source](row)
            shape = SHAPES[MODELS[row["model"]]]
            if source == "torchtune" and stage == 0:
                memory = estimate(shape, options, stage)
                memory[figure] -= memory["gradients_bytes"]
            else:
                memory = estimate(shape, options, stage)
            label = (f"{row['model']} {row['sharding'][:34]} s={row['seq_len']} "
                     f"b={row['micro_batch_size']}")
            yield source, f"{line}", label, memory[figure], float(row["peak_mem"]) * unit


def galvatron():
    """States and activation peak together, of the fuller rank; FSDP, 8 GPUs, 8 samples."""
    peaks = {}
    with open(DATA / "galvatron/memory_llama2_7b.csv", newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            key = (row["group"], int(row["layernum"]), int(row["seq"]), int(row["bsz"]))
            part = peaks.setdefault(key, {}).setdefault(row["rank"], {})
            part[row["quantity"]] = float(row["mb"])
    for (group, layers, sequence, samples), ranks in peaks.items():
        pipeline, tensor, replicas = (int(n) for n in group.split("_")[:3])
        hidden, _, heads, kv_heads, inner, vocabulary, _ = SHAPES["llama2-7b"]
        layer = 4 * hidden * hidden + 3 * hidden * inner + 2 * hidden
        shape = (hidden, layers, heads, kv_heads, inner, vocabulary,
                 layers * layer + 2 * vocabulary * hidden + hidden)
        # Galvatron wraps the embeddings and the head by themselves, as it does each layer.
        options = {"precision": "bf16", "framework": "fsdp-units", "sequence": sequence,
                   "processes-per-node": 8, "tensor": tensor, "pipeline": pipeline,
                   "tensor-sequence": True, "micro-batch": samples // replicas, "accumulation": 1,
                   "checkpointing": "full" if "_c" in group else "none"}
        measured = max(part["ms"] + part["act_peak"] for part in ranks.values()) * 2.0**20
        yield "galvatron", group, f"{layers} layers s={sequence}", \
            estimate(shape, options, 3)["allocated_bytes"], measured


def quantile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def adapters(row, shape, options):
    # finetune.py: rank 64 beside c_attn, both c_proj, w1 and w2; with "emb" also copies of the
    # embedding and the head that are trained. Without DeepSpeed.
    hidden, layers, _, _, inner, vocabulary, params = shape
    trained = 64 * layers * (9 * hidden + 3 * inner)
    if "emb" in row["method"]:
        trained += 2 * vocabulary * hidden
    options = {key: value for key, value in options.items() if key != "study"}
    options |= {"trainable-params": trained, "precision": "bf16-only", "foreach": True}
    return (*shape[:-1], params + trained), options, 0


def series():
    """Peaks of one setup at three lengths of sequence: Qwen's README, full and with adapters."""
    found = {}
    with open(DATA / "memory_points/memory_points.csv", newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            known = row["source"].startswith("Qwen/README") and row["peak_mem"]
            if known and row["model"] in MODELS:
                key = f"{row['model']} {row['method']} on {row['n_gpus']}"
                found.setdefault(key, []).append(row)
    for key, rows in found.items():
        points = []
        for row in sorted(rows, key=lambda row: int(row["seq_len"])):
            options, stage, figure, unit = qwen(row)
            shape = SHAPES[MODELS[row["model"]]]
            if not row["method"].startswith("Full"):
                shape, options, stage = adapters(row, shape, options)
            predicted = estimate(shape, options, stage)[figure]
            points.append((int(row["seq_len"]), predicted, float(row["peak_mem"]) * unit))
        if len(points) == 3:
            yield key, points


def calibrated(points, first, second, asked):
    """The error at one point once two others are measured, as model/memory/peak.cpp does it: a line
    through them; beyond them the model, if they are level where it rises, and above it."""
    (x1, p1, y1), (x2, _, y2) = points[first], points[second]
    x, _, y = points[asked]
    slope = (y2 - y1) / (x2 - x1)
    last_x, last_p, _ = points[-1]
    prior = (last_p - p1) / (last_x - x1)
    if asked > second and 2 * slope < prior and p1 + prior * (x2 - x1) <= y2:
        return max(p1 + prior * (x - x1), y2) / y - 1
    return (y1 + slope * (x - x1)) / y - 1


def tell(title, errors):
    if errors:
        print(f"{title:44} {len(errors):3} rows  median {100 * statistics.median(errors):5.1f} %"
              f"  90th percentile {100 * quantile(errors, 0.9):5.1f} %")


def main():
    if not (DATA / "memory_points/memory_points.csv").exists():
        print(f"skipped: no measurements in SLURMTUNE_DATA_DIR={DATA}")
        return 125
    rows = [*memory_points(), *galvatron()]
    print(f"{'source':10} {'row':16} {'what':64} {'predicted':>9} {'measured':>9}  error")
    for source, key, label, predicted, measured in rows:
        print(f"{source:10} {key:16} {label:64} {predicted / GIB:9.2f} "
              f"{measured / GIB:9.2f} {100 * (predicted / measured - 1):+6.1f} %")
    print()
    points = [row for row in rows if row[0] != "galvatron"]
    for title, some in (("trainers' peaks, uncalibrated", points),
                        ("galvatron, uncalibrated", [r for r in rows if r[0] == "galvatron"]),
                        ("all, uncalibrated", rows)):
        tell(title, [abs(x / y - 1) for *_, x, y in some])
    print("\none length of three from the other two, by a line")
    between, beyond = [], []
    for key, points in series():
        inside, outside = calibrated(points, 0, 2, 1), calibrated(points, 0, 1, 2)
        between.append(abs(inside))
        beyond.append(abs(outside))
        print(f"{key:36} the middle {100 * inside:+6.1f} %   "
              f"the longest {100 * outside:+6.1f} %")
    # The model was not built with peaks of adapters in view, nor with any of Qwen-14B.
    found = dict(series())
    for title, words in (("adapters on one GPU, uncalibrated", ("LoRA on 1", "LoRA (emb) on 1")),
                         ("of these, Qwen-14B", ("14B LoRA on 1", "14B LoRA (emb) on 1"))):
        tell(title, [abs(predicted / measured - 1) for key, points in found.items()
                     if key.endswith(words) and "Q-LoRA" not in key
                     for _, predicted, measured in points])
    for source in SETUPS:
        tell(f"uncalibrated, {source}",
             [abs(x / y - 1) for name, *_, x, y in rows if name == source])
    tell("calibrated on two points, between them", between)
    tell("calibrated on two points, four times beyond", beyond)
    return 0


if __name__ == "__main__":
    sys.exit(main())
