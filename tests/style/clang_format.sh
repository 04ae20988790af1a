#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Every C++ and CUDA source is as clang-format writes it (`make fmt` mends it).
set -euo pipefail
cd "$(dirname "$0")/../.."

mapfile -t files < <(find src tests examples -type f \
    \( -name '*.cpp' -o -name '*.hpp' -o -name '*.cu' -o -name '*.cuh' \) | LC_ALL=C sort)
[ ${#files[@]} -gt 0 ] || { echo "no sources found in $PWD" >&2; exit 1; }
if ! complaints=$(clang-format --dry-run --Werror "${files[@]}" 2>&1); then
    echo "not as clang-format writes them (make fmt):"
    sed -n 's/^\([^: ]*\):[0-9]*:[0-9]*: error:.*/  \1/p' <<< "$complaints" | sort | uniq -c
    exit 1
fi
echo "${#files[@]} files, as clang-format writes them"
