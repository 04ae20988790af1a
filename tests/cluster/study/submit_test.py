#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""`submit` submits the whole graph and returns; the queue does the rest. Twice is once."""

import unittest

from cluster_study import StudyTest, grid_study, queue, slurmtune


class Submit(StudyTest):
    def test_whole_graph_then_result(self):
        arguments = self.arguments(self.write_study(grid_study()))
        with self.held_queue():
            study = self.submit_in_time(*arguments)
            self.assert_whole_graph(study)
            jobs = study.jobs()
            before = queue("%i %j")

            again = slurmtune("submit", *arguments)
            self.assertEqual(again.code, 0, again.text)
            self.assertIn("holds this study already", again.out)
            self.assertEqual(study.jobs(), jobs)
            self.assertEqual(queue("%i %j"), before)
        self.wait_until_idle(study)
        self.assert_won(study, step_ms=5)
        self.assert_nothing_run_twice(study)
        self.assert_no_process_left()

        after_the_end = slurmtune("submit", *arguments)
        self.assertEqual(after_the_end.code, 0, after_the_end.text)
        self.assertEqual(study.jobs(), jobs)
        self.assertEqual(queue(), [])


if __name__ == "__main__":
    unittest.main()
