#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A batch system that does not answer: each command ends with an error that says so, within half a
minute, by either client. Nothing hangs, and libslurm ends no process of ours."""

import json
import os
import subprocess
import unittest

from cluster_study import CLUSTER, Study, StudyTest, grid_study, slurmtune

CLUSTER_SH = os.environ["SLURMTUNE_CLUSTER_SH"]
ENDS_WITHIN_S = 45.0  # half a minute, on a machine that does other things as well
LOOKS_WITHIN_S = 15.0  # some seconds, likewise
CLIENTS = ("commands", "libslurm", "auto")
COMMANDS = ("cancel", "resume", "submit")
# Most cells of this table wait for a time-out: all of it in the campaign, in CI a command a client.
ALL_CELLS = bool(os.environ.get("SLURMTUNE_FAULT_CAMPAIGN"))


def cluster_sh(command, who):
    subprocess.run([CLUSTER_SH, command, str(CLUSTER), who], check=True, timeout=60,
                   stdout=subprocess.DEVNULL)


class Silent(StudyTest):
    def waiting_study(self):
        """A study whose jobs are in the queue and do not run."""
        held = self.held_queue()
        held.__enter__()
        self.addCleanup(held.__exit__, None, None, None)
        run = slurmtune("submit", *self.arguments(self.write_study(grid_study())))
        self.assertEqual(run.code, 0, run.text)
        return Study(self.place / "study")

    def check(self, what, run, code, words):
        print(f"{what}: exit code {run.code} after {run.wall_s:.1f} s")
        self.assertEqual(run.code, code, f"{what}: {run.text}")
        self.assertLess(run.wall_s, ENDS_WITHIN_S, what)
        if words:
            self.assertRegex(run.err, words, what)

    def check_commands(self, fault, study, words, **environment):
        for client, own in zip(CLIENTS, COMMANDS):
            settings = {"SLURMTUNE_SLURM_CLIENT": client, **environment}
            new = f"new-{client}-{len(os.listdir(self.place))}"
            arguments = {"resume": ["resume", study.root], "cancel": ["cancel", study.root],
                         "submit": ["submit", *self.arguments(self.place / "study.toml", new)]}
            for command in COMMANDS if ALL_CELLS else (own,):
                self.check(f"{fault}, {client}: {command}",
                           slurmtune(*arguments[command], **settings), 3, words)

    def check_looks(self, fault, study, words, **environment):
        """Who only looks sees the files, and soon what could not be asked."""
        for command, code in (("status", 0), ("doctor", 1), ("report", 1)):
            run = slurmtune(command, study.root, **environment)
            print(f"{fault}: {command}: exit code {run.code} after {run.wall_s:.1f} s")
            self.assertEqual(run.code, code, run.text)
            self.assertLess(run.wall_s, LOOKS_WITHIN_S)
            if command != "report":
                self.assertRegex(run.out, words)
        run = slurmtune("status", study.root, "--json", **environment)
        self.assertRegex(json.loads(run.out)["queue_error"], words)

    def test_stopped_controller(self):
        study = self.waiting_study()
        before = len(study.events())
        cluster_sh("kill", "ctld")
        try:
            self.check_looks("controller", study, "Slurm does not answer")
            self.check_commands("controller", study, "Slurm|libslurm")
        finally:
            cluster_sh("start", "ctld")
        # That it was to be cancelled is known, and done once the controller is back.
        self.assertEqual([event["event"] for event in study.events()[before:]], ["cancelled"])
        run = slurmtune("cancel", study.root)
        self.assertEqual(run.code, 0, run.text)
        self.wait_until_idle(study)

    def test_stopped_munged(self):
        study = self.waiting_study()
        cluster_sh("kill", "munged")
        try:
            self.check_looks("munged", study, "Slurm does not answer")
            self.check_commands("munged", study, "Slurm|libslurm")
        finally:
            cluster_sh("start", "munged")
        self.assertEqual(slurmtune("cancel", study.root).code, 0)

    def test_no_configuration(self):
        study = self.waiting_study()
        self.check_looks("no slurm.conf", study, "SLURM_CONF", SLURM_CONF="/no/slurm.conf")
        self.check_commands("no slurm.conf", study, "SLURM_CONF", SLURM_CONF="/no/slurm.conf")
        broken = self.place / "slurm.conf"
        broken.write_text("ClusterName=x\nNoSuchKey=1\n", encoding="utf-8")
        self.check_commands("broken slurm.conf", study, "", SLURM_CONF=str(broken))
        self.assertEqual(slurmtune("cancel", study.root).code, 0)
        # Of a study that is over the files say all.
        for command, code in (("cancel", 0), ("resume", 1), ("report", 1), ("doctor", 0)):
            run = slurmtune(command, study.root, SLURM_CONF="/no/slurm.conf")
            self.assertEqual(run.code, code, f"{command}: {run.text}")
            self.assertLess(run.wall_s, LOOKS_WITHIN_S)


if __name__ == "__main__":
    unittest.main()
