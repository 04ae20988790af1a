#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# coverage.sh BUILD_DIRECTORY
#
# Line coverage of src/, by file, from what the last run of the tests left in the build directory.
set -euo pipefail
cd "$(dirname "$0")/.."

build=$(realpath "$1")
mapfile -t data < <(find "$build/src" -name '*.gcda')
[ ${#data[@]} -gt 0 ] || { echo "coverage.sh: no .gcda in $build/src: run its tests" >&2; exit 1; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
(cd "$work" && gcov --no-output "${data[@]}" 2> /dev/null) |
    awk -v prefix="$PWD/src/" -F"'" '
        /^File/ { file = $2; next }
        /^Lines executed:/ && index(file, prefix) == 1 && file ~ /\.cpp$/ {
            split($0, parts, /[:%]| of /)
            name = substr(file, length(prefix) + 1)
            printf "%7.1f %%  of %4d lines  %s\n", parts[2], parts[4], name
            lines += parts[4]; hit += parts[2] / 100 * parts[4]
        }
        END { if (lines) printf "%7.1f %%  of %4d lines  total\n", 100 * hit / lines, lines }' |
    sort -n
