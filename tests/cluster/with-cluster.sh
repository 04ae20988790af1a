#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# with-cluster.sh COMMAND…
#
# Runs COMMAND with SLURM_CONF, PATH and Open MPI's settings for the test cluster: the one that
# CTest's fixture brought up (SLURMTUNE_CLUSTER_RECORD names the file with its directory), or else,
# and with SLURMTUNE_OWN_CLUSTER=1, a new one for this command alone. COMMAND finds the cluster's
# directory in SLURMTUNE_CLUSTER_DIR, cluster.sh in SLURMTUNE_CLUSTER_SH and our programs
# (SLURMTUNE_BIN_DIR) in PATH.
set -euo pipefail
export PATH=$PATH:/usr/sbin:/sbin
here=$(cd "$(dirname "$0")" && pwd)

[ $# -gt 0 ] || { sed -n '4,10s/^# \{0,1\}//p' "$0"; exit 2; }

# What a surrounding job left in the environment belongs to another cluster.
foreign='^(SLURM_|SLURMD_|SBATCH_|SALLOC_|SQUEUE_|PMIX_|PMI_)'
for name in $(compgen -e | grep -E "$foreign" || true); do unset "$name"; done

record=${SLURMTUNE_CLUSTER_RECORD:-}
if [ -z "$record" ] || [ "${SLURMTUNE_OWN_CLUSTER:-}" = 1 ]; then
    own=${record:-$(mktemp /tmp/slurmtune-record.XXXXXX)}
    record=$own
    trap '"$here/fixture.sh" down "$own"; rm -f "$own"' EXIT
    trap 'exit 130' INT TERM
    "$here/fixture.sh" up "$record" >&2
fi
. "$here/../support/skip.sh"
[ -s "$record" ] || skip cluster "there is no test cluster (see the test cluster_up)"
SLURMTUNE_CLUSTER_DIR=$(cat "$record")
export SLURMTUNE_CLUSTER_DIR SLURMTUNE_CLUSTER_SH=$here/cluster.sh
settings=$("$here/cluster.sh" env "$SLURMTUNE_CLUSTER_DIR")
eval "$settings"
[ -z "${SLURMTUNE_BIN_DIR:-}" ] || export PATH=$SLURMTUNE_BIN_DIR:$PATH

# Not exec: the trap above has to outlive the command.
"$@"
