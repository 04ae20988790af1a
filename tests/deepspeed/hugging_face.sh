#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Hugging Face's Trainer under real DeepSpeed, started as people start it: by `deepspeed` and by
# `accelerate launch`, with a config full of "auto". No study file, no network.
set -euo pipefail
. "$SLURMTUNE_SOURCE_DIR/tests/support/skip.sh"
. "$SLURMTUNE_SOURCE_DIR/scripts/deepspeed-version.sh"

bin=$trainer_environment/bin
need_modules trainer "$bin/python3" transformers accelerate deepspeed

place=$(mktemp -d "${TMPDIR:-/tmp}/slurmtune-trainer.XXXXXX")
trap 'rm -rf "$place"' EXIT
cd "$place"
cp "$SLURMTUNE_SOURCE_DIR/examples/deepspeed-tiny/gloo_collectives.py" .
cp "$SLURMTUNE_SOURCE_DIR/tests/deepspeed/hugging_face_train.py" train.py
cat > ds_config.json << 'END'
{
  "train_batch_size": "auto",
  "train_micro_batch_size_per_gpu": "auto",
  "gradient_accumulation_steps": "auto",
  "gradient_clipping": "auto",
  "optimizer": {
    "type": "AdamW",
    "params": {"lr": "auto", "betas": "auto", "eps": "auto", "weight_decay": "auto",
               "torch_adam": true}
  },
  "scheduler": {
    "type": "WarmupLR",
    "params": {"warmup_min_lr": "auto", "warmup_max_lr": "auto", "warmup_num_steps": "auto"}
  },
  "zero_optimization": {
    "stage": 2,
    "allgather_bucket_size": 1000000,
    "reduce_bucket_size": "auto"
  },
  "autotuning": {"enabled": true, "min_train_micro_batch_size_per_gpu": 2,
                 "max_train_micro_batch_size_per_gpu": 3},
  "steps_per_print": 2000
}
END
export DS_ACCELERATOR=cpu DS_BUILD_OPS=0 OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=1
export HF_HUB_OFFLINE=1 TOKENIZERS_PARALLELISM=false
arguments=(--output_dir out --per_device_train_batch_size 2 --gradient_accumulation_steps 2
    --learning_rate 3e-4 --max_grad_norm 0.5 --max_steps 3 --save_strategy no --report_to none)

# check DIR: what was measured, and what DeepSpeed's engine said of itself
check() {
    "$bin/python3" - "$1" << 'END'
import json, pathlib, re, sys

study = pathlib.Path(sys.argv[1])
seen = set()
for shard in sorted(study.glob("stages/*/verdicts/*.jsonl")):
    for verdict in map(json.loads, shard.read_text().splitlines()):
        if verdict["type"] != "verdict":
            continue
        assert verdict["outcome"] == "ok" and verdict["source"] == "hf", verdict
        # Lines of several ranks, or of the log between the bar's, would be steps too many.
        assert verdict["steps"]["measured"] >= 8, verdict
        assert verdict["metrics"]["step_s"]["mid"] > 0.001, verdict
        stage = shard.parent.parent
        logs = list((stage / "logs").glob(verdict["experiment"] + ".log"))
        assert len(logs) == 1, verdict["experiment"]
        told = re.findall(r"engine (\{.*\})", logs[0].read_text(errors="replace"))
        manifest = [json.loads(line) for line in
                    (stage / "manifest.jsonl").read_text().splitlines()[1:]]
        values = next(one["values"] for one in manifest
                      if one["experiment"] == verdict["experiment"])
        work = stage / "work" / verdict["experiment"]
        command = (work / "command.txt").read_text()
        assert re.search(rf"--per_device_train_batch_size {values['micro_batch']}\b", command)
        assert "--gradient_accumulation_steps 2" in command and "--max_steps 1000000" in command
        config = json.loads((work / "ds_config.json").read_text())
        assert config["train_micro_batch_size_per_gpu"] == values["micro_batch"], config
        if not told:  # only the baseline's log and the confirmations' are kept whole
            continue
        engine = json.loads(told[0])
        seen.add(values["micro_batch"])
        assert engine == {
            "micro_batch": values["micro_batch"], "accumulation": 2,
            "global_batch": 4 * values["micro_batch"], "stage": 2, "clipping": 0.5,
            "lr": 3e-4, "reduce_bucket": 64 * 64}, engine
        assert verdict["metrics"]["global_batch"] == engine["global_batch"], verdict
assert 2 in seen, "the baseline's engine said nothing"
best = json.loads((study / "best/ds_config_optimal.json").read_text())
assert "autotuning" not in best and best["gradient_clipping"] == "auto", best
assert best["zero_optimization"]["reduce_bucket_size"] == "auto", best
print(f"{study}: engines of micro-batch {sorted(seen)} agree")
END
}

# train DIR: the winner's command trains, with the user's three steps, on a port that no other
# test's does
train() {
    rm -rf out
    sed 's/=29500/=29518/' "$1/best/cmd_optimal.sh" > train.sh
    bash train.sh 2>&1 | tee trained
    grep -q "'train_loss'" trained
    grep -q '3/3' trained
}

tune=("$SLURMTUNE_BIN_DIR/slurmtune" tune --submit local)
"${tune[@]}" --dir by_deepspeed -- "$bin/deepspeed" --num_gpus 2 train.py \
    --deepspeed ds_config.json "${arguments[@]}" | tee said
grep -q 'steps  *hf ' said
grep -q -- '--per_device_train_batch_size and --gradient_accumulation_steps agree' said
check by_deepspeed
train by_deepspeed

# accelerate gives the config to the Trainer by a variable.
sed -i 's/"max_train_micro_batch_size_per_gpu": 3/"max_train_micro_batch_size_per_gpu": 2/' \
    ds_config.json
"${tune[@]}" --dir by_accelerate --name by-accelerate -- "$bin/accelerate" launch \
    --num_processes 2 --use_deepspeed --deepspeed_config_file ds_config.json train.py \
    "${arguments[@]}" 2>&1 | tee said
if grep -q 'has no {ds_config}' said; then exit 1; fi
check by_accelerate
train by_accelerate
