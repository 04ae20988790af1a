# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# shellcheck disable=SC2154,SC2174
#
# Sourced by cluster.sh: writes the configuration of a new cluster under $DIR, once.
# Expects DIR ETC RUN LOG SPOOL, die() and the settings that cluster.sh's first lines list.

port_free() { ! (exec 3<> "/dev/tcp/127.0.0.1/$1") 2> /dev/null; }

free_ports() { # how many -> first port of a free range
    local n=$1 hash try first p
    hash=$(printf %s "$DIR" | cksum | cut -d' ' -f1)
    for try in $(seq 0 99); do
        first=$((21000 + ((hash + try * 37) % 900) * 10))
        for ((p = first; p < first + n; p++)); do port_free $p || continue 2; done
        echo $first; return 0
    done
    return 1
}

join_lines() { # words on standard input -> one line, with commas
    tr -s ' \n' ',' | sed 's/,$//'
}

configure() { # N -> write etc/ once
    local n=$1 user first range i
    local cpus=${CPUS:-8} mem=${MEM:-4000} gpus=${GPUS:-4} acct=${ACCT:-filetxt} gres=
    local ns=${NAMESPACES:-}
    user=$(id -un)
    case $acct in none|filetxt|dbd) ;; *) die "ACCT must be none, filetxt or dbd" ;; esac
    first=${FIRST_PORT:-$(free_ports $((n + 2)))} || die "no free range of ports"
    range="n[1-$n]"

    # Do not listen on 0.0.0.0. Slurm then binds to what the host's own name
    # resolves to, so this is for hosts that call themselves 127.0.0.1 only.
    local comm="# (the host's own name is not 127.x: listening on all interfaces)"
    getent ahostsv4 "$(uname -n)" 2> /dev/null | grep -q '^127\.' &&
        comm="CommunicationParameters=NoInAddrAny,NoCtldInAddrAny"

    mkdir -p "$ETC" "$RUN" "$LOG" "$SPOOL" "$DIR/state" "$DIR/tmp" || die "cannot make $DIR"
    for ((i = 1; i <= n; i++)); do
        mkdir -p "$SPOOL/n$i"
        mkdir -p -m 1777 "$DIR/tmp/n$i"
    done
    rm -f "$ETC/munge.key"
    mungekey --create --keyfile "$ETC/munge.key" || die "mungekey failed"

    # Fake GPUs. With File= each is tracked by its index (the digits that end
    # the name), so that jobs get CUDA_VISIBLE_DEVICES; without, or if the file
    # is no device, only a count is kept. A link to a device does.
    : > "$ETC/gres.conf"
    if [ "$gpus" -gt 0 ]; then
        mkdir -p "$DIR/dev"
        for ((i = 0; i < gpus; i++)); do ln -sf /dev/null "$DIR/dev/gpu$i"; done
        echo "NodeName=$range Name=gpu File=$DIR/dev/gpu[0-$((gpus - 1))]" > "$ETC/gres.conf"
        gres=Gres=gpu:$gpus
    fi

    cat > "$ETC/slurm.conf" <<EOF
ClusterName=testcluster
SlurmctldHost=localhost(127.0.0.1)
SlurmUser=$user
SlurmdUser=$user
SlurmctldPort=$first
$comm

AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket=$RUN/munge.socket,cred_expire=5

StateSaveLocation=$DIR/state
SlurmdSpoolDir=$SPOOL/%n
TmpFS=$DIR/tmp/%n
SlurmctldPidFile=$RUN/ctld.pid
SlurmdPidFile=$RUN/%n.pid
SlurmctldLogFile=$LOG/slurmctld.log
SlurmdLogFile=$LOG/slurmd-%n.log
SlurmctldDebug=${DEBUG:-info}
SlurmdDebug=${DEBUG:-info}
PlugStackConfig=/dev/null

# no cgroups, no binding: the fake nodes have more CPUs than the machine
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SlurmdParameters=config_overrides
JobAcctGatherType=jobacct_gather/none
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
PropagateResourceLimits=NONE

SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
DefMemPerCPU=16
GresTypes=gpu
PriorityType=priority/basic
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
JobRequeue=1

# low latency: the defaults wait 3 s before a batch job is tried, 60 s and 30 s
# between the passes of the main and of the backfill scheduler
SchedulerType=sched/backfill
SchedulerParameters=$(join_lines <<< "batch_sched_delay=0 sched_interval=2
    sched_min_interval=10000 default_queue_depth=1000
    bf_interval=1 bf_continue bf_max_job_test=1000")
CompleteWait=0
KillWait=3
MinJobAge=600
MaxArraySize=${MAX_ARRAY:-1001}
MaxJobCount=${MAX_JOBS:-20000}
InactiveLimit=0
MessageTimeout=10
# a node that says nothing for this long is DOWN, its jobs are requeued
SlurmctldTimeout=10
SlurmdTimeout=10

NodeName=$range NodeAddr=127.0.0.1 NodeHostname=localhost \\
  Port=$((first + 2))-$((first + 1 + n)) CPUs=$cpus Boards=1 SocketsPerBoard=1 \\
  CoresPerSocket=$cpus ThreadsPerCore=1 RealMemory=$mem TmpDisk=0 $gres State=UNKNOWN
PartitionName=debug Nodes=$range MaxTime=5 DefaultTime=5 PriorityTier=10 \\
  PreemptMode=OFF State=UP
PartitionName=batch Nodes=$range Default=YES MaxTime=24:00:00 DefaultTime=60 PriorityTier=1 \\
  PreemptMode=REQUEUE State=UP
EOF

    case $acct in
    none)
        echo "AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none" ;;
    filetxt)
        echo "AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/filetxt
JobCompLoc=$LOG/jobcomp.txt" ;;
    dbd)
        echo "AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort=$((first + 1))
# here it is not AuthInfo that names munged's socket
AccountingStoragePass=$RUN/munge.socket
JobCompType=jobcomp/none" ;;
    esac >> "$ETC/slurm.conf"
    [ -z "${EXTRA_CONF:-}" ] || printf '%s\n' "$EXTRA_CONF" >> "$ETC/slurm.conf"

    if [ "$acct" = dbd ]; then
        # slurmdbd refuses a file that others can read
        (umask 077; cat > "$ETC/slurmdbd.conf" <<EOF
AuthType=auth/munge
AuthInfo=socket=$RUN/munge.socket,cred_expire=5
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort=$((first + 1))
$comm
SlurmUser=$user
PidFile=$RUN/dbd.pid
LogFile=$LOG/slurmdbd.log
DebugLevel=${DEBUG:-info}
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=$user
StorageLoc=slurm_acct
EOF
        )
    fi
    { cat /etc/hosts; echo "127.0.0.1 $(seq -s ' ' -f 'n%g' "$n")"; } > "$ETC/hosts"
    if [ -z "$ns" ]; then
        ns=no
        unshare --uts --mount mount --bind "$ETC/hosts" /etc/hosts 2> /dev/null && ns=yes
    fi
    echo "N=$n ACCT=$acct NAMESPACES=$ns" > "$ETC/cluster.env"
}
