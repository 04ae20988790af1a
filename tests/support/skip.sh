# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Sourced by tests that need what a machine may lack.
#
#   skip WHAT REASON   ends the test as skipped (exit 125, CTest's SKIP_RETURN_CODE). In CI, where
#                      everything is installed but a GPU, and the right to make control groups
#                      (cgroup), it ends it as failed.

skip() {
    if [ "${CI:-}" = true ] && [ "$1" != gpu ] && [ "$1" != cgroup ]; then
        echo "FAILED: in CI nothing but gpu and cgroup may be skipped; $1: $2" >&2
        exit 1
    fi
    echo "SKIPPED: $1: $2"
    exit 125
}

# need_program WHAT PROGRAM…   skips unless every program is there
need_program() {
    local what=$1 program
    shift
    for program in "$@"; do
        command -v "$program" > /dev/null || skip "$what" "$program is not installed"
    done
}

# need_modules WHAT PYTHON MODULE…   skips unless that python is there and imports them all
need_modules() {
    local what=$1 python=$2 modules
    shift 2
    [ -x "$python" ] || skip "$what" "no $python; scripts/install-deps.sh test makes it"
    modules=$(IFS=,; echo "$*")
    "$python" -W ignore -c "import $modules" > /dev/null 2>&1 ||
        skip "$what" "$python cannot import $modules"
}
