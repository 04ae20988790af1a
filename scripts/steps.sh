# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Sourced by the scripts beside it: steps with headings and timings, and an error that says where.

step_name='' step_began=$SECONDS script_began=$SECONDS

# step TEXT   ends the step before and begins one
step() {
    step_end
    step_name=$1 step_began=$SECONDS
    printf '\n== %s\n' "$1"
}

step_end() {
    [ -z "$step_name" ] || echo "-- $step_name: $(duration $((SECONDS - step_began)))"
    step_name=''
}

duration() { # seconds -> 75 s is 1 min 15 s
    if [ "$1" -lt 60 ]; then echo "$1 s"; else echo "$(($1 / 60)) min $(($1 % 60)) s"; fi
}

total() { duration $((SECONDS - script_began)); }

fail() {
    echo "$(basename "$0"): $*" >&2
    exit 1
}

# build_release TARGET… -- CMAKE ARGUMENT…   configures build/release and builds the targets ("all")
#
# One build directory for the demo and the tests: what the one has compiled the other need not.
build_release() {
    local targets=()
    while [ "$1" != -- ]; do
        targets+=("$1")
        shift
    done
    shift
    step "configure build/release"
    cmake --preset release "$@"
    step "build ${targets[*]} with $(nproc) jobs"
    # ccache answers for what an earlier build directory compiled already.
    if command -v ccache > /dev/null; then ccache --zero-stats > /dev/null; fi
    cmake --build build/release --parallel "$(nproc)" --target "${targets[@]}"
    if command -v ccache > /dev/null; then
        ccache --show-stats | sed -n 's/^ *\(Hits\|Misses\)/  ccache \1/p' | head -n 2
    fi
}
