#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A trial whose steps sleep, or that fails on purpose.

    trial.py DS_CONFIG [BEHAVIOUR ZERO_STAGE MICRO_BATCH MARK]
    trial.py STEP_MS BEHAVIOUR

In the first form a step's time follows from the ds_config (see step_ms_of); the trial with this
ZeRO stage and micro-batch behaves as BEHAVIOUR says, if MARK is no file yet (it is one then) or if
MARK is `always`. BEHAVIOUR: good, crash, hang or oom.
"""

import json
import os
import sys
import time
from pathlib import Path

STEPS = 200
FAILS_AT = 3
# The largest micro-batch that fits, by ZeRO stage.
FITS = {0: 2, 1: 8}


def report(step, step_s):
    with open(os.environ["SLURMTUNE_METRICS"], "a", encoding="utf-8") as metrics:
        metrics.write(json.dumps({"step": step, "step_s": step_s, "samples": 8}) + "\n")


def fail(behaviour):
    if behaviour == "crash":
        print("RuntimeError: the trial is broken on purpose", file=sys.stderr, flush=True)
        os.abort()
    if behaviour == "hang":
        while True:
            time.sleep(0.1)
    if behaviour == "oom":
        print("torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB",
              file=sys.stderr, flush=True)
        sys.exit(1)


def step_ms_of(zero_stage, micro_batch, accumulation):
    """Fewer and larger micro-batches are faster, a higher ZeRO stage costs a little."""
    return 4 + 6 * accumulation + 4 * zero_stage + micro_batch / 8


def read_arguments(arguments):
    """Returns the step's time in ms, and the behaviour."""
    if not arguments[0].endswith(".json"):
        return float(arguments[0]), arguments[1]
    config = json.loads(Path(arguments[0]).read_text(encoding="utf-8"))
    zero_stage = config["zero_optimization"]["stage"]
    micro_batch = config["train_micro_batch_size_per_gpu"]
    step_ms = step_ms_of(zero_stage, micro_batch, config["gradient_accumulation_steps"])
    if micro_batch > FITS[zero_stage]:
        return step_ms, "oom"
    if arguments[1:] and (zero_stage, micro_batch) == (int(arguments[2]), int(arguments[3])):
        mark = Path(arguments[4])
        if str(mark) == "always" or not mark.exists():
            if str(mark) != "always":
                mark.touch()
            return step_ms, arguments[1]
    return step_ms, "good"


def main():
    step_ms, behaviour = read_arguments(sys.argv[1:])
    for step in range(1, STEPS + 1):
        if step == FAILS_AT:
            fail(behaviour)
        time.sleep(step_ms / 1000)
        report(step, step_ms / 1000)


main()
