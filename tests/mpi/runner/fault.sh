#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# fault.sh CASE   one of two ranks of a trial that really does what CASE says, for
# fault_matrix_test.cpp
set -u
case=$1
cd "$SLURMTUNE_WORK" || exit 1

# train ARGUMENT…   becomes minitrain. Under `torch` nobody starts MPI: each rank trains for itself.
train() {
    [ "$RANK" = 0 ] || unset SLURMTUNE_METRICS
    exec minitrain --deepspeed_config "$config" --layers 2 --hidden 16 --input 8 --sequence 4 \
        --steps 1000000 --step-delay-ms 20 "$@"
}

# write_config LR KEYS
write_config() {
    config=$SLURMTUNE_WORK/config.$RANK.json
    echo "{\"train_micro_batch_size_per_gpu\":4,\"gradient_accumulation_steps\":2,
        \"optimizer\":{\"type\":\"Adam\",\"params\":{\"lr\":$1}},
        \"steps_per_print\":1$2}" > "$config"
}

# python LINE…   rank 1 runs the lines after two steps; rank 0 makes its steps and waits for rank 1
python() {
    exec python3 -u -c '
import json, os, socket, sys, time
rank = int(os.environ["RANK"])
address = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
def step(number):
    time.sleep(0.02)
    with open(os.environ["SLURMTUNE_METRICS"], "a") as metrics:
        metrics.write(json.dumps({"step": number, "step_s": 0.02, "loss": 1.5}) + "\n")
def wait_for_peer():
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen()
        listener.accept()[0].recv(1)
if rank == 0:
    step(1)
    step(2)
    wait_for_peer()
else:
    time.sleep(0.3)
    exec(sys.argv[1])
' "$(printf '%s\n' "$@")"
}

write_config 0.001 ""
case $case in
ok*) train ;;
gpu_oom) train --memory-limit 64KiB ;;
host_oom)
    ulimit -v 400000
    python 'blocks = []' 'while True: blocks.append(bytearray(16 << 20))'
    ;;
nan)
    write_config 1e38 ""
    train
    ;;
timeout) train --step-delay-ms 700 ;;
hang) python 'sys.exit(0)' ;; # without the word that rank 0 waits for
config_error_flag) train --no-such-flag ;;
config_error_batch)
    write_config 0.001 ',"train_batch_size":7'
    train
    ;;
launch_error_module) exec python3 -c 'import no_such_module_of_ours' ;;
launch_error_program) exec no-such-trainer --deepspeed ;;
crashed_signal) python 'import ctypes' 'ctypes.string_at(0)' ;;
crashed_abort) python 'os.abort()' ;;
crashed_exit) python 'sys.exit("rank 1 has had enough")' ;;
storage_error) python 'f = open("/dev/full", "w")' 'f.write("x")' 'f.flush()' ;;
waits*) train --step-delay-ms 100 ;;
lingers) train --step-delay-ms 400 ;;
*)
    echo "fault.sh: no case '$case'" >&2
    exit 2
    ;;
esac
