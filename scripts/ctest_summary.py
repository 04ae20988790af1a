#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Says how a ctest run ended, in one line at the end, and exits 0 only if nothing failed.

    ctest_summary.py RESULT.xml --ctest-exit N [--leftovers-exit N]

RESULT.xml is what `ctest --output-junit` wrote. A test that did not run counts as failed unless it
said itself that it skips (exit code 125). In CI (CI=true) the only reason to skip is a missing GPU.
"""

import argparse
import os
import sys
import xml.etree.ElementTree as ElementTree


def verdict(case, ci):
    """Returns passed, failed or skipped, and a reason for the latter two."""
    output = case.findtext("system-out") or ""
    if case.get("status") == "run" and case.find("failure") is None:
        return "passed", ""
    skipped = case.find("skipped")
    if skipped is not None and skipped.get("message", "").startswith("SKIP_RETURN_CODE"):
        said = [line for line in output.splitlines() if line.startswith("SKIPPED: ")]
        reason = said[-1].removeprefix("SKIPPED: ") if said else "no reason given"
        if ci and not reason.startswith("gpu: "):
            return "failed", f"skipped in CI ({reason})"
        return "skipped", reason
    failure = case.find("failure")
    message = failure.get("message") if failure is not None else ""
    return "failed", message or case.get("status", "did not run")


def summarise(path, ctest_exit, leftovers_exit, ci):
    """Returns the lines to print and the exit code."""
    try:
        cases = ElementTree.parse(path).getroot().findall("testcase")
    except (OSError, ElementTree.ParseError) as error:
        return [f"ctest left no result: {error}", "0 passed, 1 failed, 0 skipped"], 1
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    lines = []
    for case in cases:
        kind, reason = verdict(case, ci)
        counts[kind] += 1
        if kind != "passed":
            lines.append(f"{kind}: {case.get('name')}: {reason}")
    if leftovers_exit:
        counts["failed"] += 1
        lines.append("failed: processes were left behind, see above")
    if ctest_exit and not counts["failed"]:
        counts["failed"] += 1
        lines.append(f"failed: ctest exited {ctest_exit} though no test failed")
    if not counts["passed"] and not counts["failed"]:
        counts["failed"] += 1
        lines.append("failed: no test ran")
    lines.append("{passed} passed, {failed} failed, {skipped} skipped".format(**counts))
    return lines, 1 if counts["failed"] else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("result")
    parser.add_argument("--ctest-exit", type=int, required=True)
    parser.add_argument("--leftovers-exit", type=int, default=0)
    args = parser.parse_args()
    ci = os.environ.get("CI") == "true"
    lines, code = summarise(args.result, args.ctest_exit, args.leftovers_exit, ci)
    print("\n".join(lines))
    return code


if __name__ == "__main__":
    sys.exit(main())
