#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What slurmtune says and writes, compared with the files in expected/.

    golden.py SUITE     plans, scripts, sites, launches, help, estimates, spaces, results,
                        bad-input or bad-calls

Paths, ids and hashes are replaced by names first. A golden file that is missing fails the test;
with SLURMTUNE_BLESS=1 the files are written instead (make bless), and their diff is the review.
"""

import re
import subprocess
import sys
import tomllib

from golden_launches import launches
from golden_refusals import bad_calls, bad_input
from golden_results import results
from golden_suite import HERE, Suite, studies, submit_scripts, tree

COMMANDS = ["plan", "submit", "tune", "run", "status", "report", "resume", "cancel", "retry",
            "extend", "doctor", "clean", "estimate", "space", "probe", "reduce", "schema", "site"]


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


SITE_STUDY = """\
format = 1
name   = "small"
[trial]
processes_per_node = 4
command            = ["./solver", "--block", "{p:block}"]
[[parameter]]
name   = "block"
type   = "int"
values = [1, 2, 4]
[search]
strategy = "grid"
[slurm]
"""


def sites(suite):
    """What a small study asks of each site that comes with slurmtune."""
    files = sorted((HERE.parent.parent / "site-configs").glob("*.toml"))
    if len(files) < 17:
        suite.fail(f"only {len(files)} sites found")
    for file in files:
        asked = tomllib.loads(file.read_text()).get("ask", {})
        place = suite.root / file.stem
        place.mkdir()
        study = SITE_STUDY + f'site = "{file.stem}"\n'
        (place / "study.toml").write_text(study)
        submit = ["submit", "study.toml", "--submit", "scripts", "--dir", "out"]
        if asked:
            # Nothing is left behind, and the first thing that is asked for is named.
            refusal = suite.run(submit, place)
            first = next(iter(asked))
            if refusal.returncode != 2 or f"study.toml:12: the site {file.stem}" not in \
                    refusal.stderr or f'write {first} = "{asked[first]}"' not in refusal.stderr:
                suite.fail(f"{file.stem}: a study without {first} is not refused: "
                           f"{refusal.returncode} {refusal.stderr}")
        answers = "".join(f'{key} = "{example}"\n' for key, example in asked.items())
        (place / "study.toml").write_text(study + answers)
        suite.done(submit, place)
        array = next((place / "out").glob("stages/01-*/array.sbatch")).read_text()
        reducer = next((place / "out").glob("stages/01-*/reduce.sbatch")).read_text()
        def asks(script):
            return "".join(line.strip() + "\n" for line in script.splitlines()
                           if line.startswith("#SBATCH") or line.strip().startswith("launch=(srun")
                           or line.strip().startswith("launch=(ibrun"))
        suite.compare(f"{file.stem}.txt", f"{asks(array)}\nits reducer:\n{asks(reducer)}")
    # Where two jobs are too few for a graph, one job is none too many.
    place = suite.root / "two-jobs"
    place.mkdir()
    (place / "study.toml").write_text(
        SITE_STUDY + 'site = "lumi-g"\naccount = "project_1"\npartition = "dev-g"\n')
    refusal = suite.run(["plan", "study.toml", "--submit", "graph"], place)
    if refusal.returncode != 2 or 'submit = "one-job"' not in refusal.stderr:
        suite.fail(f"a graph in a queue of two jobs: {refusal.returncode} {refusal.stderr}")
    suite.done(["plan", "study.toml", "--submit", "one-job"], place)


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


def spaces(suite):
    for study in studies():
        place = suite.copy(study)
        suite.compare(f"{study.name}.txt", suite.done(["space", "study.toml"], place))
        suite.compare(f"{study.name}.json",
                      suite.done(["space", "study.toml", "--json", "--samples", "2"], place))


SUITES = {"plans": plans, "scripts": scripts, "sites": sites, "launches": launches,
          "help": help_texts, "estimates": estimates, "spaces": spaces, "results": results, "bad-input": bad_input,
          "bad-calls": bad_calls}


def main():
    if len(sys.argv) != 2 or sys.argv[1] not in SUITES:
        sys.exit(f"usage: golden.py {'|'.join(SUITES)}")
    with Suite(sys.argv[1]) as suite:
        SUITES[sys.argv[1]](suite)
        return suite.end()


if __name__ == "__main__":
    sys.exit(main())
