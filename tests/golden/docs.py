#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Holds the documentation to what the program says of itself.

    docs.py

Every key of study.toml and of a site file is explained, and nothing else is; every command and each
of its options; every outcome, in the table of the code; every field of the formats. The table of
outcomes in docs/user/trials.md is written by SLURMTUNE_BLESS=1 (make bless).
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(os.environ["SLURMTUNE_SOURCE_DIR"])
PROGRAM = Path(os.environ["SLURMTUNE_BIN_DIR"]) / "slurmtune"
BLESS = os.environ.get("SLURMTUNE_BLESS") == "1"
USER = ROOT / "docs/user"
FORMATS = ROOT / "docs/formats"

failures = []


def check(holds, what):
    if not holds:
        failures.append(what)


def slurmtune(*args):
    return subprocess.run([str(PROGRAM), *args], text=True, capture_output=True, check=True,
                          timeout=60).stdout


def read(path):
    return path.read_text(encoding="utf-8")


def sections(text, level="##"):
    """Headings of that level and what stands below each."""
    parts = re.split(rf"^{level} (.+)$", text, flags=re.M)
    return dict(zip((heading.strip() for heading in parts[1::2]), parts[2::2]))


def bullets(text):
    """The names in code at the beginnings of list items."""
    return set(re.findall(r"^- `(\w+)`", text, flags=re.M))


def compare(named, known, where):
    check(named >= known, f"{where} does not explain: {', '.join(sorted(known - named))}")
    check(named <= known, f"{where} explains what is no key: {', '.join(sorted(named - known))}")


def properties(schema):
    """The keys of one table of a schema; of an array of tables, those of one."""
    return schema.get("properties") or schema.get("items", {}).get("properties", {})


def all_fields(schema):
    """Every name of a field anywhere in a schema."""
    if isinstance(schema, list):
        return set().union(*map(all_fields, schema))
    if not isinstance(schema, dict):
        return set()
    own = set(schema.get("properties", {}))
    return own.union(*(all_fields(part) for part in schema.values()))


def check_study_keys(site_keys):
    text = read(USER / "study.md")
    documented = sections(text)
    root = properties(json.loads(slurmtune("schema", "study")))
    check(len(root) > 10, "the schema of study.toml is empty")
    tables = {key for key in root if properties(root[key])}
    compare(bullets(documented.get("Top level", "")), set(root) - tables,
            "docs/user/study.md, Top level,")
    for key in sorted(tables):
        heading = f"[[{key}]]" if root[key].get("type") == "array" else f"[{key}]"
        check(heading in documented, f"docs/user/study.md has no section {heading}")
        known = set(properties(root[key]))
        if key == "slurm":
            known -= site_keys
        compare(bullets(documented.get(heading, "")), known, f"docs/user/study.md, {heading},")


def check_site_keys(site_keys):
    check(len(site_keys) > 10, "the schema of a site file is empty")
    compare(bullets(sections(read(USER / "sites.md")).get("Keys", "")), site_keys,
            "docs/user/sites.md, Keys,")


def check_commands():
    documented = sections(read(USER / "commands.md"))
    usage = slurmtune("--help").split("Subcommands:")[1].split("Examples:")[0]
    commands = re.findall(r"^  ([a-z]+)\s", usage, flags=re.M)
    check(len(commands) > 5, f"slurmtune --help names few commands: {commands}")
    for command in commands:
        check(command in documented, f"docs/user/commands.md has no section on {command}")
        options = set(re.findall(r"^\s+(?:-\w,)?(--[a-z-]+)", slurmtune(command, "--help"),
                                 flags=re.M)) - {"--help"}
        for option in sorted(options):
            check(option in documented.get(command, ""),
                  f"docs/user/commands.md, {command}, does not name {option}")


AGAIN = {"never": "no", "once_elsewhere": "once, elsewhere", "twice": "twice",
         "while_budget_lasts": "while the budget lasts", "stops_study": "no; the study stops"}
MEMORY = {"none": "–", "fits": "fits", "exceeds_gpu": "exceeds the GPU",
          "exceeds_host": "exceeds the node"}
YES_NO = {"true": "yes", "false": "no"}


def outcome_table():
    """The rows of src/slurmtune/record/outcome.cpp as Markdown."""
    code = read(ROOT / "src/slurmtune/record/outcome.cpp")
    rows = re.findall(r'\{Outcome::\w+,\s*"(\w+)",\s*(\w+),\s*(\w+),\s*(\w+),\s*Retry::(\w+),',
                      code)
    lines = ["| outcome | memory | counts as tried | is ranked | again |",
             "| --- | --- | --- | --- | --- |"]
    for name, memory, tried, ranked, again in rows:
        lines.append(f"| `{name}` | {MEMORY[memory]} | {YES_NO[tried]} | {YES_NO[ranked]} | "
                     f"{AGAIN[again]} |")
    return [row[0] for row in rows], "\n".join(lines)


REMEDY = {"again": "again", "elsewhere": "again, elsewhere; a node with two such is left out",
          "longer": "again; if no experiment had begun, the set-up needs a longer task",
          "give_up": "given up, and said"}


def check_table(page, what, table, source):
    """The table of a page of the manual is that of the code. Returns what follows it."""
    path = USER / page
    begin, end = f"<!-- {what} -->\n", f"<!-- /{what} -->"
    head, _, rest = read(path).partition(begin)
    there, _, tail = rest.partition(end)
    if BLESS:
        path.write_text(f"{head}{begin}\n{table}\n\n{end}{tail}", encoding="utf-8")
    else:
        check(there.strip() == table,
              f"docs/user/{page}: the table of {what} is not that of {source}; run make bless")
    return tail


def check_endings():
    """The table of endings is that of the code."""
    rows = re.findall(r'\{TaskEnding::\w+, "(\w+)",\s*"([^"]+)",\s*Outcome::(\w+),\s*'
                      r'Remedy::(\w+)\}', read(ROOT / "src/slurmtune/study/endings.cpp"))
    check(len(rows) > 10, "src/slurmtune/study/endings.cpp has no table of endings any more")
    lines = ["| ending | in words | what ran becomes | what is done |", "| --- | --- | --- | --- |"]
    lines += [f"| `{key}` | {name} | `{outcome}` | {REMEDY[remedy]} |"
              for key, name, outcome, remedy in rows]
    table = "\n".join(lines)
    check_table("troubleshooting.md", "endings", table, "src/slurmtune/study/endings.cpp")


def check_outcomes():
    names, table = outcome_table()
    schema = json.dumps(json.loads(slurmtune("schema", "verdict")))
    enums = [json.loads(words) for words in re.findall(r'"enum": (\[[^\]]*\])', schema)]
    check(any(set(names) == set(words) for words in enums),
          f"the outcomes in outcome.cpp are not those of the schema of a verdict: {names}")
    tail = check_table("trials.md", "outcomes", table, "src/slurmtune/record/outcome.cpp")
    for name in names:
        check(f"`{name}`:" in tail or f"`{name}`: " in tail,
              f"docs/user/trials.md does not say what {name} means")


def check_formats():
    for name in ("manifest", "verdict", "decision"):
        fields = all_fields(json.loads(slurmtune("schema", name)))
        check(len(fields) > 10, f"the schema of a {name} is empty")
        text = read(FORMATS / f"{name}.md")
        for field in sorted(fields):
            check(f"`{field}`" in text, f"docs/formats/{name}.md does not name {field}")
    sample = json.loads(read(ROOT / "tests/data/formats/plan-v1.json"))
    plan = read(FORMATS / "plan.md")
    for field in sorted(set(sample) | set(sample["stages"][0])):
        check(f"`{field}`" in plan, f"docs/formats/plan.md does not name {field}")
    code = read(ROOT / "src/slurmtune/study/event.cpp")
    events = re.findall(r'"(\w+)"', code.split("event_names{")[1].split("};")[0])
    check(len(events) == 17, f"event.cpp names {len(events)} events")
    journal = read(FORMATS / "journal.md")
    for event in events:
        check(f"`{event}`" in journal, f"docs/formats/journal.md does not name {event}")


def main():
    site_keys = set(properties(json.loads(slurmtune("schema", "site"))))
    check_study_keys(site_keys)
    check_site_keys(site_keys)
    check_commands()
    check_outcomes()
    check_endings()
    check_formats()
    print("\n".join(failures) if failures else "the documentation names what there is")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
