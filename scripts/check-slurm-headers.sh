#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# check-slurm-headers.sh INCLUDE…
#
# Compiles the libslurm client against the headers of other releases of Slurm: each INCLUDE holds
# slurm/slurm.h and slurm/slurm_version.h, as an unpacked or configured source tree and an installed
# package do. Prints a line a release; fails if one does not compile. Nothing is linked or kept.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)

[ $# -gt 0 ] || { sed -n '4,8s/^# \{0,1\}//p' "$0"; exit 2; }

warnings=(-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast -Werror)
failed=0
for include in "$@"; do
    version=$include/slurm/slurm_version.h
    [ -r "$version" ] || { echo "$include: there is no slurm/slurm_version.h" >&2; exit 2; }
    release=$(sed -n 's/^#define SLURM_VERSION_STRING *"\(.*\)"/\1/p' "$version")
    said=compiles
    for source in "$here"/src/slurmtune/execute/libslurm/*.cpp; do
        if ! "${CXX:-c++}" -std=c++20 -fsyntax-only "${warnings[@]}" -DFMT_SHARED \
            -isystem "$include" -I"$here/src" "$source"; then
            said="does not compile: ${source##*/}"
            failed=1
        fi
    done
    echo "Slurm ${release:-of unknown release}: $said"
done
exit $failed
