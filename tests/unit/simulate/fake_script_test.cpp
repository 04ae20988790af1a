// SPDX-License-Identifier: MIT
#include "slurmtune/simulate/fake_script.hpp"

#include "tests/support/catch.hpp"

using namespace slurmtune;
using namespace std::chrono_literals;

namespace {

std::optional<std::chrono::seconds> walltime(const std::string& text) {
  const auto script = parse_fake_script("#!/bin/sh\n#SBATCH --time=" + text + "\n");
  REQUIRE(script);
  return script->walltime;
}

}  // namespace

TEST_CASE("parse_fake_script: reads the directives that matter, and what the script does",
          "[simulate]") {
  const auto script = parse_fake_script(
      "#!/bin/bash\n#SBATCH --partition=\"gpu\"\n#SBATCH --nodes=2\n#SBATCH --exclusive\n"
      "#SBATCH --output=/dev/null\nsleep 1.5\nsleep 2\nexit 3\n");
  REQUIRE(script);
  CHECK(*script == FakeScript{.partition = "gpu",
                              .nodes = 2,
                              .exclusive = true,
                              .walltime = std::nullopt,
                              .sleep = 3500ms,
                              .exit_code = 3});
}

TEST_CASE("parse_fake_script: takes every form of a time limit", "[simulate]") {
  CHECK(walltime("90") == 90min);
  CHECK(walltime("5:30") == 5min + 30s);
  CHECK(walltime("2:05:30") == 2h + 5min + 30s);
  CHECK(walltime("1-2") == 26h);
  CHECK(walltime("1-2:30") == 26h + 30min);
  CHECK(walltime("1-02:30:15") == 26h + 30min + 15s);
}

TEST_CASE("parse_fake_script: refuses what sbatch refuses", "[simulate]") {
  CHECK_FALSE(parse_fake_script("echo no interpreter\n"));
  CHECK_FALSE(parse_fake_script("#!/bin/sh\n#SBATCH --nodes=many\n"));
  CHECK_FALSE(parse_fake_script("#!/bin/sh\n#SBATCH --time=soon\n"));
  const auto absent = read_fake_script("/nowhere/job.sh");
  REQUIRE_FALSE(absent);
  CHECK(absent.error().kind == ErrorKind::invalid_input);
}
