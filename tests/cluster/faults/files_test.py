#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The directory of a study: full, unwritable, a torn shard; and a node with a wrong clock."""

import contextlib
import datetime
import os
import subprocess
import time
from pathlib import Path

from fault_case import (PROGRAMS, SITE, FaultTest, Study, cases, cluster_sh, grid_study,
                        json_lines, kill, main, output_of, queue, slurmtune, tasks_of)

CLOCK_OFF = PROGRAMS.parent / "tests" / "clock_off.so"
SLOW = grid_study((400, 250, 700))
SLOW_WINNER = {"step_ms": 250}
# A study of SLOW with its programs takes some 12 MiB.
DISK_MIB = 40
REMOUNT_WITHIN_S = 90

WRONG_CLOCK = """\
if [ "$SLURMD_NODENAME" = {node} ]; then
    export CLOCK_OFF_S={off_s} LD_PRELOAD={library}
    [ -z "${{SLURMTUNE_STARTED:-}}" ] || SLURMTUNE_STARTED=$((SLURMTUNE_STARTED + CLOCK_OFF_S))
fi
[ $# -eq 0 ] || exec "$@"
"""


class Files(FaultTest):
    def heal_nodes(self):
        for node in ("n1", "n2", "n3", "n4"):
            cluster_sh("kill", node)
        cluster_sh("up")

    def small_disk(self):
        """A filesystem of its own for studies, which every node sees (a node sees what was mounted
        when it started)."""
        if os.geteuid() != 0:
            self.skipTest("only root may mount")
        disk = self.place / "disk"
        disk.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_MIB}m", "tmpfs", disk],
                                 text=True, check=False, capture_output=True)
        if mounted.returncode != 0:
            self.skipTest(f"no tmpfs may be mounted here: {mounted.stderr.strip()}")
        # Later first: the nodes let go of it, then it goes.
        self.addCleanup(self.heal_nodes)
        self.addCleanup(subprocess.run, ["umount", "--lazy", disk], check=True)
        self.heal_nodes()
        return disk

    def begin_on(self, disk, text=SLOW, **environment):
        return self.begin(text, directory=f"{disk.name}/study", **environment)

    def go_on_by_hand(self, study):
        """What is over without an end goes on after `resume`, more than once if need be."""
        self.wait_until_over(study)
        if not study.events("finished"):
            status = slurmtune("status", study.root)
            self.assertEqual(status.code, 0, status.text)
            self.resume(study)
            self.deeds.append("resume")
            self.wait_until_over(study)
        result, code = study.result()
        if result["stop"] == "nothing_worked" and result["experiments_run"] == 0:
            # Nothing could begin, and that is what the result says.
            self.assertEqual(code, 1)
            self.assertRegex(result["why"], r"\(\d+ not_started\)")
            self.assert_whole(study)
            self.outcome = "partial, says that nothing began"
            return
        self.conclude(study, **SLOW_WINNER)

    @cases(in_ci=True, seeds=4)
    def test_disk_full_for_a_while(self):
        disk = self.small_disk()
        study = self.begin_on(disk)
        if self.seed % 2:
            self.wait_for_trial(study)
        self.pause(0, 1.5)
        fill = disk / "fill"
        subprocess.run(["dd", "if=/dev/zero", f"of={fill}", "bs=4k"], check=False,
                       capture_output=True)
        self.assertEqual(os.statvfs(disk).f_bavail, 0)
        self.pause(1, 6)
        fill.unlink()
        self.go_on_by_hand(study)

    @cases(seeds=2)
    def test_disk_full_before_the_study(self):
        """Refused with the reason, and nothing of it is left behind."""
        disk = self.small_disk()
        (disk / "fill").write_bytes(b"\0" * (DISK_MIB - self.seed) * 2**20)
        run = slurmtune("submit", *self.prepare(SLOW, "disk/study"))
        self.assertEqual(run.code, 3, run.text)
        self.assertIn("No space left", run.err)
        self.assertEqual([path.name for path in disk.iterdir()], ["fill"])
        self.assertEqual(queue(), [])
        self.outcome = "refused, says so"

    def remount(self, disk, how):
        return subprocess.run(["mount", "-o", f"remount,{how}", disk], check=False,
                              capture_output=True).returncode == 0

    @contextlib.contextmanager
    def read_only(self, disk):
        self.wait_for(lambda: self.remount(disk, "ro"), "nobody writes", REMOUNT_WITHIN_S)
        try:
            yield
        finally:
            self.assertTrue(self.remount(disk, "rw"))

    @cases(seeds=3)
    def test_directory_read_only_when_jobs_start(self):
        disk = self.small_disk()
        with self.held_queue():
            study = self.begin_on(disk)
            self.read_only_until(disk, study)
        self.go_on_by_hand(study)

    def read_only_until(self, disk, study):
        with self.read_only(disk):
            output_of("scontrol", "update", "PartitionName=batch", "State=UP")
            self.wait_for(lambda: not tasks_of(study.job("-01-grid-a-0"), "PD,R"),
                          "the array has met it", study=study)
            self.pause(0, 6)
            run = slurmtune("resume", study.root)
            if queue():
                return  # some of its jobs have not met it
            self.assertEqual(run.code, 3, run.text)
            self.assertIn("Read-only", run.err)

    @cases(in_ci=True, seeds=4)
    def test_directory_unwritable_while_the_study_runs(self):
        """No file can be made or renamed in the journal and the stages."""
        study = self.begin(SLOW)
        self.wait_for_trial(study)
        self.pause(0, 2)
        places = [study.root / "journal", *(study.root / "stages").iterdir()]
        if subprocess.run(["chattr", "+i", *places], check=False,
                          capture_output=True).returncode != 0:
            self.skipTest("this filesystem has no immutable directories (chattr +i)")
        try:
            self.pause(1, 6)
        finally:
            subprocess.run(["chattr", "-i", *places], check=True)
        self.go_on_by_hand(study)

    @cases(how=("lost", "requeued"), in_ci=("lost",), seeds=3)
    def test_shard_torn_in_its_last_line(self, how):
        (self.place / "site.toml").write_text(SITE.format(settle_s=3), encoding="utf-8")
        run = slurmtune("submit", *self.arguments(self.write_study(SLOW)))
        self.assertEqual(run.code, 0, run.text)
        study = Study(self.place / "study")
        self.wait_for_trial(study)
        job = study.job("-01-grid-a-0")
        task = self.chance.choice(self.wait_for(lambda: tasks_of(job, "R"), "a task runs"))
        number = task.partition("_")[2]
        shard = study.root / "stages" / "01-grid" / "verdicts" / f"{job}_{number}.0.jsonl"
        self.wait_for(shard.exists, "the task has a shard", study=study)
        runner = self.process_with(f"SLURM_ARRAY_TASK_ID={number}", "slurmtune-runner")
        if how == "requeued":
            output_of("scontrol", "requeue", task)
        elif runner is not None:
            kill(runner)
        self.wait_for(lambda: runner is None or not Path(f"/proc/{runner}").exists(),
                      "its runner is gone")
        with open(shard, "ab") as file:
            file.write(b'{"attempt":0,"configuration":"77ab')
        self.conclude(study, **SLOW_WINNER)

    @cases(hours=(1, -1), in_ci=("1",), seeds=4)
    def test_clock_of_a_node_off_by_hours(self, hours):
        """Of our own processes there; the first node runs reducers, too. (With srun's clock an hour
        behind Slurm starts nothing at all.)"""
        node = self.chance.choice(("n1", "n2"))
        wrong = self.place / "wrong_clock.sh"
        wrong.write_text(WRONG_CLOCK.format(node=node, off_s=3600 * hours, library=CLOCK_OFF),
                         encoding="utf-8")
        site = SITE.replace("exclusive        = false", "exclusive = true").replace(
            '"--mem=0"]', f'"--mem=0", "bash", "{wrong}"]')
        site += f'modules = ["[ -n \\"$SLURM_ARRAY_JOB_ID\\" ] || . {wrong}"]\n'
        (self.place / "site.toml").write_text(site.format(settle_s=1), encoding="utf-8")
        run = slurmtune("submit", *self.arguments(self.write_study(SLOW)))
        self.assertEqual(run.code, 0, run.text)
        study = Study(self.place / "study")
        self.conclude(study, **SLOW_WINNER)
        starts = [line for shard in study.root.glob("stages/*/verdicts/*.jsonl")
                  for line in json_lines(shard)[:1] if node in line["nodes"]]
        self.assertTrue(starts, f"nothing ran on {node}")
        for line in starts:
            at = datetime.datetime.fromisoformat(line["at"].replace("Z", "+00:00"))
            self.assertAlmostEqual(at.timestamp() - time.time(), 3600 * hours, delta=600)


if __name__ == "__main__":
    main()
