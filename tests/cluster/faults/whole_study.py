# SPDX-License-Identifier: MIT
"""What must hold of every study that is over, whatever happened to it."""

import collections
import hashlib
import json
import os
import re
from pathlib import Path

from cluster_study import output_of, queue


def found_by_name(event):
    """The job of submit = "one-job" has no intent."""
    return event.get("kind") == "all"


class WholeStudy:
    """Checks for a StudyTest."""

    def assert_whole(self, study):
        self.assert_journal_whole(study)
        self.assert_stages_whole(study)
        self.assert_all_accounted_for(study)
        self.assert_nothing_run_twice(study)
        self.assert_jobs_known(study)
        self.assertEqual(queue(), [])
        self.assert_no_process_left()

    def assert_journal_whole(self, study):
        """Numbers without a gap, every file whole, each answer after its intent, one end."""
        names = sorted(path.name for path in (study.root / "journal").glob("[0-9]*"))
        self.assertEqual(names, [f"{n:06}.json" for n in range(1, len(names) + 1)])
        intended, answered = [], []
        for number, event in enumerate(study.events(), 1):
            self.assertEqual(event["number"], number)
            kind = event["event"]
            if kind == "submit_intended":
                self.assertNotIn(event["name"], intended)
                intended.append(event["name"])
            elif kind in ("submitted", "submit_lost") and not found_by_name(event):
                self.assertIn(event["name"], intended, f"event {number} before its intent")
                self.assertNotIn(event["name"], answered)
                answered.append(event["name"])
        self.assertEqual(sorted(set(intended) - set(answered)), [], "intents without an answer")
        self.assertEqual(len(study.events("finished")), 1)
        self.assertEqual(len({e["stage"] for e in study.events("decided")}),
                         len(study.events("decided")))

    def assert_stages_whole(self, study):
        """What was journalled is what is there, and nothing is torn but a shard's last line."""
        for event in study.events("decided"):
            found = hashlib.sha256(study.decision(event["stage"])).hexdigest()
            self.assertEqual(found, event["sha256"], event)
        for event in study.events("released"):
            manifest = study.root / "stages" / event["stage"] / "manifest.jsonl"
            self.assertEqual(len(json.loads(manifest.read_text().splitlines()[0])["slices"]),
                             event["slices"])
        for shard in study.root.glob("stages/*/verdicts/*.jsonl"):
            lines = shard.read_text(encoding="utf-8").split("\n")
            for line in lines[:-1]:
                self.assertIsInstance(json.loads(line), dict, shard)

    def assert_all_accounted_for(self, study):
        """Each experiment that a manifest proposed has a verdict, or the decision about its stage
        names it as missing."""
        seen = {line["experiment"] for line in study.verdicts()}
        for manifest in sorted(study.root.glob("stages/*/manifest.jsonl")):
            lines = [json.loads(line) for line in manifest.read_text().splitlines()]
            proposed = {line["experiment"] for line in lines[1:]}
            decision = manifest.parent / "decision.json"
            missing = (set(json.loads(decision.read_text())["read"]["missing"])
                       if decision.exists() else set())
            if not decision.exists() and study.events("cancelled"):
                continue
            self.assertEqual(sorted(proposed - seen - missing), [], f"{manifest}: lost silently")

    def assert_jobs_known(self, study):
        """Every job of this study that Slurm has seen is in the journal, and no name has two."""
        study_id = study.events("study_created")[0]["study"][:8]
        log = Path(os.environ["SLURM_CONF"]).parent.parent / "log" / "jobcomp.txt"
        if "jobcomp/filetxt" not in output_of("scontrol", "show", "config"):
            return  # this cluster keeps no record
        seen = collections.defaultdict(set)
        for line in log.read_text(encoding="utf-8").splitlines():
            fields = dict(re.findall(r"(\w+)=(\S*)", line))
            if fields["Name"].startswith(f"st-{study_id}-"):
                seen[fields["Name"]].add(int(fields.get("ArrayJobId", fields["JobId"])))
        self.assertTrue(seen)
        known = collections.defaultdict(set)
        for event in study.events("submitted"):
            known[event["name"]].add(event["job"])
        for name, jobs in seen.items():
            self.assertEqual(jobs, known[name], f"{name}: Slurm's jobs and the journal's")
