#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Two at once, a cancelled study, and jobs that the controller has forgotten."""

import collections
import concurrent.futures

from fault_case import (FIRST_INTENT, SUBMITTED, FaultTest, Study, cases, grid_study, main,
                        output_of, queue, slurmtune)


class Submit(FaultTest):
    def at_once(self, *commands):
        """Runs commands of slurmtune at the same time."""
        with concurrent.futures.ThreadPoolExecutor() as pool:
            return list(pool.map(lambda command: slurmtune(*command), commands))

    def assert_graph_once(self):
        kinds = collections.Counter(line.split()[1].rpartition("-")[0]
                                    for line in set(queue("%F %j")))
        self.assertEqual([kind for kind, count in kinds.items() if count > 1], [])

    @cases(in_ci=True, seeds=5)
    def test_same_submit_twice_at_once(self):
        arguments = self.prepare()
        runs = self.at_once(*[["submit", *arguments]] * 2)
        self.assertIn(sorted(run.code for run in runs), ([0, 0], [0, 3]),
                      [run.text for run in runs])
        self.assert_graph_once()
        self.conclude(Study(self.place / "study"))

    @cases(seeds=5)
    def test_two_resumes_at_once_of_half_a_graph(self):
        event = self.chance.randint(FIRST_INTENT - 1, SUBMITTED - 1)
        study = Study(self.place / "study")
        slurmtune("submit", *self.prepare(), SLURMTUNE_TEST_DIE_AFTER_EVENT=str(event))
        runs = self.at_once(*[["resume", study.root]] * 2)
        self.assertIn(sorted(run.code for run in runs), ([0, 0], [0, 3]),
                      [run.text for run in runs])
        self.assert_graph_once()
        self.deeds.append("resume")
        self.conclude(study)

    @cases(seeds=4)
    def test_resume_while_the_submitter_stands_still(self):
        """Who submits is named, and nothing is submitted beside it."""
        event = self.chance.choice(range(FIRST_INTENT, SUBMITTED, 2))
        study, submitter = self.begin_stopped(event)
        run = slurmtune("resume", study.root)
        self.assertEqual(run.code, 3, run.text)
        self.assertRegex(run.err, rf"\S+:{submitter.pid} is submitting st-")
        submitter.kill()
        submitter.wait()
        self.resume(study)
        self.deeds.append("resume")
        self.conclude(study)

    @cases(in_ci=True, seeds=5)
    def test_cancelled_in_the_middle(self):
        study = self.begin(grid_study((400, 250, 700)))
        self.wait_for_trial(study)
        self.pause(0, 4)
        run = slurmtune("cancel", study.root)
        self.assertEqual(run.code, 0, run.text)
        self.wait_until_over(study)
        finished = study.events("finished")
        self.assertEqual(len(finished), 1)
        self.assert_whole(study)
        result, _ = study.result()
        self.assertEqual(result["stop"], finished[0]["stop"])
        self.assertIn(result["stop"], ("cancelled", "exhausted"))
        self.outcome = f"partial, says {result['stop']}"
        again = slurmtune("resume", study.root)
        self.assertEqual(queue(), [], again.text)

    @cases(seeds=2)
    def test_cancelled_while_submitting(self):
        event = self.chance.randint(FIRST_INTENT, SUBMITTED - 1)
        study = Study(self.place / "study")
        slurmtune("submit", *self.prepare(), SLURMTUNE_TEST_DIE_AFTER_EVENT=str(event))
        run = slurmtune("cancel", study.root)
        self.assertEqual(run.code, 0, run.text)
        self.wait_until_over(study)
        self.assertEqual([event["stop"] for event in study.events("finished")], ["cancelled"])
        self.assert_no_process_left()
        self.outcome = "partial, says cancelled"

    @cases(in_ci=True, seeds=2)
    def test_all_jobs_lost_and_purged(self):
        """The controller knows no job of the study any more, and is asked to go on."""
        self.configure(MinJobAge=2)
        study = self.begin()
        self.wait_for_trial(study)
        output_of("scancel", *(str(job) for job in reversed(study.jobs().values())))
        self.wait_for(lambda: "JobId" not in output_of("scontrol", "show", "jobs"),
                      "all jobs are purged", 90)
        self.resume(study)
        self.deeds.append("resume")
        self.conclude(study)

    @cases(seeds=2)
    def test_jobs_purged_while_the_study_runs(self):
        self.configure(MinJobAge=2)
        self.conclude(self.begin(grid_study((400, 250, 700))), step_ms=250)


if __name__ == "__main__":
    main()
