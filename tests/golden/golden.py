#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What slurmtune says and writes, compared with the files in expected/.

    golden.py SUITE     plans, scripts, launches, help, results, bad-input or bad-calls

Paths, ids and hashes are replaced by names first. A golden file that is missing fails the test;
with SLURMTUNE_BLESS=1 the files are written instead (make bless), and their diff is the review.
"""

import re
import subprocess
import sys

from golden_launches import launches
from golden_refusals import bad_calls, bad_input
from golden_results import results
from golden_suite import Suite, studies, submit_scripts, tree

COMMANDS = ["plan", "submit", "tune", "run", "status", "report", "resume", "cancel", "probe",
            "reduce", "schema"]


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


SUITES = {"plans": plans, "scripts": scripts, "launches": launches, "help": help_texts,
          "results": results, "bad-input": bad_input, "bad-calls": bad_calls}


def main():
    if len(sys.argv) != 2 or sys.argv[1] not in SUITES:
        sys.exit(f"usage: golden.py {'|'.join(SUITES)}")
    with Suite(sys.argv[1]) as suite:
        SUITES[sys.argv[1]](suite)
        return suite.end()


if __name__ == "__main__":
    sys.exit(main())
