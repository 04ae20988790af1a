#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What slurmtune says and writes, compared with the files in expected/.

    golden.py SUITE     plans, scripts, help, results, bad-input or bad-calls

Paths, ids and hashes are replaced by names first. A golden file that is missing fails the test;
with SLURMTUNE_BLESS=1 the files are written instead (make bless), and their diff is the review.
"""

import difflib
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
EXPECTED = HERE / "expected"
PROGRAM = Path(os.environ["SLURMTUNE_BIN_DIR"]) / "slurmtune"
BLESS = os.environ.get("SLURMTUNE_BLESS") == "1"
COMMANDS = ["plan", "submit", "tune", "run", "status", "report", "resume", "cancel", "reduce",
            "schema"]
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


class Suite:
    """Collects what differs; leaves nothing behind."""

    def __init__(self, name):
        self.name = name
        self.failures = []
        self.seen = set()
        self.root = Path(tempfile.mkdtemp(prefix="slurmtune-golden.")).resolve()
        # A batch system that is there, and that nobody asks for anything.
        self.path = self.root / "path"
        self.path.mkdir()
        for tool in ("sbatch", "squeue", "scancel", "scontrol", "sacct"):
            fake = self.path / tool
            fake.write_text("#!/bin/sh\n[ \"$1\" = --version ] && echo slurm 22.05.8 && exit 0\n"
                            "echo \"$0 was called: $*\" >&2\nexit 1\n")
            fake.chmod(0o700)

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        shutil.rmtree(self.root, ignore_errors=True)

    def run(self, args, cwd, path=None):
        environment = {"PATH": f"{path or self.path}:/usr/bin:/bin", "HOME": str(self.root),
                       "LC_ALL": "C", "SLURMTUNE_SLURM_CLIENT": "commands"}
        return subprocess.run([str(PROGRAM), *args], cwd=cwd, env=environment, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=60,
                              check=False)

    def done(self, args, cwd, code=0):
        """Standard output of a call that ends with `code` and has no complaints."""
        result = self.run(args, cwd)
        if result.returncode != code or result.stderr:
            self.fail(f"slurmtune {' '.join(args)}: exit code {result.returncode}, not {code}; "
                      f"standard error: {result.stderr}")
        return result.stdout

    def fail(self, what):
        self.failures.append(what)

    def normal(self, text):
        text = re.sub(r"\.draft\.\d+", ".draft.PID", text)
        text = text.replace(str(self.root), "/TMP")
        for uuid in sorted(set(UUID.findall(text))):
            text = text.replace(uuid, "STUDY-ID").replace(f"st-{uuid[:8]}-", "st-STUDY8-")
        text = re.sub(r"\bst-[0-9a-f]{8}-", "st-STUDY8-", text)
        return re.sub(r"sha256:[0-9a-f]{64}", "sha256:HASH", text)

    def compare(self, name, text):
        text = self.normal(text)
        path = EXPECTED / self.name / name
        self.seen.add(path)
        if BLESS:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            return
        if not path.exists():
            self.fail(f"{path} is missing; make bless writes it")
            return
        golden = path.read_text()
        if golden != text:
            diff = difflib.unified_diff(golden.splitlines(), text.splitlines(), str(path), "now",
                                        lineterm="")
            self.fail("\n".join(diff) or f"{path}: the line ends differ")

    def end(self):
        stale = set((EXPECTED / self.name).rglob("*.*")) - self.seen
        for path in sorted(stale):
            if BLESS:
                path.unlink()
            else:
                self.fail(f"{path}: no test makes this file any more")
        for failure in self.failures:
            print(failure)
        print(f"{self.name}: {len(self.seen)} golden files, {len(self.failures)} failures")
        return 1 if self.failures or not self.seen else 0

    def copy(self, study):
        """A directory of its own with a study's files."""
        place = self.root / study.name
        shutil.copytree(study, place)
        return place


def studies():
    return sorted(path for path in (HERE / "studies").iterdir() if (path / "study.toml").exists())


def tree(root):
    """Every path below `root` with its contents: equal before and after means untouched."""
    listing = {}
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        if path.is_dir():
            listing[name] = "dir"
        elif path.parent.name == "bin":  # our own programs: too large to be read each time
            listing[name] = (path.stat().st_size, path.stat().st_mtime_ns)
        else:
            listing[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return listing


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


def submit_scripts(suite, study):
    """A study whose scripts are written and not submitted; where it is, and what was said."""
    place = suite.copy(study)
    said = suite.done(["submit", "study.toml", "--submit", "scripts", "--dir", "out"], place)
    return place / "out", said


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


# --- Results: a machine in Python writes the verdicts that a runner would have written. ---


def interval(middle, width=0.004):
    return {"low": middle * (1 - width), "mid": middle, "high": middle * (1 + width)}


def deepspeed_machine(values, repeat):
    """Seconds a step, samples and peak bytes of a configuration; or the words of its failure."""
    stage = values["zero_stage"]
    micro = values["micro_batch"]
    accumulation = values.get("gradient_accumulation", 2)
    peak = {0: 27e9, 1: 9e9, 2: 7e9, 3: 5e9}[stage] + micro * 2.2e9
    if peak > 40e9:
        return None, "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"
    fixed = {0: 0.020, 1: 0.022, 2: 0.027, 3: 0.060}[stage]
    step = accumulation * (fixed + micro * 0.010) * (1 + 0.001 * repeat)
    return {"step_s": step, "samples": micro * accumulation * 8, "peak": peak}, None


def grid_machine(values, repeat):
    if values["block"] == 32 and values["overlap"]:
        return None, "stencil: block 32 does not divide the halo"
    step = 3.2 / values["block"] + (0.02 if values.get("overlap") else 0.05)
    step /= values.get("depth", 1) ** 0.1
    return {"step_s": step * (1 + 0.001 * repeat), "samples": None, "peak": None}, None


def refusing_machine(_values, _repeat):
    return None, "KeyError: 'optimizer'"


def verdict_of(experiment, machine, outcome, second):
    figures, words = machine(experiment["values"], experiment["repeat"])
    at = f"2026-11-30T21:{second // 60:02}:{second % 60:02}.000Z"
    verdict = {"type": "verdict", "experiment": experiment["experiment"],
               "configuration": experiment["configuration"],
               "attempt": experiment.get("attempt", 0), "outcome": "ok", "reason": "max_steps",
               "evidence": None, "lane": 0, "nodes": ["n1", "n2"], "started": at, "ended": at,
               "startup_s": 20.0, "wall_s": 40.0,
               "steps": {"warmup": 2, "measured": 20, "skipped": 0, "step_s": []}, "metrics": {},
               "hardware": {"gpu": "made up", "gpu_bytes": 40e9, "driver": ""},
               "source": "deepspeed"}
    if words:
        log = f"logs/{experiment['experiment']}.log"
        verdict.update(outcome=outcome, reason="rule:golden",
                       evidence={"rank": 3, "node": "n2", "exit": 1, "signal": None, "log": log,
                                 "line": words})
        return verdict
    verdict["metrics"]["step_s"] = interval(figures["step_s"])
    if figures["samples"]:
        verdict["metrics"]["global_batch"] = figures["samples"]
        verdict["metrics"]["throughput"] = interval(figures["samples"] / figures["step_s"])
    if figures["peak"]:
        verdict["metrics"]["peak_gpu_bytes"] = figures["peak"]
    return verdict


def run_stage(place, stage, machine, outcome):
    """Writes one closed shard a slice."""
    lines = (stage / "manifest.jsonl").read_text().splitlines()
    header, experiments = json.loads(lines[0]), [json.loads(line) for line in lines[1:]]
    for number, (first, end) in enumerate(header["slices"]):
        start = {"format": "slurmtune.verdict", "version": 1, "type": "task_start",
                 "study": header["study"], "stage": header["stage"], "slice": number,
                 "array_job": 4711, "task": number, "restart": 0, "nodes": ["n1", "n2"],
                 "allocated_nodes": 2, "gpus": 8, "at": "2026-11-30T21:00:00.000Z",
                 "ends_by": None, "runner": "0.1.0"}
        shard = [start]
        shard += [verdict_of(experiment, machine, outcome, 10 + i)
                  for i, experiment in enumerate(experiments[first:end])]
        shard.append({"type": "task_end", "at": "2026-11-30T21:10:00.000Z", "reason": "done",
                      "node_seconds": 90 * (end - first)})
        path = stage / "verdicts" / f"4711_{number}.0.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in shard))


def run_study(suite, place, machine, outcome):
    """Stage after stage, as far as the reducers release them."""
    stages = [stage["stage"] for stage in json.loads((place / "plan.json").read_text())["stages"]]
    for number, name in enumerate(stages):
        stage = place / "stages" / name
        if not (stage / "manifest.jsonl").exists():
            continue
        if number == 1:
            suite.compare(f"{place.parent.name}/status-midway.txt",
                          suite.done(["status", str(place)], suite.root))
        run_stage(place, stage, machine, outcome)
        result = suite.run(["reduce", str(place), "--stage", name], suite.root)
        if result.returncode != 0:
            suite.fail(f"reduce --stage {name}: {result.stderr}")
            return
    result = suite.run(["reduce", str(place), "--stage", "final"], suite.root)
    if result.returncode != 0:
        suite.fail(f"reduce --stage final: {result.stderr}")


def results(suite):
    cases = [("deepspeed", deepspeed_machine, "gpu_oom", 0),
             ("grid", grid_machine, "config_error", 0),
             ("constant-batch", refusing_machine, "config_error", 1)]
    for name, machine, outcome, code in cases:
        place, _ = submit_scripts(suite, HERE / "studies" / name)
        run_study(suite, place, machine, outcome)
        calls = {"report.txt": ["report"], "report.json": ["report", "--json"],
                 "status.txt": ["status"], "status.json": ["status", "--json"]}
        for file, call in calls.items():
            wanted = code if call[0] == "report" else 0
            said = suite.done([call[0], str(place), *call[1:]], suite.root, wanted)
            suite.compare(f"{name}/{file}", said)
        for path in sorted([*(place / "best").iterdir(), place / "results.csv"]):
            suite.compare(f"{name}/{path.name}", path.read_text())
        # Rebuilding changes nothing: the derived files are functions of the study.
        before = tree(place)
        suite.run(["reduce", str(place), "--stage", "final"], suite.root)
        if tree(place) != before:
            suite.fail(f"{name}: a second final changed the study")


# --- Bad input: exit code 2, one message on standard error, nothing left behind. ---


def refused(suite, args, cwd, label):
    """Standard error of a call that has to be refused."""
    before = tree(suite.root)
    result = suite.run(args, cwd)
    problems = []
    if result.returncode != 2:
        problems.append(f"exit code {result.returncode}, not 2")
    if result.stdout:
        problems.append(f"it says on standard output: {result.stdout}")
    if not result.stderr.startswith("slurmtune: ") or result.stderr.count("\n") != 1:
        problems.append(f"not one message: {result.stderr!r}")
    if tree(suite.root) != before:
        changed = set(tree(suite.root).items()) ^ set(before.items())
        problems.append(f"it left behind {sorted({name for name, _ in changed})}")
    for problem in problems:
        suite.fail(f"{label}: slurmtune {' '.join(args)}: {problem}")
    return result.stderr


def bad_input(suite):
    cases = sorted(path for path in (HERE / "bad-input").iterdir() if path.is_dir())
    if len(cases) < 30:
        suite.fail(f"only {len(cases)} bad studies found")
    for case in cases:
        place = suite.copy(case)
        expected = case / "expected.txt"
        (place / "expected.txt").unlink(missing_ok=True)
        submit = ["submit", "study.toml", "--submit", "scripts", "--dir", "out"]
        texts = {refused(suite, args, place, case.name)
                 for args in (["plan", "study.toml", "--submit", "scripts"], submit)}
        suite.seen.add(expected)
        if len(texts) != 1:
            suite.fail(f"{case.name}: plan and submit say different things: {texts}")
            continue
        message = suite.normal(texts.pop()).removeprefix("slurmtune: ")
        if BLESS:
            expected.write_text(message)
        elif not expected.exists() or expected.read_text() != message:
            golden = expected.read_text() if expected.exists() else "(no file)"
            suite.fail(f"{case.name}:\n  expected {golden}  got      {message}")
        shutil.rmtree(place)


def bad_call_places(suite):
    """Directories and files that the bad calls stumble over."""
    place = suite.copy(HERE / "studies" / "grid")
    (place / "empty").mkdir()
    (place / "full").mkdir()
    (place / "full" / "thesis.tex").write_text("mine\n")
    (place / "file").write_text("a file in the way\n")
    (place / "empty.toml").write_text("")
    text = (HERE / "studies" / "deepspeed" / "study.toml").read_text()
    (place / "no-config.toml").write_text(text)
    (place / "no-site.toml").write_text((place / "study.toml").read_text() +
                                        "\n[slurm]\nsite = \"perlmuter\"\n")
    (place / "other.toml").write_text((place / "study.toml").read_text() + "\n[budget]\n"
                                      "max_node_hours = 90.0\n")
    suite.done(["submit", "study.toml", "--submit", "scripts", "--dir", "study"], place)
    return place


SCRIPTS = ["--submit", "scripts"]
BAD_CALLS = {
    "no-command": [],
    "unknown-command": ["plna", "study.toml"],
    "unknown-flag": ["plan", "study.toml", "--jsno"],
    "no-study-given": ["plan"],
    "two-studies": ["plan", "study.toml", "other.toml"],
    "unknown-submit-word": ["submit", "study.toml", "--submit", "grpah"],
    "missing-study": ["plan", "nowhere.toml"],
    "missing-study-submit": ["submit", "nowhere.toml", *SCRIPTS, "--dir", "new"],
    "directory-as-study": ["plan", "empty"],
    "empty-study": ["plan", "empty.toml"],
    "missing-ds-config": ["submit", "no-config.toml", *SCRIPTS, "--dir", "new"],
    "unknown-site": ["submit", "no-site.toml", *SCRIPTS, "--dir", "new"],
    "unknown-site-flag": ["plan", "study.toml", "--site", "frontire"],
    "missing-site-file": ["plan", "study.toml", "--site", "sites/mine.toml"],
    "file-in-the-way": ["submit", "study.toml", *SCRIPTS, "--dir", "file"],
    "file-above": ["submit", "study.toml", *SCRIPTS, "--dir", "file/below"],
    "read-only-place": ["submit", "study.toml", *SCRIPTS, "--dir", "/proc/slurmtune-study"],
    "no-such-place": ["submit", "study.toml", *SCRIPTS, "--dir", "not/here/yet"],
    "place-holds-something": ["submit", "study.toml", *SCRIPTS, "--dir", "full"],
    "place-holds-another-study": ["submit", "other.toml", *SCRIPTS, "--dir", "study"],
    "submit-locally": ["submit", "study.toml", "--submit", "local", "--dir", "new"],
    "tune-scripts": ["tune", "study.toml", *SCRIPTS, "--dir", "new"],
    "run": ["run", "study.toml"],
    "status-of-nothing": ["status", "nowhere"],
    "status-of-no-study": ["status", "full"],
    "status-of-a-file": ["status", "study.toml"],
    "report-of-no-study": ["report", "empty"],
    "resume-of-no-study": ["resume", "empty"],
    "cancel-of-no-study": ["cancel", "empty"],
    "reduce-unknown-stage": ["reduce", "study", "--stage", "09-nothing"],
    "reduce-without-stage": ["reduce", "study"],
    "reduce-of-no-study": ["reduce", "empty", "--stage", "final"],
    "unknown-schema": ["schema", "studdy"],
    "log-file-nowhere": ["--log-file", "/proc/no/log", "plan", "study.toml"],
}


def bad_calls(suite):
    place = bad_call_places(suite)
    text = ""
    for label, args in BAD_CALLS.items():
        said = refused(suite, args, place, label)
        text += f"$ slurmtune {' '.join(args)}\n{said}\n"
    suite.compare("bad-calls.txt", text)


SUITES = {"plans": plans, "scripts": scripts, "help": help_texts, "results": results,
          "bad-input": bad_input, "bad-calls": bad_calls}


def main():
    if len(sys.argv) != 2 or sys.argv[1] not in SUITES:
        sys.exit(f"usage: golden.py {'|'.join(SUITES)}")
    with Suite(sys.argv[1]) as suite:
        SUITES[sys.argv[1]](suite)
        return suite.end()


if __name__ == "__main__":
    sys.exit(main())
