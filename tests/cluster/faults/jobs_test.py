#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What happens to jobs: requeued, preempted, cancelled, out of time, with their node gone."""

import subprocess

from fault_case import (FaultTest, cases, cluster_sh, grid_study, main, output_of, queue,
                        slurmtune, tasks_of)

# Long enough for a fault to meet a trial that runs.
SLOW = grid_study((400, 250, 700))
SLOW_WINNER = {"step_ms": 250}


class Jobs(FaultTest):
    def running_task(self, study, stage="01-grid"):
        """An array task whose trial runs; the seed chooses which."""
        job = study.job(f"-{stage}-a-0")
        self.wait_for_trial(study, stage)
        return self.chance.choice(self.wait_for(lambda: tasks_of(job, "R"), "a task runs",
                                                study=study))

    @cases(in_ci=True)
    def test_task_requeued_by_hand(self):
        study = self.begin(SLOW)
        task = self.running_task(study)
        self.pause(0, 1)
        output_of("scontrol", "requeue", task)
        self.conclude(study, **SLOW_WINNER)

    @cases(in_ci=True)
    def test_task_held_by_hand(self):
        """What is held goes nowhere, and all after it waits: `resume` goes on without it."""
        study = self.begin(SLOW)
        task = self.running_task(study)
        output_of("scontrol", "requeuehold", task)
        others = [other for other in tasks_of(study.job("-01-grid-a-0"), "R") if other != task]
        self.wait_for(lambda: not set(others) & set(tasks_of(study.job("-01-grid-a-0"), "R")),
                      "the other tasks end", study=study)
        self.assertEqual(study.events("decided"), [])
        self.wait_for(lambda: slurmtune("resume", study.root).code == 0 and
                      study.events("decided"), "resume concludes the stage", study=study)
        self.conclude(study, **SLOW_WINNER)

    @cases(seeds=5)
    def test_task_requeued_twice(self):
        study = self.begin(SLOW)
        task = self.running_task(study)
        for _ in range(2):
            self.wait_for(lambda: task in tasks_of(study.job("-01-grid-a-0"), "R"),
                          "the task runs", study=study)
            self.pause(0, 2)
            subprocess.run(["scontrol", "requeue", task], check=False)
        self.conclude(study, **SLOW_WINNER)

    @cases()
    def test_reducer_requeued(self):
        event = 17 + self.seed % 4
        study = self.begin(SLURMTUNE_TEST_STOP_AFTER_EVENT=str(event))
        self.stopped_process(event, study)
        running = [line.split()[0] for line in queue("%i %j %T") if line.endswith("RUNNING")]
        self.assertEqual(len(running), 1)
        output_of("scontrol", "requeue", *running)
        self.conclude(study)

    @cases(in_ci=True, seeds=4)
    def test_preempted_with_requeue(self):
        """A job of the partition with the higher priority takes the whole node of a task."""
        study = self.begin(SLOW)
        task = self.running_task(study)
        self.pause(0, 1)
        node = output_of("squeue", "--noheader", f"--job={task}", "--format=%N").strip()
        output_of("sbatch", "--partition=debug", "--exclusive", f"--nodelist={node}", "--time=1",
                  f"--output={self.place}/preempts", "--wrap", "sleep 2")
        self.conclude(study, **SLOW_WINNER)
        if not list(study.root.glob("stages/01-grid/verdicts/*.1.jsonl")):
            self.skipTest("the task had ended before it could be preempted")

    @cases(in_ci=True, seeds=5)
    def test_array_task_cancelled_running(self):
        study = self.begin(SLOW)
        task = self.running_task(study)
        self.pause(0, 1)
        output_of("scancel", task)
        self.conclude(study, **SLOW_WINNER)

    @cases(in_ci=True, seeds=4)
    def test_array_tasks_cancelled_pending(self):
        with self.held_queue():
            study = self.begin()
            job = study.job("-01-grid-a-0")
            tasks = self.chance.sample(range(4), self.chance.randint(1, 3))
            output_of("scancel", *(f"{job}_{task}" for task in tasks))
        self.conclude(study)

    @cases(seeds=2)
    def test_whole_array_cancelled_pending(self):
        with self.held_queue():
            study = self.begin()
            output_of("scancel", str(study.job("-01-grid-a-0")))
        self.conclude(study)

    @cases(seeds=4)
    def test_one_job_of_the_graph_cancelled(self):
        with self.held_queue():
            study = self.begin()
            name = self.chance.choice(sorted(study.jobs()))
            output_of("scancel", str(study.jobs()[name]))
        self.conclude(study)

    @cases(seeds=2)
    def test_time_limit_of_a_task(self):
        """Slurm takes no shorter one than a minute."""
        study = self.begin(grid_study((400, 250, 20000), stall_s=90))
        task = self.running_task(study)
        output_of("scontrol", "update", f"JobId={study.job('-01-grid-a-0')}", "TimeLimit=1")
        self.assertIn(task.partition("_")[2], "012")
        self.conclude(study, **SLOW_WINNER)

    @cases(seeds=4)
    def test_slurmd_of_a_node_killed(self):
        """With the jobs on it, as on a host that lost power; the node comes back later."""
        study = self.begin(SLOW)
        task = self.running_task(study)
        node = output_of("squeue", "--noheader", f"--job={task}", "--format=%N").strip()
        cluster_sh("kill", node, "KILL")
        self.pause(0, 5)
        if self.seed % 2:
            cluster_sh("start", node)
        self.conclude(study, **SLOW_WINNER)

    @cases(in_ci=True, seeds=3)
    def test_node_set_down_and_back(self):
        study = self.begin(SLOW)
        task = self.running_task(study)
        node = output_of("squeue", "--noheader", f"--job={task}", "--format=%N").strip()
        output_of("scontrol", "update", f"NodeName={node}", "State=DOWN", "Reason=fault")
        self.pause(0.5, 6)
        # Refused where it is up already: a slurmd that answers comes back by itself.
        subprocess.run(["scontrol", "update", f"NodeName={node}", "State=RESUME"], check=False)
        self.conclude(study, **SLOW_WINNER)


if __name__ == "__main__":
    main()
