#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Site files against a real controller: the first one, one that is wrong, and a study by one."""

import unittest

from cluster_study import Study, StudyTest, grid_study, output_of, slurmtune

WRONG = """\
format = 1
name   = "wrong"
partition       = "batsch"
array_size_max  = 5000
submit_jobs_max = 30000
[[queue]]
partition      = "debug"
walltime_max_s = 600
gpu_request    = "gres"
gpu_type       = "a100"
gpus_per_node  = 8
[[queue]]
partition     = "batch"
constraint    = "fast"
gpu_request   = "gres"
gpus_per_node = 8
nodes_max     = 2
"""


class SiteFiles(StudyTest):
    def check(self, *site):
        return slurmtune("site", "check", *site)

    def test_first_file_differs_in_nothing_and_serves_a_study(self):
        first = self.place / "first.toml"
        run = slurmtune("site", "init", "-o", first)
        self.assertEqual(run.code, 0, run.text)
        text = first.read_text(encoding="utf-8")
        for line in ('name   = "testcluster"', 'partition        = "batch"',
                     'array_size_max   = 1001', 'gpus_per_node    = 4', 'walltime_max_s   = 300'):
            self.assertIn(line + "\n", text)
        printed = slurmtune("site", "init")
        self.assertEqual(printed.out, text)
        again = slurmtune("site", "init", "-o", first)
        self.assertEqual(again.code, 2, again.text)
        self.assertIn("is there already", again.err)

        run = self.check("--site", first)
        self.assertEqual(run.code, 0, run.text)
        self.assertIn("no difference", run.out)
        self.assertIn("without accounting", run.out)

        # Slurm takes what the site asks for on each node.
        study_toml = self.write_study(grid_study())
        run = slurmtune("submit", study_toml, "--dir", self.place / "scripts", "--site", first,
                        "--submit", "scripts")
        self.assertEqual(run.code, 0, run.text)
        script = next((self.place / "scripts" / "stages").glob("01-*/array.sbatch"))
        self.assertIn("#SBATCH --gres=gpu:4\n", script.read_text(encoding="utf-8"))
        output_of("sbatch", "--test-only", "--array=0-1", script)

        # The GPUs of this cluster are pretended, so that a trial on them would be refused.
        study_toml = self.write_study(
            grid_study() + '[slurm]\ngpu_request = "none"\ngpus_per_node = 0\n')
        run = slurmtune("submit", study_toml, "--dir", self.place / "study", "--site", first)
        self.assertEqual(run.code, 0, run.text)
        study = Study(self.place / "study")
        self.wait_until_idle(study)
        self.assert_won(study, step_ms=5)

    def test_what_would_refuse_a_job_is_told(self):
        wrong = self.place / "wrong.toml"
        wrong.write_text(WRONG, encoding="utf-8")
        run = self.check("--site", wrong)
        self.assertEqual(run.code, 1, run.text)
        rows = [line.split() for line in run.out.splitlines()]
        keys = [word for row in rows for word in row]
        for key in ("partition", "array_size_max", "submit_jobs_max", "walltime_max_s", "gpu_type",
                    "constraint"):
            self.assertIn(key, keys, run.out)
        self.assertIn("no such partition; batch?", run.out)
        self.assertRegex(run.out, r"array_size_max +5000 +1001 +a job is refused")
        self.assertRegex(run.out, r"partition debug +walltime_max_s +600 +300 +a job is refused")
        self.assertRegex(run.out, r"gpu_type +a100 +GRES are gpu")
        self.assertRegex(run.out, r"submit_jobs_max +30000 +20000 of all users")

    def test_what_is_only_wasted_is_no_failure(self):
        careful = self.place / "careful.toml"
        careful.write_text('format = 1\nname = "careful"\narray_size_max = 100\n',
                           encoding="utf-8")
        run = self.check("--site", careful)
        self.assertEqual(run.code, 0, run.text)
        self.assertRegex(run.out, r"array_size_max +100 +1001\s")

    def test_the_shipped_site_of_this_cluster_fits(self):
        run = self.check("--site", "test-cluster")
        self.assertEqual(run.code, 0, run.text)
        self.assertNotIn("refused", run.out)
        unnamed = self.check()
        self.assertEqual(unnamed.code, 2, unnamed.text)
        self.assertIn("testcluster", unnamed.err)

    def test_without_a_controller_it_is_an_error_and_no_hang(self):
        run = slurmtune("site", "check", "--site", "generic", SLURM_CONF="/nowhere/slurm.conf")
        self.assertEqual(run.code, 3, run.text)
        self.assertIn("/nowhere/slurm.conf", run.err)
        self.assertLess(run.wall_s, 5.0)


if __name__ == "__main__":
    unittest.main()
