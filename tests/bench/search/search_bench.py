#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Strategies over measured tables: trials paid (failures, too) until one is within 5 % and 1 % of
the table's best, medians over seeds, beside the best peer's, which were measured elsewhere.

    search_bench.py [--seeds N] [--width W] [--trials N] [--strategy NAME]... [TABLE...]

SLURMTUNE_DATA_DIR holds the tables, TABLE_SEARCH is the program that plays them.
"""

import argparse
import csv
import gzip
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

SKIPPED = 125
ROLES = {"dp": "data_parallel", "tp": "tensor_parallel", "pp": "pipeline_parallel",
         "ep": "expert_parallel", "mbs": "micro_batch", "local_or_micro_batch": "micro_batch",
         "gas": "gradient_accumulation", "zero_stage": "zero_stage",
         "activation_checkpointing": "activation_checkpointing"}
WORDS_IN_ORDER = ["none", "selective", "full"]
NOT_PARAMETERS = {"status", "objective", "n_samples", "sample_stdev", "eval_cost_ms"}

# name: file, the column, whether it is to be small, what selects rows, parameters (None: all other
# columns), and the best peer's trials to within 5 % and 1 % at width 1 where they are known:
# Optuna's TPE in three forms, an XGBoost ranker in two, extra-trees, the best for each table.
KERNELS = {"convolution_A100": ("convolution_milo__A100", (135, 135)),
           "convolution_A4000": ("convolution_milo__A4000", None),
           "dedispersion_A100": ("dedispersion_milo__A100", (2, 9)),
           "pnpoly_2080": ("kt_pnpoly__RTX_2080_Ti", None),
           "pnpoly_3060": ("kt_pnpoly__RTX_3060_laptop", None),
           "pnpoly_3090": ("kt_pnpoly__RTX_3090", (33.5, 47)),
           "pnpoly_Titan": ("kt_pnpoly__RTX_Titan", None)}
LAYOUT = "nlayers nhidden nheads dp tp pp mbs gas gbs zero_stage".split()
EXPERTS = "ep pp tp compile activation_checkpointing local_or_micro_batch".split()
TABLES = {
    "HSMGP": ("moot/HSMGP_num.csv.gz", "AverageTimePerIteration-", True, {}, None, (11, 17.5)),
    "exastencils": ("moot/exastencils.csv.gz", "Performance-", True, {}, None, (64.5, 96.5)),
    **{name: (f"kernels/{file}.csv.gz", "objective", True, {}, None, mark)
       for name, (file, mark) in KERNELS.items()},
    "bigscience_181B": ("bigscience_a100/throughput.csv", "tflops_per_gpu", False,
                        {"model_b": "181"}, LAYOUT, (2, 10)),
    "bigscience_182B": ("bigscience_a100/throughput.csv", "tflops_per_gpu", False,
                        {"model_b": "182"}, LAYOUT, (3, 6)),
    "jupiter_titan": ("jupiter/qwen3_30b_a3b.csv", "tokens_per_s_per_gpu", False,
                      {"backend": "titan"}, EXPERTS, (4, 8)),
    "jupiter_megatron": ("jupiter/qwen3_30b_a3b.csv", "tokens_per_s_per_gpu", False,
                         {"backend": "megatron"}, EXPERTS, (5, 6)),
}


def is_number(word):
    try:
        float(word)
    except ValueError:
        return word == ""
    return True


def levels_of(words):
    """The levels of a column in order, and whether they are numbers."""
    different = set(words)
    if all(map(is_number, different)):
        return sorted(different, key=lambda word: float(word) if word else -1.0), True
    order = {word: place for place, word in enumerate(WORDS_IN_ORDER)}
    return sorted(different, key=lambda word: (order.get(word, len(order)), word)), False


def write_table(rows, column, minimize, names, path):
    """The text that table_search reads."""
    names = names or [name for name in rows[0] if name not in NOT_PARAMETERS and name != column]
    columns = {name: levels_of([row[name] for row in rows]) for name in names}
    columns = {name: value for name, value in columns.items() if len(value[0]) > 1}
    lines = [f"{len(columns)} {len(rows)}"]
    for name, (levels, numbers) in columns.items():
        words = [level or ("-1" if numbers else "_") for level in levels]
        lines.append(f"{name} {'number' if numbers else 'word'} {ROLES.get(name, '-')} "
                     f"{len(words)} {' '.join(words)}")
    for row in rows:
        places = " ".join(str(levels.index(row[name])) for name, (levels, _) in columns.items())
        if row["status"] == "ok":
            value = float(row[column])
            lines.append(f"{places} 1 {-value if minimize else value!r}")
        else:
            lines.append(f"{places} {2 if 'oom' in row['status'].lower() else 0} 0")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def read_rows(path, selection):
    opened = gzip.open(path, "rt") if path.suffix == ".gz" else open(path, encoding="utf-8")
    with opened as file:
        return [row for row in csv.DictReader(file)
                if all(row[name] == value for name, value in selection.items())]


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("tables", nargs="*", default=list(TABLES), metavar="TABLE")
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--width", type=int, default=1)
    parser.add_argument("--trials", type=int, default=300)
    parser.add_argument("--strategy", action="append", choices=["auto", "model", "random"])
    return parser.parse_args()


def main():
    arguments = parse()
    data = Path(os.environ.get("SLURMTUNE_DATA_DIR", "/nonexistent"))
    if not (data / "kernels").is_dir():
        print("skipped: data: SLURMTUNE_DATA_DIR holds no tables of measurements")
        return SKIPPED
    program = os.environ["TABLE_SEARCH"]
    print(f"median trials paid to within 5 % and 1 %, {arguments.seeds} seeds, "
          f"width {arguments.width}, at most {arguments.trials}")
    with tempfile.TemporaryDirectory() as place:
        for name in arguments.tables:
            file, column, minimize, selection, names, mark = TABLES[name]
            path = Path(place, name)
            write_table(read_rows(data / file, selection), column, minimize, names, path)
            peer = f"{mark[0]:>6} {mark[1]:>6}" if mark else f"{'-':>6} {'-':>6}"
            for strategy in arguments.strategy or ["auto", "random"]:
                done = subprocess.run(
                    [program, path, strategy, str(arguments.width), str(arguments.seeds),
                     str(arguments.trials)], check=True, text=True, stdout=subprocess.PIPE)
                result = json.loads(done.stdout)
                close, closer = result["trials"]
                print(f"{name:<18} {strategy:<7} {close:>6} {closer:>6}   best peer {peer}   "
                      f"slowest proposal {result['slowest_ms']} ms", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
