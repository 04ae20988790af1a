#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""retry, doctor and clean of real studies, and Slurm's mail in their jobs."""

import json
import os
import re
import shlex
import subprocess
import unittest

from cluster_study import (HERE, Study, StudyTest, deepspeed_study, grid_study, output_of, queue,
                           slurmtune)

# A trial whose library is missing until MARK is there.
WRAPPER = """\
#!/bin/sh
[ -e "{mark}" ] || {{ echo "ModuleNotFoundError: No module named 'made_up'" >&2; exit 1; }}
exec "{trial}" "$@"
"""


class Commands(StudyTest):
    def broken_study(self):
        """A study whose trials all fail, and what mends them."""
        mark = self.place / "installed"
        wrapper = self.place / "wrapper.sh"
        wrapper.write_text(WRAPPER.format(mark=mark, trial=HERE / "trial.py"), encoding="utf-8")
        wrapper.chmod(0o755)
        return deepspeed_study().replace(str(HERE / "trial.py"), str(wrapper)), mark

    def doctor(self, study):
        run = slurmtune("doctor", study.root, "--json")
        found = json.loads(run.out)
        self.assertEqual(run.code, 1 if found["blocked"] else 0, run.text)
        return found

    def test_retry_and_clean(self):
        text, mark = self.broken_study()
        study = self.submit(text)
        self.wait_until_idle(study)
        result, code = study.result()
        self.assertEqual(code, 1, result)
        self.assertEqual(result["best"], None)
        stages = [path for path in study.root.glob("stages/*/decision.json")]
        decisions = {path: path.read_bytes() for path in stages}

        found = self.doctor(study)
        self.assertTrue(found["finished"])
        said = [finding for finding in found["findings"] if finding["check"] == "trials"]
        self.assertEqual(len(said), 1, found)
        self.assertIn("No module named 'made_up'", said[0]["what"])

        # Not mended: what is run again fails again, and nothing is lost by it.
        refused = slurmtune("retry", study.root, "--outcome", "ok")
        self.assertEqual(refused.code, 2, refused.text)
        mark.write_text("", encoding="utf-8")
        again = slurmtune("retry", "--failed", study.root)
        self.assertEqual(again.code, 0, again.text)
        self.assertIn("opened again", again.out)
        self.wait_until_idle(study)
        result, code = study.result()
        self.assertEqual(code, 0, f"{result}\n{study.logs()}")
        self.assertNotEqual(result["best"], None)
        self.assertEqual(len(study.events("retried")), 1)
        self.assertEqual(len(study.events("finished")), 2)
        for path, decision in decisions.items():
            self.assertEqual(path.read_bytes(), decision, path)
        measured = [line["experiment"] for line in study.verdicts() if line["outcome"] == "ok"]
        self.assertEqual(len(measured), len(set(measured)))

        nothing = slurmtune("retry", "--failed", study.root)
        self.assertIn(nothing.code, (0, 2), nothing.text)
        self.check_clean(study)

    def check_clean(self, study):
        before = slurmtune("report", study.root).out
        files = sorted(study.root.rglob("*"))
        listed = slurmtune("clean", study.root)
        self.assertEqual(listed.code, 0, listed.text)
        self.assertIn("nothing was removed", listed.out)
        self.assertEqual(sorted(study.root.rglob("*")), files)
        done = slurmtune("clean", "--force", study.root)
        self.assertEqual(done.code, 0, done.text)
        self.assertLess(len(list(study.root.rglob("*"))), len(files))
        self.assertEqual(slurmtune("report", study.root).out, before)
        everything = slurmtune("clean", "--all", "--force", study.root)
        self.assertEqual(everything.code, 0, everything.text)
        self.assertFalse(study.root.exists())

    def test_doctor_names_what_is_in_the_way(self):
        with self.held_queue():
            study = self.submit(grid_study())
            found = self.doctor(study)
            self.assertTrue(found["blocked"], found)
            self.assertIn("partition", {finding["check"] for finding in found["findings"]})
            refused = slurmtune("clean", study.root)
            self.assertEqual(refused.code, 3, refused.text)
            output_of("scontrol", "hold", str(study.job("-01-grid-a-0")))

        def held_alone():
            reasons = output_of("squeue", "--noheader", "--format=%r")
            return "JobHeld" in reasons and "PartitionDown" not in reasons

        self.wait_for(held_alone, "the array is held, and the partition up for all others")
        found = self.doctor(study)
        held = [finding for finding in found["findings"] if finding["check"] == "reason"]
        self.assertEqual(len(held), 1, found)
        # What it says is what helps. root's hold is an administrator's.
        remedy = held[0]["remedy"]
        if "release" not in remedy:
            self.assertIn("administrator", held[0]["what"])
            remedy = f"scontrol release {study.job('-01-grid-a-0')}"
        subprocess.run(shlex.split(remedy), check=True)
        self.assertFalse(self.doctor(study)["blocked"])
        self.wait_until_idle(study)
        self.assert_won(study, step_ms=5)
        self.assertFalse(self.doctor(study)["blocked"])

    def test_resume_names_the_held_job_that_it_cancels(self):
        study = self.submit(grid_study((2000, 2001)))
        array = study.job("-01-grid-a-0")
        # Also what is cut off then has a verdict.
        self.wait_for(lambda: len(list(study.root.glob("stages/*/work/*/metrics.jsonl"))) == 2,
                      "both trials run", study=study)
        subprocess.run(["scontrol", "requeuehold", f"{array}_0"], check=True)
        runs = []

        def concluded():
            runs.append(slurmtune("resume", study.root))
            return study.events("decided")

        self.wait_for(concluded, "resume concludes the stage without the held task", study=study)
        said = [run for run in runs if "cancelled" in run.out]
        self.assertEqual(len(said), 1, [run.text for run in runs])
        self.assertIn(f"job {array}", said[0].out)
        self.assertNotIn("nothing is missing", said[0].out)
        self.wait_until_idle(study)

    def test_a_link_and_a_draft_of_a_study(self):
        draft = self.place / ".study.draft.nowhere.7"
        draft.mkdir()
        (draft / "study.toml").write_text("format = 1\n", encoding="utf-8")
        os.utime(draft, (0, 0))
        run = slurmtune("submit", *self.arguments(self.write_study(grid_study())))
        self.assertEqual(run.code, 0, run.text)
        self.assertIn(f"rm -r {draft}", run.err)
        study = Study(self.place / "study")
        found = self.doctor(study)
        self.assertIn(f"rm -r {draft}", [finding["remedy"] for finding in found["findings"]])
        self.wait_until_idle(study)
        link = self.place / "link"
        link.symlink_to(study.root)
        refused = slurmtune("clean", "--all", "--force", link)
        self.assertEqual(refused.code, 2, refused.text)
        self.assertIn(str(study.root), refused.err)
        self.assertTrue(link.is_symlink() and study.root.exists())
        self.assertTrue(draft.exists())
        done = slurmtune("clean", "--all", "--force", study.root)
        self.assertEqual(done.code, 0, done.text)
        self.assertFalse(draft.exists() or study.root.exists())

    def test_mail_of_each_client(self):
        text = grid_study() + '[slurm]\nmail = "me@example.org"\n'
        wanted = {"a": "BEGIN,FAIL", "r": "FAIL", "final": "END,FAIL"}
        for client in ("commands", "libslurm"):
            with self.subTest(client), self.held_queue():
                study = self.submit(text, client, SLURMTUNE_SLURM_CLIENT=client)
                for name, job in study.jobs().items():
                    kind = name.split("-")[-2]
                    first = kind != "a" or "-01-" in name
                    shown = output_of("scontrol", "show", "job", str(job))
                    mail = dict(re.findall(r"(MailUser|MailType)=(\S+)", shown))
                    self.assertEqual(mail.get("MailUser"), "me@example.org", shown)
                    self.assertEqual(mail.get("MailType"), wanted[kind] if first else "FAIL", name)
                cancelled = slurmtune("cancel", study.root)
                self.assertEqual(cancelled.code, 0, cancelled.text)


if __name__ == "__main__":
    unittest.main()
