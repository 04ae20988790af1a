#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every key, flag, variable and file of DeepSpeed's autotuner has a row in
docs/user/from-deepspeed-autotuner.md, every defect of its code and report of its users one in
docs/user/deepspeed-autotuner-defects.md, and what a row refers to is there."""

import os
import re
import sys
from pathlib import Path

ROOT = Path(os.environ["SLURMTUNE_SOURCE_DIR"])
USER = ROOT / "docs" / "user"
MOVING = USER / "from-deepspeed-autotuner.md"
DEFECTS = USER / "deepspeed-autotuner-defects.md"

# The sources of DeepSpeed 0.19: autotuning/config.py, autotuning/constants.py, launcher/runner.py.
KEYS = """enabled fast results_dir exps_dir overwrite start_profile_step end_profile_step metric
metric_path model_info model_info_path mp_size max_train_batch_size min_train_batch_size
max_train_micro_batch_size_per_gpu min_train_micro_batch_size_per_gpu num_tuning_micro_batch_sizes
tuner_type tuner_early_stopping tuner_num_trials arg_mappings start_step end_step""".split()
CONFIG = """zero_optimization.stage train_micro_batch_size_per_gpu gradient_accumulation_steps
train_batch_size fp16 bf16 optimizer""".split()
FLAGS = """--autotuning --hostfile --include --exclude --num_nodes --num_gpus --num_accelerators
--master_addr --master_port --node_rank --launcher --launcher_args --module --no_python
--no_local_rank --no_ssh --no_ssh_check --force_multi --save_pid --enable_each_rank_log
--bind_cores_to_rank --bind_core_list --ssh_port --venv_script --log_level --quiet
--deepspeed --deepspeed_config""".split()
VARIABLES = "CUDA_VISIBLE_DEVICES DS_ENV_FILE MLFLOW_RUN_ID USER DLWS_JOB_ID DLTS_JOB_ID".split()
FILES = """<exps_dir>/<exp>.json <results_dir>/<exp>/exp.json <results_dir>/<exp>/ds_config.json
<results_dir>/<exp>/cmd.txt <results_dir>/<exp>/stdout.log <results_dir>/<exp>/metrics.json
<results_dir>/profile_model_info/model_info.json <results_dir>/summary.txt
<results_dir>/ds_config_optimal.json <results_dir>/cmd_optimal.txt""".split()
VERDICTS = {"same", "better", "no"}
DEFECT_COUNT, REPORT_COUNT = 37, 51


def rows(path):
    """The cells of every row of every table, but its head and rule."""
    lines = path.read_text(encoding="utf-8").splitlines()
    for line, after in zip(lines, [*lines[1:], ""]):
        is_table = line.startswith("| ") and not line.startswith("| ---")
        if is_table and not after.startswith("| ---"):
            yield [cell.strip() for cell in line.strip("|").split(" | ")]


def check_moving(problems):
    told = {}
    for name, verdict, how, *_ in rows(MOVING):
        if verdict not in VERDICTS or not how:
            problems.append(f"{MOVING.name}: {name}: '{verdict}' is not one of {sorted(VERDICTS)}")
        for word in re.findall(r"`([^`]+)`", name):
            told[word] = verdict
    wanted = [*KEYS, *CONFIG, *FLAGS, *VARIABLES, *FILES]
    problems += [f"{MOVING.name}: no row for {name}" for name in wanted if name not in told]
    return len(wanted)


def check_defects(problems):
    found = {number: cells for number, *cells in rows(DEFECTS)}
    wanted = [f"D{n}" for n in range(1, DEFECT_COUNT + 1)]
    wanted += [f"R{n}" for n in range(1, REPORT_COUNT + 1)]
    problems += [f"{DEFECTS.name}: no row {number}" for number in wanted
                 if len(found.get(number, [])) != 2 or not all(found[number])]
    problems += [f"{DEFECTS.name}: row {number} is of no list" for number in found
                 if number not in wanted]
    return len(wanted)


def check_references(problems, path):
    text = path.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text):
        if not (path.parent / target).exists():
            problems.append(f"{path.name}: {target} is not there")
    for target in re.findall(r"tests/[\w/.]+", text):
        if not (ROOT / target.rstrip(".")).exists():
            problems.append(f"{path.name}: {target} is not there")


def main():
    problems = []
    names = check_moving(problems)
    numbers = check_defects(problems)
    for path in (MOVING, DEFECTS):
        check_references(problems, path)
    for problem in problems:
        print(problem)
    print(f"{names} names, {numbers} numbers ({DEFECT_COUNT} defects, {REPORT_COUNT} reports), "
          f"{len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
