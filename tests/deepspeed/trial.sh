#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# trial.sh CASE DS_CONFIG   one rank of examples/deepspeed-tiny in the way that CASE says
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
case $1 in
zero_*) more=(--zero "${1#zero_}") ;;
memory)
    ulimit -v 1500000 # bytes of address space / 1024; a micro-batch of 16 would fit
    more=(--zero 1 --micro_batch 96)
    ;;
slow) more=(--zero 1 --step_delay_s 0.5) ;;
*) echo "trial.sh: no case '$1'" >&2; exit 2 ;;
esac
example=$here/../../examples/deepspeed-tiny
export PYTHONDONTWRITEBYTECODE=1
exec "$SLURMTUNE_DEEPSPEED_PYTHON" "$example/train.py" \
    --deepspeed_config "$2" --steps 10000 "${more[@]}"
