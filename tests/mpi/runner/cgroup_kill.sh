#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# cgroup_kill.sh PROGRAM
#
# Runs PROGRAM (cgroup_kill_test.cpp) in a memory control group of 400 MB, where one can be made.
set -euo pipefail
. "$SLURMTUNE_SOURCE_DIR/tests/support/skip.sh"

path_of() { # EXPRESSION -> our control group's path, by its line of /proc/self/cgroup
    sed -n "s/^$1//p" /proc/self/cgroup
}

name=slurmtune-test.$$
limit=400000000
memory=$(path_of '[0-9]*:memory:')
if [ -n "$memory" ]; then
    group=/sys/fs/cgroup/memory$memory/$name
    limit_file=memory.limit_in_bytes
else
    group=/sys/fs/cgroup$(path_of '0::')/$name
    limit_file=memory.max
fi
mkdir "$group" 2> /dev/null || skip cgroup "no control group may be made in $(dirname "$group")"
end() { # what was in it may take a moment to go
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        rmdir "$group" 2> /dev/null && return
        sleep 0.2
    done
    echo "$group is left" >&2
}
trap end EXIT
[ -w "$group/$limit_file" ] || skip cgroup "$group has no $limit_file"
echo $limit > "$group/$limit_file"
# shellcheck disable=SC2016
bash -c 'echo $$ > "$0/cgroup.procs" && exec "$@"' "$group" "$@"
