# SPDX-License-Identifier: MIT
"""The fault campaign: a small study on the test cluster, a fault at an instant that a seed chooses,
and what must hold afterwards. The tests beside this file use it; with-cluster.sh runs them.

Without SLURMTUNE_FAULT_CAMPAIGN=1 a cross-section is run: the cases named `in_ci`, one seed each.
SLURMTUNE_FAULT_SEEDS="3 7" runs those seeds instead, to repeat a case from the table."""

import functools
import itertools
import os
import random
import re
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "study"))

# pylint: disable=wrong-import-position
from cluster_study import (  # noqa: E402
    CLUSTER, PROGRAMS, QUEUE_TIMEOUT_S, SITE, Study, StudyTest, deepspeed_study, grid_study,
    json_lines, kill, output_of, queue, slurmtune)
from whole_study import WholeStudy  # noqa: E402

CAMPAIGN = os.environ.get("SLURMTUNE_FAULT_CAMPAIGN") == "1"
SEEDS = [int(word) for word in os.environ.get("SLURMTUNE_FAULT_SEEDS", "").split()]
CLUSTER_SH = os.environ["SLURMTUNE_CLUSTER_SH"]

# The baseline is not the fastest, and the slowest gives a fault time to meet a running task.
STEPS_MS = (60, 20, 300, 150)
STUDY = grid_study(STEPS_MS)
WINNER = {"step_ms": 20}
# Events of the graph of STUDY: study and plan, then intent and answer of seven jobs.
FIRST_INTENT = 3
SUBMITTED = 16
# decided, released, decided, finished
FINISHED = 20

DAEMON_TIMEOUT_S = 60
ROWS = []


def cases(in_ci=(), seeds=3, **parameters):
    """One test of each combination of the parameters' values, with `seeds` seeds. `in_ci`: the
    names of those that the cross-section runs, or True for all of them."""
    def mark(function):
        function.cases = (in_ci, seeds, parameters)
        return function
    return mark


def expand(function, name):
    """The test methods, by their names, of one function with `cases`."""
    in_ci, seeds, parameters = function.cases
    methods = {}
    for values in itertools.product(*parameters.values()):
        words = " ".join(str(value) for value in values)
        wanted = CAMPAIGN or in_ci is True or words in in_ci
        for seed in (SEEDS or range(1, (seeds if CAMPAIGN else 1) + 1)) if wanted else ():
            title = " ".join(filter(None, (name.removeprefix("test_").replace("_", " "), words)))

            def method(self, seed=seed, title=title, arguments=dict(zip(parameters, values))):
                self.title, self.seed = title, seed
                self.chance = random.Random(f"{title} {seed}")
                function(self, **arguments)
            methods[re.sub(r"\W", "_", f"{name}_{words}_seed_{seed}")] = functools.wraps(
                function)(method)
    return methods


class FaultTest(WholeStudy, StudyTest):
    """Cases of one kind of fault."""

    def __init_subclass__(cls):
        for name, function in list(vars(cls).items()):
            if hasattr(function, "cases"):
                delattr(cls, name)
                for title, method in expand(function, name).items():
                    del method.__wrapped__, method.cases
                    setattr(cls, title, method)

    def setUp(self):
        self.title, self.seed, self.outcome = self.id().rpartition(".")[2], 0, "not concluded"
        self.deeds = []  # what somebody had to do for the study
        self.began = time.monotonic()
        self.addCleanup(self.note)
        super().setUp()
        self.addCleanup(self.heal)

    def note(self):
        outcome = "FAILED" if self.has_failed() else self.outcome
        ROWS.append((self.title, self.seed, outcome, time.monotonic() - self.began))

    def skipTest(self, reason):
        self.outcome = f"skipped: {reason}"
        print(f"SKIPPED: {self.title}: {reason}", flush=True)
        super().skipTest(reason)

    def heal(self):
        """Whatever a case left: all daemons run, all nodes are up, the partitions are open."""
        cluster_sh("up")
        for change in (["NodeName=n[1-4]", "State=RESUME"], ["PartitionName=batch", "State=UP"]):
            subprocess.run(["scontrol", "update", *change], check=False, capture_output=True)
        self.wait_for(nodes_answer, "all nodes are up", DAEMON_TIMEOUT_S)

    def configure(self, **values):
        """A controller with other values in slurm.conf, until the end of the test."""
        conf = CLUSTER / "etc" / "slurm.conf"
        before = conf.read_text(encoding="utf-8")
        text = before
        for key, value in values.items():
            text, found = re.subn(rf"(?m)^{key}=.*$", f"{key}={value}", text)
            text += "" if found else f"{key}={value}\n"

        def use(content):
            cluster_sh("kill", "ctld")
            conf.write_text(content, encoding="utf-8")
            cluster_sh("start", "ctld")
            self.wait_for(nodes_answer, "all nodes are up", DAEMON_TIMEOUT_S)
            output_of("scontrol", "reconfigure")
        use(text)
        self.addCleanup(use, before)

    # --- Studies ---

    def begin(self, text=STUDY, directory="study", site="", **environment):
        """A study that was submitted."""
        run = slurmtune("submit", *self.prepare(text, directory, site), **environment)
        self.assertEqual(run.code, 0, run.text)
        return Study(self.place / directory)

    def prepare(self, text=STUDY, directory="study", site="", settle_s=1):
        """The arguments of `submit`; `site`: lines for the site file."""
        (self.place / "site.toml").write_text(SITE.format(settle_s=settle_s) + site,
                                              encoding="utf-8")
        return self.arguments(self.write_study(text), directory)

    def begin_stopped(self, event, text=STUDY, site="", **environment):
        """A study whose submitter, a child of this process, stands still after `event`."""
        command = self.launch("submit", *self.prepare(text, site=site),
                             SLURMTUNE_TEST_STOP_AFTER_EVENT=str(event), **environment)
        study = Study(self.place / "study")
        self.wait_for(lambda: command.poll() is not None or stands_still(command.pid),
                      f"the submitter stands still after event {event}")
        self.assertIsNone(command.poll())
        return study, command

    def launch(self, *arguments, **environment):
        """slurmtune in the background; it does not outlive the test."""
        with open(self.place / "said", "ab") as said:
            command = subprocess.Popen(  # pylint: disable=consider-using-with
                [PROGRAMS / "slurmtune", *arguments], env={**os.environ, **environment},
                stdin=subprocess.DEVNULL, stdout=said, stderr=said)
        self.addCleanup(end_child, command)
        return command

    def said(self):
        return (self.place / "said").read_text(encoding="utf-8", errors="replace")

    def stopped_process(self, event, study):
        """The pid of the job's process that stands still after `event`
        (SLURMTUNE_TEST_STOP_AFTER_EVENT), or None if the study ended without."""
        mark = f"SLURMTUNE_TEST_STOP_AFTER_EVENT={event}".encode()

        def find():
            for proc in Path("/proc").glob("[0-9]*"):
                try:
                    if (Path(os.readlink(proc / "exe")).name == "slurmtune"
                            and mark in (proc / "environ").read_bytes().split(b"\0")
                            and str(study.root).encode() in (proc / "cmdline").read_bytes()
                            and stands_still(int(proc.name))):
                        return int(proc.name)
                except OSError:
                    continue  # ended meanwhile
            return None
        return self.wait_for(find, f"a process stands still after event {event}", study=study)

    def wait_for_trial(self, study, stage="01-grid", trials=1):
        """Waits until so many trials of a stage have reported a step."""
        self.wait_for(
            lambda: len(list((study.root / "stages" / stage / "work").glob("*/metrics.jsonl")))
            >= trials, f"{trials} trials of {stage} run", study=study)

    def pause(self, low, high):
        """An instant that the seed chooses."""
        time.sleep(self.chance.uniform(low, high))

    def conclude(self, study, **values):
        """The study ends by itself, or after `resume` where a command said that it has to; what
        must hold does, and the winner is the right one."""
        self.wait_until_over(study)
        if not study.events("finished"):
            self.resume(study)
            self.wait_until_over(study)
            self.deeds.append("resume")
        self.outcome = ", ".join(["won", *self.deeds])
        self.assert_won(study, **(values or WINNER))
        self.assert_whole(study)

    def resume(self, study, patience_s=QUEUE_TIMEOUT_S):
        """`slurmtune resume`, again while it says that something has to be waited for."""
        end = time.monotonic() + patience_s
        while (run := slurmtune("resume", study.root)).code == 3 and time.monotonic() < end:
            time.sleep(2)
        self.assertEqual(run.code, 0, run.text + study.logs())

    def wait_until_over(self, study):
        """Nothing of the study waits or runs. A job whose dependency can never be satisfied would
        be seen here. What Slurm holds or drains is left to an administrator, who does so here."""
        def over():
            jobs = queue("%i %r")
            held = [line.split()[0] for line in jobs if "held" in line]
            if held and any(state.startswith("drain") for state in node_states()):
                self.admin("resumed nodes", "update", "NodeName=n[1-4]", "State=RESUME")
            if held:
                self.admin("released held jobs", "release", *held)
            return not jobs
        self.wait_for(over, "nothing waits or runs", 2 * QUEUE_TIMEOUT_S, study)

    def admin(self, deed, *arguments):
        subprocess.run(["scontrol", *arguments], check=False, capture_output=True)
        if deed not in self.deeds:
            self.deeds.append(deed)


# --- The cluster ---

def cluster_sh(command, *arguments):
    done = subprocess.run([CLUSTER_SH, command, CLUSTER, *arguments], text=True, check=False,
                          capture_output=True, timeout=2 * DAEMON_TIMEOUT_S)
    assert done.returncode == 0, f"cluster.sh {command} {arguments}: {done.stdout}{done.stderr}"


def node_states():
    try:
        return output_of("sinfo", "-h", "-N", "-p", "batch", "-o", "%T").split()
    except subprocess.CalledProcessError:
        return []


def nodes_answer():
    states = node_states()
    return len(states) == 4 and all(state in ("idle", "mixed", "allocated", "completing")
                                    for state in states)


def stands_still(pid):
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] == "T"


def go_on(pid):
    os.kill(pid, signal.SIGCONT)


def end_child(command):
    if command.poll() is None:
        command.kill()
    command.wait()


def tasks_of(job, states="PD,R,CG"):
    """`job_task` of each array task, in any of these states."""
    return output_of("squeue", "--noheader", "--array", f"--job={job}", f"--states={states}",
                     "--format=%i").split() if str(job) in queue("%F") else []


# --- The table ---

def table(rows):
    width = max(len(row[0]) for row in rows)
    lines = [f"{'case':{width}}  seed  seconds  outcome"]
    lines += [f"{title:{width}}  {seed:4}  {seconds:7.1f}  {outcome}"
              for title, seed, outcome, seconds in rows]
    return "\n".join(lines) + "\n"


def main():
    """Runs the tests of the file that was called, prints the table of its cases and leaves it
    beside CTest's logs."""
    program = unittest.main(exit=False)
    if ROWS:
        text = table(ROWS)
        name = Path(sys.argv[0]).name.removesuffix("_test.py")
        place = PROGRAMS.parent / "Testing" / ("faults-campaign" if CAMPAIGN else "faults")
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{name}.txt").write_text(text, encoding="utf-8")
        print(text, flush=True)
    sys.exit(not program.result.wasSuccessful())
