# SPDX-License-Identifier: MIT
"""Running slurmtune where nothing can be harmed, and comparing with the files in expected/."""

import difflib
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
EXPECTED = HERE / "expected"
PROGRAM = Path(os.environ["SLURMTUNE_BIN_DIR"]) / "slurmtune"
BLESS = os.environ.get("SLURMTUNE_BLESS") == "1"
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


class Suite:
    """Collects what differs; leaves nothing behind."""

    def __init__(self, name):
        self.name = name
        self.failures = []
        self.seen = set()
        self.root = Path(tempfile.mkdtemp(prefix="slurmtune-golden.")).resolve()
        # A batch system that is there, and that nobody asks for anything.
        self.path = self.root / "path"
        self.path.mkdir()
        for tool in ("sbatch", "squeue", "scancel", "scontrol", "sacct"):
            fake = self.path / tool
            fake.write_text("#!/bin/sh\n[ \"$1\" = --version ] && echo slurm 22.05.8 && exit 0\n"
                            "echo \"$0 was called: $*\" >&2\nexit 1\n")
            fake.chmod(0o700)

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        shutil.rmtree(self.root, ignore_errors=True)

    def run(self, args, cwd, path=None, stdout=subprocess.PIPE):
        environment = {"PATH": f"{path or self.path}:/usr/bin:/bin", "HOME": str(self.root),
                       "LC_ALL": "C", "SLURMTUNE_SLURM_CLIENT": "commands"}
        return subprocess.run([str(PROGRAM), *args], cwd=cwd, env=environment, text=True,
                              stdin=subprocess.DEVNULL, stdout=stdout, stderr=subprocess.PIPE,
                              timeout=60, check=False)

    def done(self, args, cwd, code=0):
        """Standard output of a call that ends with `code` and has no complaints."""
        result = self.run(args, cwd)
        if result.returncode != code or result.stderr:
            self.fail(f"slurmtune {' '.join(args)}: exit code {result.returncode}, not {code}; "
                      f"standard error: {result.stderr}")
        return result.stdout

    def fail(self, what):
        self.failures.append(what)

    def normal(self, text):
        text = re.sub(r"\.draft\.[\w.-]+\.\d+", ".draft.PID", text)
        text = text.replace(str(self.root), "/TMP")
        for uuid in sorted(set(UUID.findall(text))):
            text = text.replace(uuid, "STUDY-ID").replace(f"st-{uuid[:8]}-", "st-STUDY8-")
        text = re.sub(r"\bst-[0-9a-f]{8}-", "st-STUDY8-", text)
        # What `status` says of the present, and of what is to come.
        text = re.sub(r"(expected  )about .*? (: an estimate|\()", r"\1TIME \2", text)
        text = re.sub(r'"at": "20\d\d-[^"]*Z"', '"at": "TIME"', text)
        return re.sub(r"sha256:[0-9a-f]{64}", "sha256:HASH", text)

    def compare(self, name, text):
        text = self.normal(text)
        path = EXPECTED / self.name / name
        self.seen.add(path)
        if BLESS:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            return
        if not path.exists():
            self.fail(f"{path} is missing; make bless writes it")
            return
        golden = path.read_text()
        if golden != text:
            diff = difflib.unified_diff(golden.splitlines(), text.splitlines(), str(path), "now",
                                        lineterm="")
            self.fail("\n".join(diff) or f"{path}: the line ends differ")

    def end(self):
        stale = set((EXPECTED / self.name).rglob("*.*")) - self.seen
        for path in sorted(stale):
            if BLESS:
                path.unlink()
            else:
                self.fail(f"{path}: no test makes this file any more")
        for failure in self.failures:
            print(failure)
        print(f"{self.name}: {len(self.seen)} golden files, {len(self.failures)} failures")
        return 1 if self.failures or not self.seen else 0

    def copy(self, study):
        """A directory of its own with a study's files."""
        place = self.root / study.name
        shutil.copytree(study, place)
        return place


def studies():
    return sorted(path for path in (HERE / "studies").iterdir() if (path / "study.toml").exists())


def tree(root):
    """Every path below `root` with its contents: equal before and after means untouched."""
    listing = {}
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        if path.is_dir():
            listing[name] = "dir"
        elif path.parent.name == "bin":  # our own programs: too large to be read each time
            listing[name] = (path.stat().st_size, path.stat().st_mtime_ns)
        else:
            listing[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return listing


def submit_scripts(suite, study):
    """A study whose scripts are written and not submitted; where it is, and what was said."""
    place = suite.copy(study)
    said = suite.done(["submit", "study.toml", "--submit", "scripts", "--dir", "out"], place)
    return place / "out", said
