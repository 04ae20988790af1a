#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""scripts/ctest_summary.py never calls a run better than it was."""

import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
import ctest_summary  # noqa: E402

PASSED = '<testcase name="a" status="run"><system-out/></testcase>'
FAILED = '<testcase name="b" status="fail"><failure message="Failed"/><system-out/></testcase>'
NOT_RUN = (
    '<testcase name="c" status="notrun"><skipped message="Fixture dependency failed"/>'
    "<system-out/></testcase>"
)


def skipped(reason):
    return (
        '<testcase name="d" status="notrun"><skipped message="SKIP_RETURN_CODE=125"/>'
        f"<system-out>SKIPPED: {reason}\n</system-out></testcase>"
    )


def summarise(*cases, ctest_exit=0, leftovers_exit=0, ci=False):
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "ctest.xml"
        path.write_text("<testsuite>" + "".join(cases) + "</testsuite>", encoding="utf-8")
        lines, code = ctest_summary.summarise(path, ctest_exit, leftovers_exit, ci)
        return lines[-1], code


class CtestSummary(unittest.TestCase):
    def test_all_passed(self):
        self.assertEqual(summarise(PASSED, PASSED), ("2 passed, 0 failed, 0 skipped", 0))

    def test_a_failed_test_fails_the_run(self):
        self.assertEqual(
            summarise(PASSED, FAILED, ctest_exit=8), ("1 passed, 1 failed, 0 skipped", 1)
        )

    def test_a_test_that_did_not_run_counts_as_failed(self):
        self.assertEqual(
            summarise(PASSED, NOT_RUN, ctest_exit=8), ("1 passed, 1 failed, 0 skipped", 1)
        )

    def test_a_skip_is_no_failure_on_a_developers_machine(self):
        self.assertEqual(
            summarise(PASSED, skipped("cluster: none")), ("1 passed, 0 failed, 1 skipped", 0)
        )

    def test_in_ci_only_a_missing_gpu_is_a_reason_to_skip(self):
        self.assertEqual(
            summarise(PASSED, skipped("gpu: none"), ci=True), ("1 passed, 0 failed, 1 skipped", 0)
        )
        self.assertEqual(
            summarise(PASSED, skipped("mpi: none"), ci=True), ("1 passed, 1 failed, 0 skipped", 1)
        )

    def test_left_over_processes_fail_the_run(self):
        self.assertEqual(
            summarise(PASSED, leftovers_exit=1), ("1 passed, 1 failed, 0 skipped", 1)
        )

    def test_an_exit_code_of_ctest_is_not_lost(self):
        self.assertEqual(summarise(PASSED, ctest_exit=8), ("1 passed, 1 failed, 0 skipped", 1))

    def test_no_test_at_all_is_a_failure(self):
        self.assertEqual(summarise(), ("0 passed, 1 failed, 0 skipped", 1))

    def test_a_missing_result_is_a_failure(self):
        lines, code = ctest_summary.summarise("/nonexistent/ctest.xml", 0, 0, False)
        self.assertEqual((lines[-1], code), ("0 passed, 1 failed, 0 skipped", 1))


if __name__ == "__main__":
    unittest.main()
