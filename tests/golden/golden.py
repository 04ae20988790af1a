#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What slurmtune says and writes, compared with the files in expected/.

    golden.py SUITE     plans, scripts, launches, help, estimates, results, bad-input or bad-calls

Paths, ids and hashes are replaced by names first. A golden file that is missing fails the test;
with SLURMTUNE_BLESS=1 the files are written instead (make bless), and their diff is the review.
"""

import re
import subprocess
import sys

from golden_launches import launches
from golden_refusals import bad_calls, bad_input
from golden_results import results
from golden_suite import HERE, Suite, studies, submit_scripts, tree

COMMANDS = ["plan", "submit", "tune", "run", "status", "report", "resume", "cancel", "estimate",
            "probe", "reduce", "schema"]


def plans(suite):
    for study in studies():
        place = suite.copy(study)
        args = ["plan", "study.toml", "--submit", "scripts"]
        before = tree(place)
        suite.compare(f"{study.name}.txt", suite.done(args, place))
        suite.compare(f"{study.name}.json", suite.done([*args, "--json"], place))
        suite.compare(f"{study.name}.dot", suite.done([*args, "--dot"], place))
        if tree(place) != before:
            suite.fail(f"plan of {study.name} wrote something")


def scripts(suite):
    for study in studies():
        place, said = submit_scripts(suite, study)
        suite.compare(f"{study.name}/said.txt", said)
        found = sorted(place.rglob("*.sbatch"))
        if not found:
            suite.fail(f"{study.name}: no job script was written")
        for script in found:
            syntax = subprocess.run(["bash", "-n", str(script)], capture_output=True, text=True,
                                    check=False)
            if syntax.returncode != 0:
                suite.fail(f"{script}: {syntax.stderr}")
            name = str(script.relative_to(place)).replace("stages/", "").replace("/", ".")
            suite.compare(f"{study.name}/{name}", script.read_text())
        # Nothing may look like progress before a job has run.
        names = {path.name for path in place.rglob("*.jsonl")}
        if names != {"manifest.jsonl"}:
            suite.fail(f"{study.name}: unexpected files {names}")


def help_texts(suite):
    text = suite.done(["--help"], suite.root)
    listed = set(re.findall(r"^  ([a-z]+) ", text[text.index("Subcommands:"):], re.M))
    if not set(COMMANDS) <= listed:
        suite.fail(f"--help does not list {sorted(set(COMMANDS) - listed)}")
    suite.compare("slurmtune.txt", text)
    for command in COMMANDS:
        text = suite.done([command, "--help"], suite.root)
        if "Examples:" not in text:
            suite.fail(f"{command} --help shows no example")
        suite.compare(f"{command}.txt", text)


LLAMA = ["--params", "6.74e9", "--hidden", "4096", "--layers", "32", "--heads", "32",
         "--intermediate", "11008", "--vocabulary", "32000", "--sequence", "2048"]
ESTIMATES = {
    "llama-7b": [*LLAMA, "--gpu-memory", "A100-80GB", "--processes-per-node", "8"],
    "llama-7b-checkpointing": [*LLAMA, "--gpu-memory", "80GiB", "--nodes", "2",
                               "--processes-per-node", "8", "--tensor", "2", "--checkpointing",
                               "full", "--micro-batch", "8", "--optimizer", "lion"],
    "llama-7b-lora": [*LLAMA, "--trainable-params", "4e6", "--gpu-memory", "24GiB"],
    "nothing-fits": [*LLAMA, "--gpu-memory", "V100-16GB", "--offload-optimizer", "cpu",
                     "--host-memory", "64GiB"],
    "host-is-short": [*LLAMA, "--gpu-memory", "A100-40GB", "--host-memory", "64GiB"],
    "only-the-size": ["--params", "1.5e9", "--gpu-memory", "32GiB", "--precision", "fp16",
                      "--processes-per-node", "4"],
    "config-json": ["--model", "config.json", "--sequence", "512", "--gpu-memory", "V100-32GB"],
}


def estimates(suite):
    place = suite.root / "model"
    place.mkdir()
    (place / "config.json").write_text('{"model_type": "gpt2", "n_embd": 1280, "n_layer": 36,\n'
                                       ' "n_head": 20, "n_positions": 1024, "vocab_size": 50257}\n')
    for name, args in ESTIMATES.items():
        suite.compare(f"{name}.txt", suite.done(["estimate", *args], place))
        suite.compare(f"{name}.json", suite.done(["estimate", *args, "--json"], place))
    deepspeed = suite.copy(HERE / "studies" / "deepspeed")
    suite.compare("study.txt",
                  suite.done(["estimate", "study.toml", *LLAMA, "--gpu-memory", "H100"], deepspeed))


SUITES = {"plans": plans, "scripts": scripts, "launches": launches, "help": help_texts,
          "estimates": estimates, "results": results, "bad-input": bad_input,
          "bad-calls": bad_calls}


def main():
    if len(sys.argv) != 2 or sys.argv[1] not in SUITES:
        sys.exit(f"usage: golden.py {'|'.join(SUITES)}")
    with Suite(sys.argv[1]) as suite:
        SUITES[sys.argv[1]](suite)
        return suite.end()


if __name__ == "__main__":
    sys.exit(main())
