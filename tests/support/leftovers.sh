#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# leftovers.sh MARK BUILD_DIRECTORY
#
# Lists processes that tests left behind; exits 1 if there are any after a few seconds' grace. A
# process is the tests' if MARK is its SLURMTUNE_TEST_RUN, if its program is in BUILD_DIRECTORY, or
# if it holds a file of the test cluster open (Slurm's daemons overwrite their environment). This
# script, its parents and its children are not among them.
set -euo pipefail

mark=$1 build=$2

own() { # pids of this script's parents
    local pid=$$
    while [ "$pid" -gt 1 ]; do
        echo "$pid"
        pid=$(awk '/^PPid:/ { print $2 }' "/proc/$pid/status" 2> /dev/null) || return 0
    done
}

cluster=''
[ ! -s "$build/cluster_dir" ] || cluster=$(cat "$build/cluster_dir")

is_ours() { # /proc/PID
    grep -qsz "^SLURMTUNE_TEST_RUN=$mark\$" "$1/environ" && return 0
    [[ $(readlink "$1/exe" 2> /dev/null) == "$build"/* ]] && return 0
    [ -n "$cluster" ] && find "$1/fd" -lname "$cluster/*" 2> /dev/null | grep -q .
}

candidates() {
    local proc
    for proc in /proc/[0-9]*; do
        if is_ours "$proc"; then echo "${proc#/proc/}"; fi
    done
}

list() {
    local pid
    for pid in $(comm -23 <(candidates | sort) <(own | sort)); do
        # The subshells of this very function are gone by now.
        [ -d "/proc/$pid" ] && ps -o pid=,ppid=,etime=,args= -p "$pid"
    done
    return 0
}

for _ in $(seq 20); do
    found=$(list)
    [ -n "$found" ] || { echo "none"; exit 0; }
    sleep 0.25
done
echo "$found"
exit 1
