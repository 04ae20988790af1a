#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A graph of which Slurm takes the array and refuses the reducer: submit says so with exit code 2,
cancels the array, which runs already, and leaves nothing behind."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAM = Path(os.environ["SLURMTUNE_BIN_DIR"]) / "slurmtune"

STUDY = """format = 1
name   = "refused"
[trial]
command = ["true", "{p:block}"]
[[parameter]]
name   = "block"
type   = "int"
values = [1, 2, 4]
[slurm]
reducer_partition = "nowhere"
"""

# Job 17 is the array; it runs until it was cancelled, and one look longer.
TOOLS = {
    "sbatch": """[ "$1" = --version ] && echo slurm 22.05.8 && exit 0
for script; do :; done
if grep -q -- '--partition=nowhere' "$script"; then
    echo 'sbatch: error: invalid partition specified: nowhere' >&2
    echo 'sbatch: error: Batch job submission failed: Invalid partition name specified' >&2
    exit 1
fi
echo 17
""",
    "scancel": """echo "$*" >> "$HERE/cancelled"
""",
    "squeue": """[ -e "$HERE/looked" ] && exit 0
[ -e "$HERE/cancelled" ] && touch "$HERE/looked"
case $* in *--jobs=*17*) echo "17|0|RUNNING|None|n1|st-x" ;; esac
""",
}


def main():
    with tempfile.TemporaryDirectory(prefix="slurmtune-refused.") as root:
        here = Path(root)
        for name, body in TOOLS.items():
            tool = here / "bin" / name
            tool.parent.mkdir(exist_ok=True)
            tool.write_text(f"#!/bin/bash\nHERE='{here}'\n{body}")
            tool.chmod(0o700)
        (here / "study.toml").write_text(STUDY)
        environment = {"PATH": f"{here}/bin:/usr/bin:/bin", "HOME": root, "LC_ALL": "C",
                       "SLURMTUNE_SLURM_CLIENT": "commands"}
        result = subprocess.run([str(PROGRAM), "submit", "study.toml", "--dir", "place"], cwd=here,
                                env=environment, text=True, capture_output=True, timeout=60,
                                check=False)
        problems = []
        if result.returncode != 2 or "invalid partition specified: nowhere" not in result.stderr:
            problems.append(f"exit code {result.returncode}, {result.stderr}")
        cancelled = here / "cancelled"
        if not cancelled.exists() or "17" not in cancelled.read_text().split():
            problems.append("the array was not cancelled")
        if not (here / "looked").exists():
            problems.append("nobody waited for the array's end")
        left = sorted(path.name for path in here.iterdir())
        if set(left) - {"bin", "study.toml", "cancelled", "looked"}:
            problems.append(f"left behind: {left}")
        for problem in problems:
            print(problem)
        return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
