#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# trial.sh MODE [ARGUMENT…]   one rank of a trial that behaves, or misbehaves, as MODE says.
#
# The scripts in single quotes are for another shell.
# shellcheck disable=SC2016

# report STEP [LOSS]   rank 0 tells that a step ended
report() {
    [ "${RANK:-0}" = 0 ] || return 0
    echo "{\"step\":$1,\"step_s\":0.05,\"samples\":16,\"loss\":${2:-1.5}}" >> "$SLURMTUNE_METRICS"
}

# steps FIRST LAST [LOSS]
steps() {
    local step
    for ((step = $1; step <= $2; ++step)); do
        sleep 0.02
        report "$step" "${3:-1.5}"
    done
}

for_ever() { while :; do sleep 1; done; }

fail_on_rank_1() {
    if [ "${RANK:-0}" = 1 ]; then
        sleep 0.5
        eval "$1"
    fi
    for_ever
}

case $1 in
good) steps 1 1000 ;;
short) steps 1 6 ;;
single) steps 1 1 ;;
no_steps) echo "trained without a word" ;;
crash_on_rank_1) steps 1 2 && fail_on_rank_1 'echo "ValueError: rank 1 is unhappy" >&2; exit 3' ;;
signal_on_rank_1) steps 1 2 && fail_on_rank_1 'kill -SEGV $$' ;;
oom_on_rank_1)
    steps 1 2
    fail_on_rank_1 'echo "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried 2 GiB" >&2; exit 1'
    ;;
oom_words)
    echo "torch.cuda.OutOfMemoryError: CUDA out of memory. Caught, using a smaller batch"
    steps 1 7
    exit 0
    ;;
hang) steps 1 2 && for_ever ;;
silent) for_ever ;;
stubborn)
    trap '' TERM INT HUP
    steps 1 2
    for_ever
    ;;
slow) # steps go on, but never enough of them
    for ((step = 1; ; ++step)); do
        sleep 0.5
        [ "$step" -gt 3 ] || report "$step"
        report 3
    done
    ;;
escape) # grandchildren in sessions of their own, which ignore what they are told
    setsid bash -c 'trap "" TERM; while :; do sleep 1; done' < /dev/null > /dev/null 2>&1 &
    (setsid bash -c 'trap "" TERM; (trap "" TERM; sleep 1000 & wait) & sleep 1000' &)
    steps 1 1000
    ;;
escape_and_exit) # they hold our output open, too
    setsid bash -c 'trap "" TERM; while :; do sleep 1; done' &
    steps 1 6
    ;;
wait_*) # a second, without work for a core
    steps 1 6
    sleep 0.9
    ;;
cores_*) # that it may run on; both lanes have one for long enough
    python3 -c 'import os; print(*os.sched_getaffinity(0))' > "$SLURMTUNE_WORK/cores"
    steps 1 6
    sleep 0.5
    ;;
too_much) # of the memory that there is
    steps 1 2
    # shellcheck disable=SC2093
    [ "${RANK:-0}" = 0 ] || exec python3 -c '
blocks = []
while True:
    blocks.append(b"x" * (8 << 20))'
    for_ever
    ;;
clan) # a family that hides in sessions of its own, none of which listens; steps when all are there
    trap '' TERM INT HUP
    here=$SLURMTUNE_WORK/clan.${RANK:-0}
    rm -f "$here".*
    setsid bash -c 'trap "" TERM INT HUP; : > "$0"; while :; do sleep 1; done' "$here.1" \
        < /dev/null > /dev/null 2>&1 &
    (setsid bash -c 'trap "" TERM INT HUP; (setsid sleep 1000 &); sleep 1000 & : > "$0"; wait' \
        "$here.2" &)
    until [ "$(find "$SLURMTUNE_WORK" -name 'clan.*' | wc -l)" = $((2 * ${WORLD_SIZE:-1})) ]; do
        sleep 0.05
    done
    steps 1 2
    for_ever
    ;;
dump) # says what it was given
    printf '%s\0' "$@" > "$SLURMTUNE_WORK/arguments.$RANK"
    env -0 > "$SLURMTUNE_WORK/environment.$RANK"
    steps 1 6
    ;;
port_taken_once | port_taken) # by another program, while it waits to begin
    echo "$MASTER_PORT" >> "$SLURMTUNE_WORK/ports"
    if [ "$1" = port_taken ] || [ "$(wc -l < "$SLURMTUNE_WORK/ports")" = 1 ]; then
        exec python3 -c '
import os, socket
for _ in range(2):  # that this binds it, too, is its mistake
    globals().setdefault("listeners", []).append(socket.socket())
    listeners[-1].bind(("127.0.0.1", int(os.environ["MASTER_PORT"])))
    listeners[-1].listen()'
    fi
    steps 1 6
    ;;
overflow)
    for ((step = 1; step <= 8; ++step)); do
        [ "${RANK:-0}" = 0 ] || continue
        echo "{\"step\":$step,\"step_s\":1e-300,\"samples\":1e300}" >> "$SLURMTUNE_METRICS"
    done
    ;;
nan) steps 1 4 && steps 5 1000 NaN ;;
refuse)
    echo "usage: train.py [--steps N]" >&2
    echo "train.py: error: argument --steps: invalid int value: 'x'" >&2
    exit 2
    ;;
no_space)
    steps 1 2
    echo "OSError: [Errno 28] No space left on device" >&2
    exit 1
    ;;
loud) # more than a pipe holds, on both streams
    head -c 300000 /dev/zero | tr '\0' 'x'
    head -c 300000 /dev/zero | tr '\0' 'y' >&2
    steps 1 1000
    ;;
ranks) # says where it is
    echo "rank=$RANK world=$WORLD_SIZE local=$LOCAL_RANK of $LOCAL_WORLD_SIZE $LOCAL_SIZE" \
        "node=$NODE_RANK addr=$MASTER_ADDR unbuffered=$PYTHONUNBUFFERED greeting=$GREETING" \
        "outer=${OUTER_RANK:-none} pwd=$PWD" >> "$SLURMTUNE_WORK/ranks"
    [ "$MASTER_PORT" -gt 0 ] || exit 1
    steps 1 6
    ;;
*)
    echo "trial.sh: no mode '$1'" >&2
    exit 2
    ;;
esac
