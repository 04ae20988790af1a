#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# test.sh [CTEST ARGUMENT…]
#
# Installs what is missing, builds, and runs all tests but those of make bench and make campaign.
# Ends with "N passed, N failed, N skipped" and exit code 0 only if none failed. Arguments go to
# ctest: `scripts/test.sh -L unit`.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/steps.sh
case ${1:-} in -h | --help) sed -n '4,8s/^# \{0,1\}//p' "$0"; exit 0 ;; esac

step "install"
scripts/install-deps.sh build test

build_release all -- -D SLURMTUNE_TESTS=ON -D SLURMTUNE_HEADER_CHECK=ON

# However the tests end, no cluster of theirs outlives them.
clusters_down() {
    local record
    for record in build/release/cluster_dir*; do tests/cluster/fixture.sh down "$record"; done
}
trap clusters_down EXIT
trap 'exit 130' INT TERM

step "test"
result=build/release/ctest.xml
rm -f "$result"
# A job or a trial inherits this, and so is known as ours.
export SLURMTUNE_TEST_RUN=$$-$RANDOM
ctest_exit=0
# What needs the machine for itself runs alone; what mostly waits runs beside it.
ctest --test-dir build/release -j3 --output-on-failure --no-tests=error \
    --output-junit "$PWD/$result" -LE '^(bench|campaign)$' "$@" || ctest_exit=$?

step "processes left behind"
leftover_exit=0
tests/support/leftovers.py "$SLURMTUNE_TEST_RUN" "$PWD/build/release" || leftover_exit=$?

step_end
echo
echo "all of it took $(total)"
scripts/ctest_summary.py "$result" --ctest-exit "$ctest_exit" --leftovers-exit "$leftover_exit"
