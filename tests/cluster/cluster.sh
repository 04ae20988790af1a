#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# cluster.sh - a real multi-node Slurm cluster on one machine, for tests.
#
#   cluster.sh up      DIR [N]      make DIR if need be, start munged, slurmctld
#                                   and N slurmd (default 4, named n1..nN)
#   cluster.sh down    DIR          cancel all jobs, stop every daemon
#   cluster.sh destroy DIR          down, then remove DIR
#   cluster.sh status  DIR          what runs; exit 0 only if all of it does
#   cluster.sh env     DIR          shell lines to eval: exports SLURM_CONF etc.
#   cluster.sh kill    DIR WHO [SIG]  kill one daemon (ctld, dbd, munged, n1..nN);
#                                   with SIG 9 on a node its slurmstepds die as
#                                   well, as on a host that lost power
#   cluster.sh start   DIR WHO      start that daemon again
#
# Everything (keys, configuration, state, logs, sockets, pid files) lives under
# DIR. No file outside DIR is written, no system service is used, every daemon
# listens on 127.0.0.1 only (see configure.sh). Runs as root or as an ordinary user
# (then only that user can run jobs).
#
# Needs (Debian 12): slurmctld slurmd slurm-client munge;
#   ACCT=dbd as well: slurmdbd mariadb-server (brings slurm-wlm-mysql-plugin).
#   Debian builds Slurm with --enable-multiple-slurmd, hence several slurmd on
#   one host and one munged for all of them are fine.
#
# Settings from the environment, read by "up" on a new DIR and then kept:
#   CPUS=8 MEM=4000 GPUS=4   what each fake node claims to have
#   ACCT=filetxt             accounting: none | filetxt (one line per finished
#                            job in DIR/log/jobcomp.txt) | dbd (sacct works)
#   MAX_ARRAY=1001           MaxArraySize (largest array index + 1)
#   MAX_JOBS=20000           MaxJobCount (array tasks count one by one)
#   FIRST_PORT=              first of N+2 TCP ports (default: a free range)
#   DEBUG=info               log level of slurmctld and slurmd
#   EXTRA_CONF=              further lines for slurm.conf

# Unquoted expansions are lists of pids here.
# shellcheck disable=SC1091,SC2016,SC2046,SC2086,SC2174
set -u -o pipefail
umask 022
PATH=$PATH:/usr/sbin:/sbin

die() { echo "cluster.sh: $*" >&2; exit 1; }
usage() { sed -n '4,15s/^# \{0,1\}//p' "$0"; exit 2; }

[ $# -ge 2 ] || usage
CMD=$1 DIR=$2
case $DIR in /*) ;; *) DIR=$PWD/$DIR ;; esac
DIR=$(realpath -m -- "$DIR")
case $DIR in *[!A-Za-z0-9/._-]*) die "DIR may hold only letters, digits and / . _ -" ;; esac
[ "$DIR" != / ] || die "DIR must not be /"
# slurmstepd's sockets are DIR/spool/nN/nN_JOB.STEP; sun_path has 108 bytes
[ ${#DIR} -le 60 ] || die "DIR is too long for Unix socket names (60 at most)"

ETC=$DIR/etc RUN=$DIR/run LOG=$DIR/log SPOOL=$DIR/spool
export SLURM_CONF=$ETC/slurm.conf

# shellcheck source=configure.sh
. "$(dirname "$0")/configure.sh"

# --------------------------------------------------------------- processes --

# A process is known by a log file that it holds open. (Neither its command line
# nor its environment will do: slurmstepd overwrites both.)
holders() { # pattern of log file names [proc directory] -> pids
    find ${2:-/proc/[0-9]*}/fd -maxdepth 1 -lname "$LOG/$1" 2> /dev/null | cut -d/ -f3 | sort -u
}

log_of() { # name -> its log file
    case $1 in
    munged) echo munged.log ;;
    db) echo mariadb.log ;;
    dbd) echo slurmdbd.log ;;
    ctld) echo slurmctld.log ;;
    *) echo "slurmd-$1.log" ;;
    esac
}

pid_of() { # name -> pid of the running daemon, or failure
    local pid
    pid=$(cat "$RUN/$1.pid" 2> /dev/null) && [ -n "$pid" ] \
        && [ -n "$(holders "$(log_of "$1")" "/proc/$pid")" ] && echo "$pid"
}

await() { # seconds command... -> wait until the command succeeds
    local end=$(( SECONDS + $1 + 1 )); shift
    until "$@" > /dev/null 2>&1; do
        [ $SECONDS -lt $end ] || return 1
        sleep 0.05
    done
}

gone() { ! pid_of "$1" >/dev/null; }

stop() { # name [seconds] -> SIGTERM, then SIGKILL
    local pid
    pid=$(pid_of "$1") || { rm -f "$RUN/$1.pid"; return 0; }
    kill -TERM "$pid" 2> /dev/null
    if ! await "${2:-10}" gone "$1"; then
        echo "cluster.sh: $1 ($pid) ignores SIGTERM, killing it" >&2
        kill -KILL "$pid" 2> /dev/null
        await 5 gone "$1"
    fi
    rm -f "$RUN/$1.pid"
}

tree() { # pid... -> these pids and all their descendants
    ps -e -o pid=,ppid= | awk -v roots="$*" '
        { parent[$1] = $2 }
        END {
            n = split(roots, r); for (i = 1; i <= n; i++) keep[r[i]] = 1
            do { more = 0
                 for (p in parent)
                     if (!(p in keep) && (parent[p] in keep)) { keep[p] = 1; more = 1 }
            } while (more)
            for (p in keep) print p
        }'
}

kill_trees() { # pid... -> SIGKILL them with all their descendants
    [ $# -gt 0 ] && kill -KILL $(tree "$@") 2> /dev/null
    return 0
}

daemons() { # pattern of log file names -> pids of daemons, slurmstepds included
    local p
    for p in $(holders "$1"); do
        case $(cat "/proc/$p/comm" 2> /dev/null) in
        slurmd|slurmstepd|slurmctld|slurmdbd|munged|mariadbd) echo "$p" ;;
        esac
    done
}

# ------------------------------------------------------------------ daemons --

start_munged() {
    pid_of munged > /dev/null && return 0
    rm -f "$RUN/munge.socket" "$RUN/munge.socket.lock" "$RUN/munged.pid"
    munged --num-threads=4 --key-file="$ETC/munge.key" \
        --socket="$RUN/munge.socket" --pid-file="$RUN/munged.pid" \
        --log-file="$LOG/munged.log" --seed-file="$DIR/state/munged.seed" \
        < /dev/null >> "$LOG/start.log" 2>&1
    await 10 pid_of munged || die "munged did not start, see $LOG/munged.log"
}

start_db() {
    pid_of db > /dev/null && return 0
    local sock=$RUN/mysql.sock opt
    rm -f "$RUN/db.pid" "$sock"
    if [ ! -d "$DIR/db/mysql" ]; then
        rm -rf "$DIR/db"
        mariadb-install-db --no-defaults --auth-root-authentication-method=socket \
            --datadir="$DIR/db" --skip-test-db --user="$(id -un)" \
            >> "$LOG/mariadb.log" 2>&1 || die "mariadb-install-db failed, see $LOG/mariadb.log"
    fi
    opt="--innodb-buffer-pool-size=64M --innodb-flush-log-at-trx-commit=0"
    opt="$opt --innodb-lock-wait-timeout=900"
    # in the background by itself: mariadbd has no daemon mode
    setsid mariadbd --no-defaults --datadir="$DIR/db" --socket="$sock" \
        --pid-file="$RUN/db.pid" --skip-networking --user="$(id -un)" \
        --log-error="$LOG/mariadb.log" $opt < /dev/null >> "$LOG/mariadb.log" 2>&1 &
    await 30 mariadb-admin --no-defaults --socket="$sock" ping ||
        die "mariadbd did not start, see $LOG/mariadb.log"
    mariadb --no-defaults --socket="$sock" -e "CREATE DATABASE IF NOT EXISTS slurm_acct" ||
        die "cannot make the accounting database"
}

start_dbd() {
    pid_of dbd > /dev/null && return 0
    rm -f "$RUN/dbd.pid"
    # MYSQL_UNIX_PORT is the client library's default socket
    MYSQL_UNIX_PORT="$RUN/mysql.sock" slurmdbd < /dev/null >> "$LOG/start.log" 2>&1
    await 30 sacctmgr -n show cluster || die "slurmdbd did not start, see $LOG/slurmdbd.log"
}

start_ctld() {
    pid_of ctld > /dev/null && return 0
    rm -f "$RUN/ctld.pid"
    slurmctld -i < /dev/null >> "$LOG/start.log" 2>&1
    await 30 ctld_up || die "slurmctld did not start, see $LOG/slurmctld.log"
}

start_node() { # n1
    pid_of "$1" > /dev/null && return 0
    rm -f "$RUN/$1.pid"
    # As root, in UTS and mount namespaces of its own: jobs see the host name
    # n1..nN, which resolves. Open MPI names its shared memory files after the
    # host name; without, ranks of different nodes would use the same file.
    local ns=()
    [ "$NAMESPACES" = yes ] && ns=(unshare --uts --mount sh -c \
        'mount --bind "$0" /etc/hosts && hostname "$1" && shift && exec "$@"' "$ETC/hosts" "$1")
    "${ns[@]}" slurmd -N "$1" < /dev/null >> "$LOG/start.log" 2>&1
    await 20 pid_of "$1" || die "slurmd $1 did not start, see $LOG/slurmd-$1.log"
}

nodes() { local i; for ((i = 1; i <= N; i++)); do echo "n$i"; done; }

load() { [ -r "$ETC/cluster.env" ] || return 1; . "$ETC/cluster.env"; }

escaped() { # -> pids of processes of jobs that no slurmstepd knows any more
    # Without cgroups a child that was just forked can escape the signal that ends its job.
    grep -lzx "SLURM_CONF=$SLURM_CONF" /proc/[0-9]*/environ 2> /dev/null |
        xargs -r grep -lzx 'SLURMD_NODENAME=n[0-9]*' 2> /dev/null | cut -d/ -f3
}

ctld_up() { scontrol ping 2> /dev/null | grep -qi 'is UP'; }

all_ready() { # every node has registered (one that is drained by hand will do)
    [ "$(sinfo -h -N -p batch -o '%N %T' 2> /dev/null | awk '$2 !~ /[*]|down|unk/' |
        wc -l)" -eq "$N" ]
}

none_left() { [ -z "$(daemons '*')" ]; }

no_jobs() { [ -z "$(squeue -h -t R,CG,PD 2> /dev/null | head -1)" ]; }

# ----------------------------------------------------------------- commands --

add_address() { # gives a host without a network an address (of TEST-NET-1), if we may
    [ "$(id -u)" -eq 0 ] && ip addr add 192.0.2.1/32 dev lo &&
        echo "cluster.sh: added 192.0.2.1 to lo: Slurm wants an address besides 127.0.0.1" >&2 &&
        getent ahostsv4 localhost > /dev/null
}

prepare() { # N -> check what can be checked, make DIR if it is new
    local n=$1 c
    for c in munged mungekey slurmctld slurmd scontrol; do
        command -v $c > /dev/null || die "$c is missing: scripts/install-deps.sh test"
    done
    # Slurm looks names up with AI_ADDRCONFIG, as getent ahosts does: loopback
    # alone does not count as having an address
    getent ahostsv4 localhost > /dev/null || add_address ||
        die "the host has no address but 127.0.0.1; do as root: ip addr add 192.0.2.1/32 dev lo"
    if load; then
        [ -z "$n" ] || [ "$n" = "$N" ] || die "$DIR was made for $N nodes; take another DIR"
    else
        n=${n:-4}
        case $n in *[!0-9]*|0*) die "N must be a positive number" ;; esac
        configure "$n"
        load
    fi
}

up() {
    local n
    start_munged
    if [ "$ACCT" = dbd ]; then start_db; start_dbd; fi
    start_ctld
    for n in $(nodes); do start_node "$n"; done
    await 30 all_ready || { sinfo -N; die "not all nodes came up"; }
}

why() { # the last lines of the logs, for whoever has to find out
    tail -n 5 "$LOG"/*.log >&2 2> /dev/null
}

down() {
    local n p
    load || { [ -e "$DIR" ] || return 0; die "$DIR holds no cluster"; }
    if ctld_up; then
        scancel --state=PENDING --quiet --user="$(id -un)" 2> /dev/null
        scancel --full --quiet --user="$(id -un)" 2> /dev/null
        await 10 no_jobs
    fi
    for n in $(nodes); do stop "$n" & done; wait
    stop ctld
    stop dbd
    stop db 20
    stop munged
    # whatever is left: slurmstepds that are still cleaning up, or whose slurmd
    # was killed; the latter with their jobs
    await 3 none_left
    p=$(daemons "*")
    [ -z "$p" ] || { echo "cluster.sh: killing left-over processes:" $p >&2; kill_trees $p; }
    p=$(escaped)
    [ -z "$p" ] || kill -KILL $p 2> /dev/null
    rm -f "$RUN"/*.pid "$RUN"/munge.socket*
}

status() {
    local n rc=0 pid
    load || { echo "$DIR holds no cluster"; exit 1; }
    for n in munged $([ "$ACCT" = dbd ] && echo db dbd) ctld $(nodes); do
        if pid=$(pid_of "$n"); then echo "$n up (pid $pid)"; else echo "$n down"; rc=1; fi
    done
    if ctld_up; then sinfo -N -o '%N %P %t %c %m %G %E'; else rc=1; fi
    return $rc
}

kill_one() { # name signal
    local pid
    pid=$(pid_of "$1") || die "$1 does not run"
    case $1:$2 in
    n*:9|n*:KILL) kill_trees $(daemons "slurmd-$1.log") ;;
    *) kill -s "$2" "$pid" ;;
    esac
    await 15 gone "$1" || die "$1 ($pid) survived signal $2"
    rm -f "$RUN/$1.pid"
}

case $CMD in
up) prepare "${3:-}"; (up) || { why; down; exit 1; } ;;
down) down ;;
destroy) down; rm -rf -- "$DIR" ;;
status) status ;;
env)
    # for srun --mpi=pmix and for mpirun of Open MPI 4, many ranks on few cores
    load || die "$DIR holds no cluster"
    echo "export SLURM_CONF=$ETC/slurm.conf"
    echo "export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"
    echo "export OMPI_MCA_pml=ob1 OMPI_MCA_mpi_yield_when_idle=1"
    # mixed, the default, is no barrier now and then: MPI_Init dies
    echo "export SLURM_PMIX_FENCE=tree"
    echo "export OMPI_MCA_btl_tcp_if_include=lo OMPI_MCA_oob_tcp_if_include=lo"
    # shared memory between ranks only where nodes have host names of their own
    if [ "$NAMESPACES" = yes ]; then echo "export OMPI_MCA_btl=self,vader,tcp"
    else echo "export OMPI_MCA_btl=self,tcp"; fi ;;
kill|start)
    load || die "$DIR holds no cluster"
    case ${3:-} in
    ctld|dbd|munged) ;;
    n*) nodes | grep -qx -- "$3" || die "no node $3" ;;
    *) usage ;;
    esac
    if [ "$CMD" = kill ]; then kill_one "$3" "${4:-TERM}"
    else case $3 in n*) start_node "$3" ;; *) "start_$3" ;; esac; fi ;;
*) usage ;;
esac
