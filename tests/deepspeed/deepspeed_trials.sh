#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# deepspeed_trials.sh PROGRAM
#
# Runs PROGRAM (deepspeed_trials.cpp, cluster/study/deepspeed_test.py) with the Python that has
# DeepSpeed, by scripts/install-deps.sh, or the one that SLURMTUNE_DEEPSPEED_PYTHON names.
set -euo pipefail
. "$SLURMTUNE_SOURCE_DIR/tests/support/skip.sh"
. "$SLURMTUNE_SOURCE_DIR/scripts/deepspeed-version.sh"

python=${SLURMTUNE_DEEPSPEED_PYTHON:-$deepspeed_environment/bin/python}
[ -x "$python" ] || skip deepspeed "no $python; scripts/install-deps.sh test makes it"
export SLURMTUNE_DEEPSPEED_PYTHON=$python
export DS_ACCELERATOR=cpu DS_BUILD_OPS=0 OMP_NUM_THREADS=1
version=$("$python" -W ignore -c 'import deepspeed; print(deepspeed.__version__)' 2>&1 | tail -n 1)
case $version in
[0-9]*.[0-9]*) echo "DeepSpeed $version" ;;
*) skip deepspeed "$python cannot import deepspeed: $version" ;;
esac
"$@"
