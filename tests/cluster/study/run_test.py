#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""mode = "run": the training with the winner is a job of its own after `final`, launched once, and
its exit code is in the result."""

import json
import signal
import subprocess
import unittest

from cluster_study import MEASURE, PROGRAMS, Study, StudyTest, queue, slurmtune

# A trial is told where its metrics go, a training is not.
TRAINING = """#!/bin/bash
if [ -n "${SLURMTUNE_METRICS:-}" ]; then
    [ "$2" = good ] || { echo "torch.cuda.OutOfMemoryError: CUDA out of memory." >&2; exit 1; }
    for step in $(seq 1 40); do
        sleep "0.0$1"
        echo "{\\"step\\":$step,\\"step_s\\":0.0$1,\\"samples\\":8}" >> "$SLURMTUNE_METRICS"
    done
    exit 0
fi
echo "trained with $1 on ${SLURM_JOB_NUM_NODES:-this machine}" >> "$HERE/trained"
case $2 in good) ;; *) exit 9 ;; esac
if [ -e "$HERE/wait" ]; then
    trap 'echo ended >> "$HERE/trained"; exit 5' TERM
    while :; do sleep 0.2; done
fi
exit 7
"""

STUDY = """format = 1
name   = "run"
{mode}
[trial]
launcher = "command"
command  = ["{trial}", "{{p:step_ms}}", "{{p:behaviour}}"]
env      = {{ HERE = "{here}" }}
[[parameter]]
name   = "step_ms"
type   = "ordinal"
values = [10, 30]
[[parameter]]
name   = "behaviour"
type   = "categorical"
values = {behaviours}
[objective]
minimize = "step_s"
[training]
walltime_minutes = 2
"""


class RunMode(StudyTest):
    def study(self, mode='mode = "run"', behaviours=("good",)):
        trial = self.place / "training.sh"
        trial.write_text(TRAINING, encoding="utf-8")
        trial.chmod(0o700)
        text = STUDY.format(mode=mode, trial=trial, here=self.place,
                            behaviours=json.dumps(list(behaviours)))
        return self.write_study(text + MEASURE.format(stall_s=5))

    def trained(self):
        path = self.place / "trained"
        return path.read_text(encoding="utf-8").splitlines() if path.exists() else []

    def training_of(self, study):
        return json.loads(slurmtune("report", study.root, "--json").out)["training"]

    def test_the_winner_is_trained_once_as_a_job_after_final(self):
        run = slurmtune("submit", *self.arguments(self.study()))
        self.assertEqual(run.code, 0, run.text)
        study = Study(self.place / "study")
        self.assertIn("launch-0", run.out)
        self.wait_until_idle(study)
        self.assertEqual(self.trained(), ["trained with 10 on 1"], study.logs())
        training = self.training_of(study)
        self.assertEqual(training["exit_code"], 7, study.logs())
        self.assertEqual(training["job"], study.job("-launch-0"))
        report = slurmtune("report", study.root)
        self.assertIn(f"job {training['job']} ended with exit code 7", report.out)
        self.assertEqual(report.code, 1)  # a training that failed is no result
        # Nobody launches it again.
        self.assertEqual(slurmtune("resume", study.root).code, 1)
        again = slurmtune("launch", study.root)
        self.assertEqual(again.code, 3, again.text)
        self.assertIn("was begun before, by job", again.err)
        self.assertEqual(len(self.trained()), 1)

    def test_by_steps_the_last_reducer_submits_the_training(self):
        run = slurmtune("submit", *self.arguments(self.study()), "--submit", "step")
        self.assertEqual(run.code, 0, run.text)
        study = Study(self.place / "study")
        self.assertNotIn("launch", run.out)
        self.wait_until_idle(study)
        self.assertEqual(self.trained(), ["trained with 10 on 1"], study.logs())
        self.assertEqual(self.training_of(study)["job"], study.job("-launch-0"))

    def test_in_a_chain_of_jobs_the_training_has_one_of_its_own(self):
        study_toml = self.study()
        with (self.place / "study.toml").open("a", encoding="utf-8") as text:
            text.write("[slurm]\nwalltime_max_s = 600\nsubmit_jobs_max = 2\n")
        run = slurmtune("submit", *self.arguments(study_toml))
        self.assertEqual(run.code, 0, run.text)
        study = Study(self.place / "study")
        self.wait_until_idle(study)
        self.assertEqual(self.trained(), ["trained with 10 on 1"], study.logs())
        self.assertEqual(len(study.events("training_started")), 1)
        whole = [name for name in study.jobs() if "-all-" in name]
        self.assertEqual(len(whole), 2, study.logs())

    def test_where_nothing_works_nothing_is_launched(self):
        run = slurmtune("submit", *self.arguments(self.study(behaviours=["oom"])))
        self.assertEqual(run.code, 0, run.text)
        study = Study(self.place / "study")
        self.wait_until_idle(study)
        self.assertEqual(self.trained(), [])
        self.assertEqual(study.events("training_started"), [])
        self.assertIn("no configuration works", slurmtune("status", study.root).out)

    def test_cancel_ends_a_training(self):
        (self.place / "wait").touch()
        run = slurmtune("submit", *self.arguments(self.study()))
        self.assertEqual(run.code, 0, run.text)
        study = Study(self.place / "study")
        self.wait_for(self.trained, "the training runs", study=study)
        self.assertIn("runs since", slurmtune("status", study.root).out)
        cancelled = slurmtune("cancel", study.root)
        self.assertEqual(cancelled.code, 0, cancelled.text)
        self.wait_until_idle(study)
        self.assertEqual(queue(), [])

    def test_locally_in_the_foreground(self):
        study_toml = self.study(mode="")
        run = slurmtune("run", study_toml, "--dir", self.place / "study", "--submit", "local")
        study = Study(self.place / "study")
        self.assertEqual(run.code, 1, run.text)
        self.assertEqual(self.trained(), ["trained with 10 on this machine"], study.logs())
        self.assertIn("ended with exit code 7", run.out)

    def test_interrupted_locally(self):
        (self.place / "wait").touch()
        study = Study(self.place / "study")
        command = subprocess.Popen(
            [PROGRAMS / "slurmtune", "run", self.study(mode=""), "--dir", study.root, "--submit",
             "local"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.wait_for(self.trained, "the training runs", study=study)
        command.send_signal(signal.SIGINT)
        said, _ = command.communicate(timeout=30)
        self.assertEqual(self.trained()[1:], ["ended"], said)
        self.assertEqual(self.training_of(study)["exit_code"], 5, said)


if __name__ == "__main__":
    unittest.main()
