#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# demo.sh
#
# From nothing to a tuned training job on this machine, without Slurm: installs what is missing,
# builds the three programs, tunes the bundled trainer and prints the report. The study goes to a
# new directory under build/demo, or to the one that SLURMTUNE_DEMO_DIR names.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/steps.sh
case ${1:-} in -h | --help) sed -n '4,8s/^# \{0,1\}//p' "$0"; exit 0 ;; esac

study=${SLURMTUNE_DEMO_DIR:-}
if [ -z "$study" ]; then
    mkdir -p build/demo
    study=$PWD/build/demo/$(date +%Y%m%d-%H%M%S)-$$
fi
[ ! -e "$study" ] || fail "$study exists already; SLURMTUNE_DEMO_DIR has to name a new directory"

step "install"
scripts/install-deps.sh build

build_release slurmtune slurmtune-runner minitrain -- -D SLURMTUNE_TESTS=OFF

step "tune examples/minitrain/study.toml"
echo "\$ slurmtune tune examples/minitrain/study.toml --submit local --dir $study"
build/release/bin/slurmtune tune examples/minitrain/study.toml --submit local --dir "$study"

step "report"
echo "\$ slurmtune report $study"
build/release/bin/slurmtune report "$study"

step_end
echo
echo "all of it took $(total); the study is in $study"
