#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Job scripts that a user submits by hand, in the printed order, do what `submit` would."""

import re
import unittest

from cluster_study import Study, StudyTest, grid_study, output_of, queue, slurmtune


class ByHand(StudyTest):
    def test_printed_lines(self):
        run = slurmtune("submit", *self.arguments(self.write_study(grid_study())),
                        "--submit", "scripts")
        self.assertEqual(run.code, 0, run.text)
        self.assertEqual(queue(), [])
        study = Study(self.place / "study")
        self.assertEqual(study.jobs(), {})

        variables = re.findall(r"^(\w+)=\$\(sbatch ", run.out, re.MULTILINE)
        self.assertEqual(len(variables), 2 * len(study.stages()) + 1, run.out)
        numbers = output_of("bash", "-euc", f"{run.out}\necho ${' $'.join(variables)}").split()
        jobs = dict(zip(variables, (int(number) for number in numbers)))
        self.wait_until_idle(study)

        self.assert_won(study, step_ms=5)
        self.assert_nothing_run_twice(study)
        known = study.jobs()
        self.assertEqual(study.job("-01-grid-a-0"), jobs["a1"])
        self.assertEqual(study.job("-01-grid-r-0"), jobs["r1"])
        self.assertEqual(study.job("-02-confirm-a-0"), jobs["a2"])
        # What was not needed may have been cancelled before it could tell.
        self.assertTrue(set(known.values()) <= set(jobs.values()), known)


if __name__ == "__main__":
    unittest.main()
