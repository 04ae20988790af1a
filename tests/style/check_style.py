#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Checks what the compiler cannot: which room sees which, purity, size, licence lines.

    check_style.py [ROOT]

Prints one line a violation, `file:line: [rule] what is wrong`, and exits 1 if there is any.
The rules are the tables below; ARCHITECTURE.md says why they are so.
"""

import os
import re
import sys
from pathlib import Path

# Include order. A room may include itself and the rooms before it.
ROOMS = (
    "base record input space model search generate plan analyze study simulate execute runner "
    "report tune cli"
).split()

# Values in, values out: the same input gives the same bytes, on every machine, at any time.
PURE_ROOMS = ROOMS[ROOMS.index("record") : ROOMS.index("analyze") + 1]
IMPURE_HEADERS = re.compile(
    r"<(fstream|filesystem|iostream|thread|mutex|shared_mutex|condition_variable|future|atomic"
    r"|semaphore|stop_token|csignal|cstdio|stdio\.h|ctime|time\.h|unistd\.h|fcntl\.h|pthread\.h"
    r"|dirent\.h|sys/[a-z_]+\.h|spdlog/.*)>"
)
IMPURE_CODE = {
    r"::now\s*\(": "a clock",
    r"\b(secure_)?getenv\s*\(|\bsetenv\s*\(|\benviron\b": "the environment",
    r"\bs?rand(om)?\s*\(|\bdrand48\s*\(|\brandom_device\b": "a random number that no seed fixes",
    r"\bfilesystem\b": "the file system",
    r"\bfopen\s*\(|::open\s*\(": "a file",
    r"\bspdlog\b|\bstd::(cout|cerr|clog)\b": "a log",
    r"\bthread_local\b|\bstd::(thread|jthread|async)\b": "a thread",
}

# Vendor headers that only these places may include (prefixes of paths).
VENDOR_HEADERS = {
    r"<slurm/": ("src/slurmtune/execute/libslurm/", "tests/cluster/"),
    r"<mpi\.h>": ("src/slurmtune/runner/", "examples/", "tests/mpi/", "tests/cluster/"),
    r"<(cuda|cublas|nvml|nccl)": (),  # .cu and .cuh only, see check_vendors
}

# Large headers that every includer of a header of ours would pay for.
HEAVY_HEADERS = re.compile(r"<(nlohmann/json\.hpp|toml\+\+/.*|CLI/.*|spdlog/.*|muParser.*|mpi\.h)>")

# An error is a value, and an argument list is an array: nothing but main ends the process.
FORBIDDEN_CALLS = re.compile(r"(?<![\w.>])(?:exit|quick_exit|system|popen)\s*\(")

LINES_MAX = 400
COLUMNS_MAX = 100
CPP = {".cpp", ".hpp", ".cu", ".cuh"}
SCRIPTS = {".sh", ".py", ".sbatch"}
SIZED_TREES = ("src/", "examples/", "tests/", "scripts/", "cmake/")
SKIPPED_DIRECTORIES = {".git", "build", "__pycache__", ".cache"}
# Texts that are compared byte by byte, or were written by other programs.
DATA_TREES = ("tests/golden/", "tests/data/", "tests/fuzz/corpus/")


class Source:
    """A file: its lines, and for C++ its lines without comments and strings."""

    def __init__(self, root, path):
        self.path = path
        self.suffix = Path(path).suffix
        self.text = (Path(root) / path).read_text(encoding="utf-8", errors="replace")
        self.lines = self.text.splitlines()
        self.code = strip_cpp(self.text).splitlines() if self.suffix in CPP else []

    def room(self):
        parts = self.path.split("/")
        return parts[2] if parts[:2] == ["src", "slurmtune"] and len(parts) > 3 else None

    def includes(self):
        """Yields (line number, the included name with its quotes or brackets)."""
        for number, line in enumerate(self.lines, 1):
            found = re.match(r'\s*#\s*include\s*(<[^>]+>|"[^"]+")', line)
            if found:
                yield number, found.group(1)


def strip_cpp(text):
    """Blanks comments, string and character literals; line numbers stay."""
    pattern = re.compile(
        r'//[^\n]*|/\*.*?\*/|R"([^(\s]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'',
        re.DOTALL,
    )

    def blank(found):
        if found.group(0).startswith("'") and found.start() and text[found.start() - 1].isalnum():
            return found.group(0)  # 1'000'000
        return re.sub(r"[^\n]", " ", found.group(0))

    return pattern.sub(blank, text)


def check_direction(source):
    room = source.room()
    if source.suffix not in CPP or room is None:
        return
    if room not in ROOMS:
        yield 1, "room", f"'{room}' is not a room; the rooms are in tests/style/check_style.py"
        return
    for line, name in source.includes():
        if name.startswith('"') and not name.startswith('"slurmtune/'):
            yield line, "include", f"write {name} as \"slurmtune/<room>/…\""
            continue
        found = re.match(r'["<]slurmtune/([a-z_]+)/', name)
        if found and found.group(1) not in ROOMS[: ROOMS.index(room) + 1]:
            yield line, "direction", f"{room} must not include {found.group(1)}: it comes later"


def check_purity(source):
    if source.suffix not in CPP or source.room() not in PURE_ROOMS:
        return
    for line, name in source.includes():
        if IMPURE_HEADERS.match(name):
            yield line, "purity", f"the room {source.room()} is pure and must not include {name}"
    for number, code in enumerate(source.code, 1):
        if code.lstrip().startswith("#"):
            continue
        for pattern, what in IMPURE_CODE.items():
            if re.search(pattern, code):
                yield number, "purity", f"the room {source.room()} is pure; this is {what}"


def check_vendors(source):
    if source.suffix not in CPP or source.suffix in {".cu", ".cuh"}:
        return
    for line, name in source.includes():
        for pattern, places in VENDOR_HEADERS.items():
            if re.match(pattern, name) and not source.path.startswith(places or "\0"):
                where = " or ".join(places) or ".cu files"
                yield line, "vendor", f"{name} may be included only by {where}"


def check_heavy(sources):
    """A header with a heavy include may serve the .cpp files of its room, but no other header."""
    headers = [s for s in sources if s.suffix == ".hpp" and s.room()]
    heavy = {
        f'"{source.path.removeprefix("src/")}"': name
        for source in headers
        for _, name in source.includes()
        if HEAVY_HEADERS.match(name)
    }
    for source in sources:
        for line, name in source.includes() if source.room() else ():
            if name not in heavy:
                continue
            if source.suffix == ".hpp" or f'"slurmtune/{source.room()}/' not in name:
                yield source.path, line, "heavy", f"{name} drags in {heavy[name]}"


def check_calls(source):
    if source.suffix not in CPP or not source.path.startswith(("src/", "examples/")):
        return
    if Path(source.path).name == "main.cpp":
        return
    for number, code in enumerate(source.code, 1):
        found = FORBIDDEN_CALLS.search(code)
        if found:
            yield number, "call", f"{found.group(0)}…) only in main.cpp: return an Error instead"


def check_size(source):
    written = source.suffix in CPP | SCRIPTS | {".cmake"}
    if not written and Path(source.path).name != "CMakeLists.txt":
        return
    if source.path.startswith(SIZED_TREES) and len(source.lines) > LINES_MAX:
        yield LINES_MAX + 1, "length", f"{len(source.lines)} lines, at most {LINES_MAX}"
    for number, line in enumerate(source.lines, 1):
        if len(line) > COLUMNS_MAX:
            yield number, "columns", f"{len(line)} columns, at most {COLUMNS_MAX}"
        if line != line.rstrip():
            yield number, "space", "white space at the end of the line"
    if source.text and not source.text.endswith("\n"):
        yield len(source.lines), "space", "no newline at the end of the file"


def check_licence(source):
    name = Path(source.path).name
    licensed = source.suffix in CPP | SCRIPTS | {".cmake"} or name in {"CMakeLists.txt", "Makefile"}
    if not licensed and not source.text.startswith("#!"):
        return
    if not any("SPDX-License-Identifier: MIT" in line for line in source.lines[:3]):
        yield 1, "licence", "the first lines lack 'SPDX-License-Identifier: MIT'"


CHECKS = (check_direction, check_purity, check_vendors, check_calls, check_size, check_licence)


def files(root):
    for directory, names, leaves in os.walk(root):
        names[:] = sorted(n for n in names if n not in SKIPPED_DIRECTORIES)
        for leaf in sorted(leaves):
            path = os.path.relpath(os.path.join(directory, leaf), root)
            if not path.startswith(DATA_TREES) and not os.path.islink(os.path.join(root, path)):
                yield path


def violations(root):
    sources = [Source(root, path) for path in files(root)]
    for source in sources:
        for check in CHECKS:
            for line, rule, what in check(source):
                yield f"{source.path}:{line}: [{rule}] {what}"
    for path, line, rule, what in check_heavy(sources):
        yield f"{path}:{line}: [{rule}] {what}"


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parents[2]
    found = list(violations(root))
    print("\n".join(found) if found else f"{sum(1 for _ in files(root))} files, no violation")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
