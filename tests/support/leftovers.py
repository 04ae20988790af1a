#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Lists processes that tests left behind; exits 1 if there are any after five seconds' grace.

    leftovers.py MARK BUILD_DIRECTORY

A process is the tests' if MARK is its SLURMTUNE_TEST_RUN, if its program is in BUILD_DIRECTORY, or
if it holds a file of a test cluster open (Slurm's daemons overwrite their environment). This
script and its parents are not among them.
"""

import os
import sys
import time
from pathlib import Path


def parents(pid):
    """Yields pid and all its ancestors."""
    while pid > 0:
        yield pid
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
        pid = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("PPid:"))


def links(directory):
    """Yields where the symbolic links of a directory lead."""
    for name in os.listdir(directory):
        try:
            yield os.readlink(os.path.join(directory, name))
        except OSError:
            continue  # closed meanwhile


def is_ours(pid, mark, build, clusters):
    proc = f"/proc/{pid}"
    if f"SLURMTUNE_TEST_RUN={mark}".encode() in Path(proc, "environ").read_bytes().split(b"\0"):
        return True
    if os.readlink(f"{proc}/exe").startswith(build + "/"):
        return True
    return any(link.startswith(clusters) for link in links(f"{proc}/fd"))


def leftovers(mark, build):
    """Returns lines: pid and command of every process that is the tests'."""
    records = [record.read_text(encoding="utf-8").strip()
               for record in Path(build).glob("cluster_dir*")]
    clusters = tuple(f"{record}/" for record in records if record)
    own = set(parents(os.getpid()))
    found = []
    for pid in sorted(int(name) for name in os.listdir("/proc") if name.isdigit()):
        try:
            if pid in own or not is_ours(pid, mark, build, clusters):
                continue
            command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue  # ended meanwhile, a zombie, or another user's
        found.append(f"{pid} {command}")
    return found


def main():
    mark, build = sys.argv[1], os.path.realpath(sys.argv[2])
    deadline = time.monotonic() + 5
    while True:
        found = leftovers(mark, build)
        if not found or time.monotonic() > deadline:
            break
        time.sleep(0.25)
    print("\n".join(found) or "none")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
