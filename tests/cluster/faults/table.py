#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""table.py DIRECTORY: prints the cases of all tables in it as one, and fails if one has failed."""

import collections
import sys
from pathlib import Path


def main():
    tables = sorted(Path(sys.argv[1]).glob("*.txt"))
    if not tables:
        sys.exit(f"{sys.argv[1]}: no table")
    outcomes = collections.Counter()
    for path in tables:
        text = path.read_text(encoding="utf-8")
        print(f"-- {path.stem}\n{text}")
        for line in text.splitlines()[1:]:
            outcomes[line[text.index("outcome"):].partition(",")[0].partition(":")[0]] += 1
    print(", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items())))
    sys.exit("FAILED" in outcomes or "not concluded" in outcomes)


main()
