#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Plants one violation of each rule and expects check_style.py to find it, and only it."""

import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import check_style  # noqa: E402

SPDX = "// SPDX-License-Identifier: MIT\n"
ROOM = "src/slurmtune/"

# (rule, path, text after the licence line)
PLANTED = (
    ("direction", ROOM + "record/a.cpp", '#include "slurmtune/plan/plan.hpp"\n'),
    ("direction", ROOM + "study/a.hpp", '#include "slurmtune/cli/main.hpp"\n'),
    ("direction", ROOM + "base/a.hpp", "#include <slurmtune/record/ids.hpp>\n"),
    ("include", ROOM + "plan/a.cpp", '#include "plan.hpp"\n'),
    ("room", ROOM + "misc/a.cpp", "int x;\n"),
    ("purity", ROOM + "analyze/a.cpp", "#include <fstream>\n"),
    ("purity", ROOM + "record/a.cpp", "#include <spdlog/spdlog.h>\n"),
    ("purity", ROOM + "model/a.cpp", "#include <sys/stat.h>\n"),
    ("purity", ROOM + "space/a.cpp", "auto t = std::chrono::steady_clock::now();\n"),
    ("purity", ROOM + "search/a.cpp", "int r = std::rand();\n"),
    ("purity", ROOM + "search/b.cpp", "std::random_device device;\n"),
    ("purity", ROOM + "generate/a.cpp", 'auto home = std::getenv("HOME");\n'),
    ("purity", ROOM + "plan/a.hpp", "std::filesystem::path path;\n"),
    ("purity", ROOM + "input/a.cpp", "thread_local int count = 0;\n"),
    ("vendor", ROOM + "execute/scheduler.cpp", "#include <slurm/slurm.h>\n"),
    ("vendor", ROOM + "tune/a.cpp", "#include <mpi.h>\n"),
    ("vendor", "examples/minitrain/a.cpp", "#include <cuda_runtime.h>\n"),
    ("call", ROOM + "tune/a.cpp", "void f() { std::exit(1); }\n"),
    ("call", "examples/minitrain/a.cpp", "int f() { return system(0); }\n"),
    ("length", ROOM + "tune/a.cpp", "int f();\n" * 400),
    ("columns", ROOM + "tune/a.cpp", "// " + "x" * 98 + "\n"),
    ("space", ROOM + "tune/a.cpp", "int f(); \n"),
    ("space", ROOM + "tune/b.cpp", "int f();"),
)

CLEAN = (
    (ROOM + "plan/plan.cpp", '#include "slurmtune/record/ids.hpp"\n#include <vector>\n'),
    (ROOM + "record/a.cpp", 'const char* s = "std::exit(1) and ::now()";  // getenv("HOME")\n'),
    (ROOM + "record/b.cpp", "constexpr int n = 1'000'000;\nchar c = '\"';\nint begin_run(int);\n"),
    (ROOM + "cli/main.cpp", "int f() { std::exit(1); }\n"),
    (ROOM + "runner/spawner.cpp", "#include <mpi.h>\nvoid child() { ::_exit(127); }\n"),
    (ROOM + "execute/libslurm/client.cpp", "#include <slurm/slurm.h>\n"),
    (ROOM + "study/journal.cpp", "#include <filesystem>\nauto t = clock.now();\n"),
    ("examples/minitrain/kernels.cu", "#include <cuda_runtime.h>\n"),
)


def check(planted):
    with tempfile.TemporaryDirectory() as root:
        for path, text in planted:
            file = Path(root) / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        return list(check_style.violations(root))


class CheckStyle(unittest.TestCase):
    def test_every_planted_violation_is_found_and_nothing_else(self):
        for rule, path, text in PLANTED:
            with self.subTest(rule=rule, path=path):
                found = check([(path, SPDX + text)])
                self.assertEqual(len(found), 1, found)
                self.assertIn(f"[{rule}]", found[0])
                self.assertTrue(found[0].startswith(path + ":"), found)

    def test_a_file_without_a_licence_line_is_found(self):
        for path in (ROOM + "plan/a.cpp", "cmake/A.cmake", "scripts/a.sh", "CMakeLists.txt"):
            self.assertIn("[licence]", "".join(check([(path, "\n")])))

    def test_a_heavy_header_is_for_the_sources_of_its_room(self):
        heavy = (ROOM + "record/json_text.hpp", SPDX + "#include <nlohmann/json.hpp>\n")
        include = SPDX + '#include "slurmtune/record/json_text.hpp"\n'
        self.assertEqual(check([heavy, (ROOM + "record/a.cpp", include)]), [])
        for path in ("record/a.hpp", "plan/a.cpp"):
            self.assertIn("[heavy]", "".join(check([heavy, (ROOM + path, include)])))

    def test_a_clean_tree_has_no_violation(self):
        self.assertEqual(check([(path, SPDX + text) for path, text in CLEAN]), [])

    def test_every_rule_has_a_planted_violation(self):
        source = Path(check_style.__file__).read_text(encoding="utf-8")
        rules = {rule for rule, _, _ in PLANTED} | {"licence", "heavy"}
        for rule in rules:
            self.assertIn(f'"{rule}", ', source)
        yielded = set(check_style.re.findall(r'yield [^\n"]+, "([a-z]+)", ', source))
        self.assertEqual(yielded, rules)


if __name__ == "__main__":
    unittest.main()
