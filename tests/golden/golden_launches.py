# SPDX-License-Identifier: MIT
"""Launch lines as people type them: the study that each becomes, and its plan.

launches/CASE/line.txt is what stands behind `--`, launches/CASE/variables what its shell knows.
"""

import os
import re
import shlex
import subprocess

from golden_suite import HERE, tree


def words_of(case):
    """The line as a shell makes words of it."""
    environment = {"PATH": os.environ["PATH"]}
    for line in (case / "variables").read_text().splitlines():
        name, _, value = line.partition("=")
        environment[name] = value
    line = (case / "line.txt").read_text()
    said = subprocess.run(["bash", "-c", f"printf '%s\\0' {line}"], env=environment, text=True,
                          capture_output=True, check=True)
    return said.stdout.split("\0")[:-1]


def as_run(text):
    """The same study as `run` writes it."""
    mode = f"{'mode':<18} = \"run\""
    text = re.sub(r"^mode .*$", f"{mode:<34} # tune, then train once with the best", text, count=1,
                  flags=re.M)
    text = text.replace("then: slurmtune tune", "then: slurmtune run", 1)
    return text.replace("slurmtune tune, says", "slurmtune run, says")


def other_mode(suite, case, place, line, written):
    """`run` of a line whose study was written by `submit`, and the reverse: the file counts as the
    same, the study that was begun does not change its mode."""
    text = written.read_text()
    run = ["run", "--submit", "graph", "--dir", "out", *line]
    result = suite.run(run, place)
    if result.returncode != 2 or 'holds this study with mode = "tune"' not in result.stderr:
        suite.fail(f"{case.name}: {shlex.join(run)}: {result.returncode}, {result.stderr}")
    written.write_text(as_run(text))
    suite.done(["submit", "--submit", "scripts", "--dir", "again", *line], place)
    if 'mode = "tune"' not in (place / "again" / "study.toml").read_text():
        suite.fail(f"{case.name}: submit did not say the mode over a file of run")
    if written.read_text() != as_run(text):
        suite.fail(f"{case.name}: the file of run was touched")
    written.write_text(text)


def launches(suite):
    cases = sorted(path for path in (HERE / "launches").iterdir() if path.is_dir())
    for case in cases:
        place = suite.copy(case)
        line = ["--", *words_of(case)]
        before = tree(place)
        told = suite.done(["plan", "--submit", "scripts", *line], place)
        suite.compare(f"{case.name}.txt", told)
        if tree(place) != before:
            suite.fail(f"{case.name}: plan wrote something")
        submit = ["submit", "--submit", "scripts", "--dir", "out", *line]
        suite.done(submit, place)
        written = [path for path in place.glob("study-*.toml")]
        if len(written) != 1:
            suite.fail(f"{case.name}: submit wrote {written}")
            continue
        suite.compare(f"{case.name}.toml", written[0].read_text())
        plan = suite.done(["plan", "--submit", "scripts", written[0].name], place)
        if not told.endswith(plan):
            suite.fail(f"{case.name}: the plan of {written[0].name} is not that of its line")
        suite.done(submit, place)
        other_mode(suite, case, place, line, written[0])
        written[0].write_text(written[0].read_text() + "seed = 7\n")
        result = suite.run(submit, place)
        if result.returncode != 2 or "is there already" not in result.stderr:
            suite.fail(f"{case.name}: an edited study was not left alone: {shlex.join(submit)}: "
                       f"{result.returncode}, {result.stderr}")
