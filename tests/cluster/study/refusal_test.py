#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What Slurm refuses is told in its words; what a user ends is over."""

import unittest

from cluster_study import SITE, StudyTest, grid_study, queue, slurmtune


class Refusal(StudyTest):
    def test_partition_that_does_not_exist(self):
        site = SITE.format(settle_s=1) + 'partition = "nowhere"\n'
        (self.place / "site.toml").write_text(site, encoding="utf-8")
        study_toml = self.write_study(grid_study())
        for client in ("commands", "libslurm"):
            with self.subTest(client):
                run = slurmtune("submit", *self.arguments(study_toml, client),
                                SLURMTUNE_SLURM_CLIENT=client)
                self.assertEqual(run.code, 2, run.text)
                self.assertEqual(run.out, "")
                self.assertEqual(len(run.err.splitlines()), 1, run.err)
                self.assertRegex(run.err.lower(), "invalid partition")
                self.assertEqual(queue(), [])
                self.assertFalse((self.place / client).exists())

    def test_cancel_ends_all_jobs(self):
        study = self.submit(grid_study(behaviours=["hang"], stall_s=60))
        self.wait_for(lambda: [job for job in queue("%T") if job == "RUNNING"], "a task runs",
                      study=study)
        run = slurmtune("cancel", study.root)
        self.assertEqual(run.code, 0, run.text)
        self.wait_until_idle(study, 20)
        self.assert_no_process_left()
        result, code = study.result()
        self.assertEqual((code, result["stop"]), (1, "cancelled"))
        self.assertEqual(len(study.events("cancelled")), 1)
        self.assertEqual(len(study.events("finished")), 1)
        again = slurmtune("cancel", study.root)
        self.assertEqual(again.code, 0, again.text)


if __name__ == "__main__":
    unittest.main()
