#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A study inside one job: one that the user holds, or one that `submit` asks for. Its nodes are
kept between the stages, its lanes share them, and it comes to the same result as the graph."""

import os
import re
import signal
import subprocess
import time
import unittest

from cluster_study import PROGRAMS, Run, Study, StudyTest, grid_study, queue, slurmtune

STEPS_MS = (5, 15, 30, 50)
TUNE_TIMEOUT_S = 120


def in_allocation(nodes, *arguments, **environment):
    """`slurmtune` with these arguments inside an allocation of so many nodes."""
    words = [f"{name}={value}" for name, value in environment.items()]
    start = time.monotonic()
    done = subprocess.run(
        ["salloc", "--quiet", f"--nodes={nodes}", "--exclusive", "env", *words,
         PROGRAMS / "slurmtune", *arguments],
        text=True, check=False, capture_output=True, stdin=subprocess.DEVNULL,
        timeout=TUNE_TIMEOUT_S)
    return Run(done.returncode, done.stdout, done.stderr, time.monotonic() - start)


class OneJob(StudyTest):
    def test_same_winner_in_a_graph_an_allocation_and_one_job(self):
        study_toml = self.write_study(grid_study(STEPS_MS))
        graph = slurmtune("submit", *self.arguments(study_toml, "graph"))
        self.assertEqual(graph.code, 0, graph.text)
        self.wait_until_idle(Study(self.place / "graph"))

        # `tune` uses the allocation that it is in, without being told.
        held = in_allocation(2, "tune", *self.arguments(study_toml, "held"))
        self.assertEqual(held.code, 0, held.text)
        self.assertIn("in this allocation", held.out)

        # What salloc held may be completing still.
        self.wait_until_idle(Study(self.place / "held"))
        one = slurmtune("submit", *self.arguments(study_toml, "one"), "--submit", "one-job")
        self.assertEqual(one.code, 0, one.text)
        self.assertLessEqual(len(queue()), 1)
        self.wait_until_idle(Study(self.place / "one"))

        bests = []
        for name in ("graph", "held", "one"):
            study = Study(self.place / name)
            result = self.assert_won(study, step_ms=5)
            self.assert_nothing_run_twice(study)
            bests.append(result["best"]["configuration"])
        self.assertEqual(len(set(bests)), 1)
        # Two nodes are two lanes, and both had something to do.
        lanes = {line["lane"]: line["nodes"] for line in Study(self.place / "held").verdicts()}
        self.assertEqual(set(lanes), {0, 1})
        self.assertNotEqual(lanes[0], lanes[1])
        self.assert_no_process_left()

    def test_cancelling_the_one_job(self):
        study_toml = self.write_study(grid_study((5000, 6000), stall_s=60))
        run = slurmtune("submit", *self.arguments(study_toml), "--submit", "one-job")
        self.assertEqual(run.code, 0, run.text)
        study = Study(self.place / "study")
        self.wait_for(lambda: list(study.root.glob("stages/*/work/*/metrics.jsonl")),
                      "a trial runs", study=study)
        again = slurmtune("resume", study.root)
        self.assertIn("nothing is missing", again.out, again.text)
        status = slurmtune("status", study.root)
        self.assertEqual(status.code, 0, status.text)
        cancelled = slurmtune("cancel", study.root)
        self.assertEqual(cancelled.code, 0, cancelled.text)
        self.wait_until_idle(study, 60)
        self.assertEqual(len(study.events("finished")), 1)
        self.assert_no_process_left()

    def test_the_end_of_the_allocation_is_the_end_of_the_study(self):
        study_toml = self.write_study(grid_study((5, 5000), stall_s=60))
        soon = int(time.time()) + 120 + 8
        run = in_allocation(1, "tune", *self.arguments(study_toml), SLURM_JOB_END_TIME=soon)
        study = Study(self.place / "study")
        self.assertEqual([event["stop"] for event in study.events("finished")], ["deadline"],
                         run.text + study.logs())
        self.assertLess(run.wall_s, 60)
        self.assert_no_process_left()

    def lose_while_it_runs(self, name, lose):
        """Runs a study in an allocation, and loses it in the middle of its slow trial."""
        study_toml = self.write_study(grid_study((5, 1500), stall_s=60))
        mark = f"SLURMTUNE_TEST_PLACE={self.place}/{name}"
        held = subprocess.Popen(
            ["salloc", "--quiet", "--nodes=1", "--exclusive", "env", mark, PROGRAMS / "slurmtune",
             "tune", *self.arguments(study_toml, name)],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        study = Study(self.place / name)
        self.wait_for(lambda: any("1500" in path.read_text(encoding="utf-8")
                                  for path in study.root.glob("stages/*/work/*/command.txt")),
                      "the slow trial runs", study=study)
        lose(self.process_with(mark, "slurmtune"))
        code = held.wait(90)
        self.wait_until_idle(study)
        self.assertEqual(study.events("finished"), [], study.logs())
        self.assert_no_process_left()
        again = in_allocation(1, "resume", study.root)
        self.assertEqual(again.code, 0, again.text)
        self.assert_won(study, step_ms=5)
        self.assert_nothing_run_twice(study)
        return study, code

    def test_what_is_interrupted_goes_on_in_another_allocation(self):
        study, code = self.lose_while_it_runs(
            "interrupted", lambda pid: os.kill(pid, signal.SIGINT))
        self.assertEqual(code, 3)
        self.assertEqual(study.outcomes(step_ms=1500)[0], "preempted", study.logs())

    def test_an_allocation_that_is_cancelled_does_not_finish_the_study(self):
        def cancel(_):
            subprocess.run(["scancel", *queue("%i")], check=True)
        self.lose_while_it_runs("cancelled", cancel)

    def test_without_an_allocation(self):
        study_toml = self.write_study(grid_study())
        run = slurmtune("tune", *self.arguments(study_toml), "--submit", "allocation")
        self.assertEqual(run.code, 2, run.text)
        self.assertRegex(run.err, re.compile("there is no allocation here"))
        self.assertFalse(os.path.exists(self.place / "study"))

    def test_an_allocation_that_is_too_small(self):
        text = grid_study().replace("[trial]", "[trial]\nnodes = 2", 1)
        run = in_allocation(1, "tune", *self.arguments(self.write_study(text)))
        self.assertEqual(run.code, 2, run.text)
        self.assertIn("a trial takes 2 nodes (trial.nodes), the allocation has 1", run.err)


if __name__ == "__main__":
    unittest.main()
