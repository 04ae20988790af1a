#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# A line that starts a training with `deepspeed`, typed behind `slurmtune tune --`: real DeepSpeed
# is tuned on this machine without a study file, and the winner's command trains.
set -euo pipefail
. "$SLURMTUNE_SOURCE_DIR/tests/support/skip.sh"
. "$SLURMTUNE_SOURCE_DIR/scripts/deepspeed-version.sh"

bin=$deepspeed_environment/bin
need_modules deepspeed "$bin/python3" deepspeed

place=$(mktemp -d "${TMPDIR:-/tmp}/slurmtune-launch.XXXXXX")
trap 'rm -rf "$place"' EXIT
cd "$place"
cp "$SLURMTUNE_SOURCE_DIR"/examples/deepspeed-tiny/*.py .
cat > ds.json << 'END'
{
  "train_micro_batch_size_per_gpu": [1, 4],
  "zero_optimization": {
    "stage": 1, "reduce_bucket_size": 1000000, "allgather_bucket_size": 1000000
  },
  "optimizer": {"type": "Adam", "params": {"lr": 0.001, "torch_adam": true}}
}
END
export DS_ACCELERATOR=cpu DS_BUILD_OPS=0 OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=1
tune=("$SLURMTUNE_BIN_DIR/slurmtune" tune --submit local --dir study)
line=("$bin/deepspeed" --autotuning tune --num_gpus 2 --master_port 29511 train.py
    --steps 100000 --deepspeed_config=ds.json)
"${tune[@]}" -- "${line[@]}" | tee said
grep -q 'processes_per_node  *2 .*--num_gpus 2' said
grep -q -- '--master_port 29511 is left out' said
grep -q 'z1_gas1_tmbspg4' said
grep -q '^command = \[$' study-train.toml
grep -q '"--local_rank={local_rank}"' study-train.toml

# The same line again finds the study finished. The winner's command trains, with its ranks'
# numbers.
"${tune[@]}" -- "${line[@]}" > again
grep -q 'z1_gas1_tmbspg4' again
grep -q 'LOCAL_RANK}' study/best/cmd_optimal.sh
sed 's/--steps 100000/--steps 3/' study/best/cmd_optimal.sh > three_steps.sh
bash three_steps.sh
