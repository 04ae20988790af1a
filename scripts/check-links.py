#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Checks that links between our Markdown files lead to a file, and to a heading of it if they name
one. Links to other hosts are not looked at: the check needs no network."""

import os
import re
import sys
from pathlib import Path

SKIPPED_DIRECTORIES = {".git", "build", "__pycache__"}
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")


def markdown_files(root):
    for directory, names, leaves in os.walk(root):
        names[:] = sorted(n for n in names if n not in SKIPPED_DIRECTORIES)
        yield from (Path(directory) / leaf for leaf in sorted(leaves) if leaf.endswith(".md"))


def without_code(text):
    return re.sub(r"```.*?```|`[^`\n]*`", lambda m: "\n" * m.group(0).count("\n"), text, flags=re.S)


def anchors(path):
    """The anchors of a file's headings, as GitHub makes them."""
    found = set()
    text = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.S)
    for heading in re.findall(r"^#+\s+(.*)$", text, flags=re.M):
        slug = re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
        found.add(slug)
    return found


def broken(root):
    for path in markdown_files(root):
        text = without_code(path.read_text(encoding="utf-8"))
        for number, line in enumerate(text.split("\n"), 1):
            for groups in LINK.findall(line):
                link = groups[0] or groups[1]
                if re.match(r"[a-z]+:", link):
                    continue
                target, _, anchor = link.partition("#")
                file = (path.parent / target) if target else path
                where = f"{path.relative_to(root)}:{number}"
                if not file.exists():
                    yield f"{where}: {link} leads nowhere"
                elif anchor and file.suffix == ".md" and anchor not in anchors(file):
                    yield f"{where}: {link}: no such heading"


def main():
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[1]
    found = list(broken(root))
    count = sum(1 for _ in markdown_files(root))
    print("\n".join(found) if found else f"{count} Markdown files, every link leads somewhere")
    return 1 if found or not count else 0


if __name__ == "__main__":
    sys.exit(main())
