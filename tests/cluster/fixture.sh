#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# fixture.sh up RECORD | down RECORD
#
# The cluster that the tests of one ctest run share. RECORD is a file in the build directory that
# holds the cluster's directory, which is in /tmp because its name has to be short. A cluster that
# an interrupted run left behind is taken down first. SLURMTUNE_KEEP_CLUSTER=1 keeps this one.
set -euo pipefail
PATH=$PATH:/usr/sbin:/sbin
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../support/skip.sh"

command=$1 record=$2

down() {
    local dir
    [ -s "$record" ] || return 0
    dir=$(cat "$record")
    "$here/cluster.sh" destroy "$dir" || return 1
    rm -f "$record"
}

case $command in
up)
    down
    need_program cluster munged mungekey slurmctld slurmd scontrol sbatch srun
    dir=$(mktemp -d /tmp/slurmtune-cluster.XXXXXX)
    chmod 755 "$dir" # munged wants its socket within reach of everybody
    echo "$dir" > "$record"
    "$here/cluster.sh" up "$dir" 4
    echo "four nodes in $dir"
    ;;
down)
    if [ "${SLURMTUNE_KEEP_CLUSTER:-}" = 1 ]; then
        echo "kept: $(cat "$record"); take it down with $0 down $record"
    else
        down
    fi
    ;;
*)
    sed -n '4,8s/^# \{0,1\}//p' "$0"
    exit 2
    ;;
esac
