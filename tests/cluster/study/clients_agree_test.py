#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The same verdicts give the same decision, byte for byte, whoever asks which batch system."""

import json
import shutil
import unittest

from cluster_study import Study, StudyTest, deepspeed_study, output_of, slurmtune

STAGE = "01-profile"
NEXT = "02-frontier"


class ClientsAgree(StudyTest):
    def study_with_verdicts(self):
        """A study of which the first array has run, and nothing else."""
        run = slurmtune("submit", *self.arguments(self.write_study(deepspeed_study())),
                        "--submit", "scripts")
        self.assertEqual(run.code, 0, run.text)
        study = Study(self.place / "study")
        tasks = len(study.slices(STAGE))
        output_of("sbatch", f"--array=0-{tasks - 1}",
                  str(study.root / "stages" / STAGE / "array.sbatch"))
        self.wait_until_idle(study)
        self.assertGreater(len(study.verdicts()), 2, study.logs())
        return study

    def decide(self, study, name, submitted_as, client):
        """Reduces a copy of the study; returns decision and next manifest."""
        copy = Study(shutil.copytree(study.root, self.place / name))
        first = copy.root / "journal" / "000001.json"
        created = json.loads(first.read_text(encoding="utf-8"))
        created["submit"] = submitted_as
        first.write_text(json.dumps(created), encoding="utf-8")
        run = slurmtune("reduce", copy.root, "--stage", STAGE, SLURMTUNE_SLURM_CLIENT=client)
        self.assertEqual(run.code, 0, run.text)
        stages = copy.root / "stages"
        return ((stages / STAGE / "decision.json").read_bytes(),
                (stages / NEXT / "manifest.jsonl").read_bytes())

    def test_commands_libslurm_and_local(self):
        study = self.study_with_verdicts()
        by_commands = self.decide(study, "commands", "graph", "commands")
        self.assertIn(b'"action":"release"', by_commands[0])
        self.assertEqual(self.decide(study, "libslurm", "graph", "libslurm"), by_commands)
        self.assertEqual(self.decide(study, "local", "local", "auto"), by_commands)


if __name__ == "__main__":
    unittest.main()
