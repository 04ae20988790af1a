#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A study whose jobs were all taken away goes on after `resume`, also after two at once."""

import collections
import concurrent.futures
import unittest

from cluster_study import StudyTest, deepspeed_study, output_of, queue, slurmtune


class TwoResumes(StudyTest):
    def lose_all_jobs(self, study):
        # Those that would decide go first: a round that is lost is not what is tested here.
        output_of("scancel", *(str(job) for job in reversed(study.jobs().values())))
        self.wait_until_idle(study)
        self.assertEqual(study.events("finished"), [])

    def test_two_at_once(self):
        mark = self.place / "mark"
        study = self.submit(deepspeed_study("hang", 1, 4, mark, stall_s=60))
        self.wait_for(lambda: len(study.verdicts()) >= 2 and mark.exists(),
                      "some trials have ended, one hangs", study=study)
        self.lose_all_jobs(study)
        before = len(study.jobs())

        with concurrent.futures.ThreadPoolExecutor() as pool:
            runs = list(pool.map(lambda _: slurmtune("resume", study.root), range(2)))
        codes = sorted(run.code for run in runs)
        self.assertIn(codes, ([0, 0], [0, 3]), [run.text for run in runs])
        for run in runs:
            if run.code == 3:
                self.assertRegex(run.err, r"\S+:\d+ is submitting st-")
        self.assertGreater(len(study.jobs()), before)
        # Each array and reducer of the graph is there once, whatever its attempt.
        live = set(queue("%F %j"))
        self.assertTrue(live)
        kinds = collections.Counter(line.split()[1].rpartition("-")[0] for line in live)
        self.assertEqual([kind for kind, count in kinds.items() if count > 1], [], live)

        self.wait_until_idle(study)
        self.assert_won(study, zero_stage=1, micro_batch=8)
        self.assert_nothing_run_twice(study)
        self.assert_no_process_left()

        after_the_end = slurmtune("resume", study.root)
        self.assertEqual(after_the_end.code, 0, after_the_end.text)
        self.assertEqual(queue(), [])


if __name__ == "__main__":
    unittest.main()
