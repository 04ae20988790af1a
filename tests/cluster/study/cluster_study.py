# SPDX-License-Identifier: MIT
"""Whole studies on the test cluster, for the tests beside this file. Run by with-cluster.sh."""

import collections
import contextlib
import dataclasses
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCE = Path(os.environ["SLURMTUNE_SOURCE_DIR"])
PROGRAMS = Path(os.environ["SLURMTUNE_BIN_DIR"])
CLUSTER = Path(os.environ["SLURMTUNE_CLUSTER_DIR"])

# A job that the controller does not know is asked about again after half a minute.
os.environ.setdefault("SLURMTUNE_TEST_ABSENCE_PAUSE_MS", "2000")

POLL_S = 0.1
COMMAND_TIMEOUT_S = 60
QUEUE_TIMEOUT_S = 150
RETURNS_WITHIN_S = 2.0
BUSY_LOAD_PER_CORE = 2

SITE = """\
format = 1
name   = "test-cluster"
exclusive        = false
runner_launch    = ["srun", "--mpi=pmix", "--overlap", "--mem=0"]
min_task_minutes = 0
fs_settle_s      = {settle_s}
"""

MEASURE = """\
[measure]
source    = "metrics_file"
min_steps = 3
max_steps = 8
interval  = 0.2
startup_s = 20
stall_s   = {stall_s}
"""

# Steps that sleep: the machine's load hardly matters, and the fastest is known beforehand.
GRID_STUDY = """\
format = 1
name   = "sleep"
[trial]
launcher = "command"
command  = ["{trial}", "{{p:step_ms}}", "{{p:behaviour}}"]
[[parameter]]
name   = "step_ms"
type   = "ordinal"
values = {step_ms}
[[parameter]]
name   = "behaviour"
type   = "categorical"
values = {behaviours}
[objective]
minimize = "step_s"
[search]
strategy = "grid"
"""

DEEPSPEED_STUDY = """\
format = 1
name   = "sleep-zero"
[trial]
launcher = "command"
command  = {command}
[deepspeed]
config      = "ds_config.json"
fast        = true
zero_stages = [0, 1]
[batch]
micro_batch = "auto"
[model]
params = 1000
[search]
rounds = 2
width  = 3
"""

DS_CONFIG = {
    "train_batch_size": 8,
    "train_micro_batch_size_per_gpu": 1,
    "optimizer": {"type": "Adam", "params": {"lr": 0.001}},
    "zero_optimization": {"stage": 0},
}


def grid_study(step_ms=(5, 20), behaviours=("good",), stall_s=3):
    """The text of a study.toml: any pair of a step's time and a behaviour of trial.py."""
    text = GRID_STUDY.format(trial=HERE / "trial.py", step_ms=list(step_ms),
                             behaviours=json.dumps(list(behaviours)))
    return text + MEASURE.format(stall_s=stall_s)


def deepspeed_study(*failing, stall_s=3):
    """The text of a study.toml over DS_CONFIG, where ZeRO 1 with micro-batch 8 is the fastest.
    `failing`: behaviour, ZeRO stage, micro-batch and mark of trial.py."""
    command = [str(HERE / "trial.py"), "{ds_config}", *(str(word) for word in failing)]
    text = DEEPSPEED_STUDY.format(command=json.dumps(command))
    return text + MEASURE.format(stall_s=stall_s)


@dataclasses.dataclass
class Run:
    """How one command of slurmtune ended."""

    code: int
    out: str
    err: str
    wall_s: float

    @property
    def text(self):
        return f"exit code {self.code}\n{self.out}{self.err}"


def slurmtune(*arguments, program=PROGRAMS / "slurmtune", **environment):
    start = time.monotonic()
    done = subprocess.run(
        [program, *arguments], env={**os.environ, **environment}, text=True, check=False,
        capture_output=True, stdin=subprocess.DEVNULL, timeout=COMMAND_TIMEOUT_S)
    return Run(done.returncode, done.stdout, done.stderr, time.monotonic() - start)


def output_of(*argv):
    return subprocess.run(argv, text=True, check=True, capture_output=True,
                          timeout=COMMAND_TIMEOUT_S).stdout


def queue(fields="%i %j %T"):
    """Lines of squeue, pending arrays in one line each."""
    return output_of("squeue", "--noheader", "--states=PD,R,CG,CF,S,SO,ST", f"--format={fields}"
                     ).splitlines()


def json_lines(path):
    """The whole lines of a file; a torn last one is none."""
    text = path.read_text(encoding="utf-8")
    return [json.loads(line) for line in text[:text.rfind("\n") + 1].splitlines()]


class Study:
    """The directory of a study."""

    def __init__(self, root):
        self.root = Path(root)

    def events(self, kind=None):
        found = [json.loads(path.read_text(encoding="utf-8"))
                 for path in sorted((self.root / "journal").glob("[0-9]*.json"))]
        return [event for event in found if kind in (None, event["event"])]

    def jobs(self):
        """Job numbers that the journal knows, by job name."""
        return {event["name"]: event["job"] for event in self.events("submitted")}

    def job(self, name_end):
        """The job whose name ends so, for example `01-grid-r-0`."""
        found = [job for name, job in self.jobs().items() if name.endswith(name_end)]
        assert len(found) == 1, f"{name_end}: {self.jobs()}"
        return found[0]

    def stages(self):
        return sorted(path.name for path in (self.root / "stages").iterdir())

    def decision(self, stage):
        return (self.root / "stages" / stage / "decision.json").read_bytes()

    def verdicts(self):
        """All verdicts of all shards."""
        return [line for shard in sorted(self.root.glob("stages/*/verdicts/*.jsonl"))
                for line in json_lines(shard) if line["type"] == "verdict"]

    def slices(self, stage):
        return json_lines(self.root / "stages" / stage / "manifest.jsonl")[0]["slices"]

    def values(self):
        """The values of all configurations that were asked for, by their ids."""
        return {line["configuration"]: line["values"]
                for manifest in self.root.glob("stages/*/manifest.jsonl")
                for line in json_lines(manifest)[1:]}

    def outcomes(self, **wanted):
        """How the trials of the configurations with these values ended, in order of attempts."""
        values = self.values()
        found = [(line["attempt"], line["outcome"]) for line in self.verdicts()
                 if wanted.items() <= values[line["configuration"]].items()]
        return [outcome for _, outcome in sorted(found)]

    def result(self):
        run = slurmtune("report", self.root, "--json")
        return json.loads(run.out)["result"], run.code

    def logs(self):
        """What the jobs said, for messages of failed tests."""
        names = [*self.root.glob("stages/*/logs/*.out"), *self.root.glob("*.out"),
                 *self.root.glob("logs/*.out")]
        return "\n".join(f"--- {name}\n{name.read_text(encoding='utf-8', errors='replace')[-3000:]}"
                         for name in sorted(names))


class StudyTest(unittest.TestCase):
    """A test with a place for studies that every node sees, and an empty queue after it."""

    def setUp(self):
        self.place = Path(tempfile.mkdtemp(dir=CLUSTER, prefix="study."))
        (self.place / "site.toml").write_text(SITE.format(settle_s=1), encoding="utf-8")
        self.start = time.monotonic()
        self.addCleanup(self.clean_up)

    def clean_up(self):
        for job in {line.split("_")[0] for line in queue("%i")}:
            subprocess.run(["scancel", job], check=False)
        self.wait_for(lambda: not queue(), "the queue is empty", QUEUE_TIMEOUT_S)
        print(f"{self.id().rpartition('.')[2]}: {time.monotonic() - self.start:.1f} s", flush=True)
        if self.has_failed():
            print(f"left for inspection: {self.place}", flush=True)
        else:
            shutil.rmtree(self.place)

    def has_failed(self):
        """For clean-ups: this test, or a sub-test of it, has failed."""
        result = self._outcome.result
        return any(self in (test, getattr(test, "test_case", None))
                   for test, _ in result.failures + result.errors)

    # --- Studies ---

    def write_study(self, text, name="study.toml"):
        path = self.place / name
        path.write_text(text, encoding="utf-8")
        (self.place / "ds_config.json").write_text(json.dumps(DS_CONFIG), encoding="utf-8")
        return path

    def arguments(self, study_toml, directory="study"):
        return [study_toml, "--dir", self.place / directory, "--site", self.place / "site.toml"]

    def submit(self, text, directory="study", settle_s=1, **environment):
        (self.place / "site.toml").write_text(SITE.format(settle_s=settle_s), encoding="utf-8")
        run = slurmtune("submit", *self.arguments(self.write_study(text), directory),
                        **environment)
        self.assertEqual(run.code, 0, run.text)
        return Study(self.place / directory)

    def submit_in_time(self, *arguments):
        """Submits a study to `study`, within RETURNS_WITHIN_S. What the client and its sbatch
        compute is held to that always, the wall clock only where others leave us a core."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run = slurmtune("submit", *arguments)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.assertEqual(run.code, 0, run.text)
        own_s = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
        load = os.getloadavg()[0]
        print(f"submit returned after {run.wall_s:.2f} s, {own_s:.2f} s of them its own; "
              f"load {load:.1f}", flush=True)
        self.assertLess(own_s, RETURNS_WITHIN_S)
        if load < BUSY_LOAD_PER_CORE * os.cpu_count():
            self.assertLess(run.wall_s, RETURNS_WITHIN_S)
        self.assert_no_process_left()
        return Study(self.place / "study")

    @contextlib.contextmanager
    def held_queue(self):
        """Nothing starts meanwhile."""
        output_of("scontrol", "update", "PartitionName=batch", "State=DOWN")
        try:
            yield
        finally:
            output_of("scontrol", "update", "PartitionName=batch", "State=UP")

    def wait_for(self, condition, what, seconds=QUEUE_TIMEOUT_S, study=None):
        """Waits until `condition()` is true and returns what it returned."""
        end = time.monotonic() + seconds
        while not (value := condition()):
            if time.monotonic() > end:
                said = study.logs() if study else ""
                jobs = "\n".join(queue("%i %j %T %r %E"))
                self.fail(f"after {seconds} s still not: {what}\n{jobs}\n{said}")
            time.sleep(POLL_S)
        return value

    def wait_until_idle(self, study=None, seconds=QUEUE_TIMEOUT_S):
        self.wait_for(lambda: not queue("%i"), "the queue is empty", seconds, study)

    def process_with(self, variable, program):
        """The pid of a process of `program` on this cluster with `NAME=value` in its environment,
        or None. The nodes share this machine, perhaps with those of another test cluster."""
        wanted = {variable.encode(), f"SLURM_CONF={CLUSTER}/etc/slurm.conf".encode()}
        for proc in Path("/proc").glob("[0-9]*"):
            try:
                if Path(os.readlink(proc / "exe")).name != program:
                    continue
                if wanted <= set((proc / "environ").read_bytes().split(b"\0")):
                    return int(proc.name)
            except OSError:
                continue  # ended meanwhile
        return None

    # --- What must hold of every study that is over ---

    def assert_won(self, study, **values):
        result, code = study.result()
        self.assertEqual(code, 0, f"{result}\n{study.logs()}")
        for name, value in values.items():
            self.assertEqual(result["best"]["values"][name], value, study.logs())
        for name in ("cmd_optimal.sh", "summary.txt", "train_optimal.sbatch"):
            self.assertTrue((study.root / "best" / name).exists(), name)
        self.assertEqual(len(study.events("finished")), 1)
        return result

    def assert_whole_graph(self, study):
        """The queue holds array and reducer of each stage, each after the one before, and final."""
        jobs = study.jobs()
        waiting = {name: set(re.findall(r"afterany:(\d+)", dependency))
                   for name, dependency in (line.split(maxsplit=1) for line in queue("%j %E"))}
        self.assertEqual(set(waiting), set(jobs))
        stages = study.stages()
        chain = [name for stage in stages for name in jobs
                 if name.endswith((f"-{stage}-a-0", f"-{stage}-r-0"))]
        chain += [name for name in jobs if name.endswith("-final-0")]
        self.assertEqual(len(chain), 2 * len(stages) + 1, jobs)
        self.assertEqual(waiting[chain[0]], set())
        for before, after in zip(chain, chain[1:]):
            self.assertEqual(waiting[after], {str(jobs[before])}, f"{after} after {before}")

    def assert_nothing_run_twice(self, study):
        """No experiment has a second verdict after one that counts as tried."""
        tried = collections.Counter(
            line["experiment"] for line in study.verdicts()
            if line["outcome"] not in ("preempted", "node_failure", "cancelled", "not_started"))
        self.assertEqual([name for name, count in tried.items() if count > 1], [])
        return tried

    def assert_no_process_left(self):
        """Of ours on this machine, besides this test and its parents."""
        left = []
        for proc in Path("/proc").glob("[0-9]*"):
            try:
                name = Path(os.readlink(proc / "exe")).name
                inside = str(self.place).encode() in (proc / "cmdline").read_bytes()
            except OSError:
                continue
            if name.startswith(("slurmtune", "minitrain")) and inside:
                left.append(name)
        self.assertEqual(left, [])


def kill(pid):
    os.kill(pid, signal.SIGKILL)
