#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# smoke_test.sh MPI_HELLO
#
# Does the test cluster do what our own tests take for granted? Run by with-cluster.sh.
# The scripts in single quotes are for another shell.
# shellcheck disable=SC2016
set -euo pipefail

mpi_hello=$1
work=$(mktemp -d "$SLURMTUNE_CLUSTER_DIR/smoke.XXXXXX")
cd "$work"
failures=0

check() { # what, wanted, got
    if [ "$2" = "$3" ]; then
        echo "ok: $1"
    else
        printf 'FAILED: %s\n  wanted: %s\n  got:    %s\n' "$1" "$2" "$3" >&2
        failures=$((failures + 1))
    fi
}

await_end() { # seconds job… -> waits until the queue holds none of the jobs
    local end=$((SECONDS + $1)) jobs
    shift
    jobs=$(IFS=, && echo "$*")
    while [ -n "$(squeue -h -j "$jobs" -t PD,R,CG 2> /dev/null)" ]; do
        if [ $SECONDS -ge $end ]; then
            squeue -j "$jobs" >&2
            echo "FAILED: jobs are still there" >&2
            exit 1
        fi
        sleep 0.1
    done
}

submit() { # sbatch arguments… (the script on standard input) -> job id
    sbatch --parsable --chdir="$work" --open-mode=append "$@"
}

echo "-- four nodes"
check "srun runs a task on each of four nodes" "n1 n2 n3 n4" \
    "$(srun -N4 -n4 bash -c 'echo "$SLURMD_NODENAME"' | sort | paste -sd' ')"

echo "-- pretended GPUs"
check "a job that asks for two GPUs sees two" "2" \
    "$(srun -N1 -n1 --gres=gpu:2 bash -c 'tr , "\n" <<< "$CUDA_VISIBLE_DEVICES" | wc -l')"

echo "-- an array, and a job after it"
array=$(submit --array=0-3 -n1 -o 'array.%a' <<< '#!/bin/bash
sleep 0.3; echo "task $SLURM_ARRAY_TASK_ID"; exit $((SLURM_ARRAY_TASK_ID == 2))')
after=$(submit --dependency="afterany:$array" -n1 -o after <<< '#!/bin/bash
cat array.* | sort | paste -sd,')
await_end 30 "$array" "$after"
check "afterany waits for all tasks, a failed one among them" "task 0,task 1,task 2,task 3" \
    "$(cat after)"

echo "-- a reducer that cancels tasks of the next array"
held=$(submit --hold -n1 -o reduce <<< '#!/bin/bash
scancel "$(cat next)_[1-3]"')
next=$(submit --dependency="afterany:$held" --array=0-3 -n1 -o 'next.%a' <<< '#!/bin/bash
echo ran')
last=$(submit --dependency="afterany:$next" -n1 -o last <<< '#!/bin/bash
ls next.* | paste -sd,')
echo "$next" > next
scontrol release "$held"
await_end 30 "$held" "$next" "$last"
check "only the task that is left runs, then what waits for the array" "next.0" "$(cat last)"

if [ ! -x "$mpi_hello" ]; then
    echo "-- MPI: $mpi_hello was not built"
    failures=$((failures + 1))
else
    echo "-- MPI across the nodes"
    # As job scripts start the runner: with Slurm's default fence MPI_Init dies now and then.
    # Even so PMIx of Slurm 22.05 loses a start now and then, which is not what is tested here.
    for attempt in 1 2 3; do
        sum=$(SLURM_PMIX_FENCE=tree srun --mpi=pmix -N4 -n8 "$mpi_hello" | tail -n 1) || true
        [ "$sum" != "allreduce over 8 ranks: ok" ] || break
        echo "start $attempt of MPI across the nodes failed"
    done
    check "eight ranks on four nodes sum up" "allreduce over 8 ranks: ok" "$sum"

    echo "-- a step within a step"
    # The outer step is the runner's, the inner one a trial on two of its nodes: without the outer
    # step's variables, and with --mem=0 --overlap since the outer one holds all memory and CPUs.
    cat > outer.sh <<'END'
#!/bin/bash
[ "$SLURM_PROCID" = 0 ] || { sleep 3; exit 0; }
step='STEP|PROCID|LOCALID|NTASKS|NPROCS|TASKS_PER_NODE|MPI_|CPU_BIND|NODEID|GTIDS|TASK_PID'
step="$step|DISTRIBUTION|LAUNCH_|SRUN_|NNODES|JOB_NUM_NODES|UMASK|PMIX_"
for name in $(compgen -e | grep -E "^(PMIX_|PMI_|OMPI_|SLURM_($step))" | grep -v '^OMPI_MCA_'); do
    unset "$name"
done
srun --overlap --mem=0 --mpi=pmix -N2 -n4 --nodelist=n3,n4 "$1"
END
    chmod +x outer.sh
    outer=$(submit -N4 --exclusive -o outer <<< "#!/bin/bash
srun --mpi=pmix -N4 -n4 --overlap --mem=0 ./outer.sh '$mpi_hello'")
    await_end 60 "$outer"
    check "four ranks on two nodes sum up inside a step" "allreduce over 4 ranks: ok" \
        "$(tail -n 1 outer)"
    check "they ran on the nodes that were asked for" "n3 n3 n4 n4" \
        "$(sed -n 's/.* node \([^,]*\),.*/\1/p' outer | sort | paste -sd' ')"
fi

[ $failures -eq 0 ] || { echo "left for inspection: $work" >&2; exit 1; }
rm -rf "$work"
