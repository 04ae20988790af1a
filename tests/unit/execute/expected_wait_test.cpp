// SPDX-License-Identifier: MIT
#include "slurmtune/execute/expected_wait.hpp"

#include <cstdlib>

#include "tests/support/catch.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace slurmtune;
using Catch::Matchers::Contains;
using namespace std::chrono_literals;

namespace {

/// Puts a sbatch of our own, or none, on PATH for one test.
class FakePath {
 public:
  explicit FakePath(const std::string& sbatch) {
    if (!sbatch.empty()) directory_.write_program("sbatch", "#!/bin/bash\n" + sbatch);
    ::setenv("PATH", (directory_.path().string() + (sbatch.empty() ? "" : ":" + before_)).c_str(),
             1);
  }
  FakePath(const FakePath&) = delete;
  FakePath& operator=(const FakePath&) = delete;
  ~FakePath() { ::setenv("PATH", before_.c_str(), 1); }

 private:
  std::string before_ = std::getenv("PATH");
  TemporaryDirectory directory_;
};

const NodesJob two_nodes{.name = "p", .nodes = 2, .processes_per_node = 4, .walltime = 1800s};

Expected<std::chrono::seconds> wait(std::chrono::milliseconds patience = 5s) {
  return expected_wait({}, two_nodes, Instant{0s}, patience);
}

}  // namespace

TEST_CASE("the expected start is read from what sbatch --test-only prints", "[execute]") {
  // Slurm 22.05.8, on the test cluster.
  const auto start = parse_expected_start(
      "sbatch: Job 7 to start at 2026-12-01T20:00:05 using 8 processors on nodes n[1-2] in "
      "partition batch\n");
  REQUIRE(start);
  CHECK(*start - *parse_expected_start(" to start at 2026-12-01T20:00:00 ") == 5s);
  CHECK_FALSE(parse_expected_start("sbatch: error: Batch job submission failed\n"));
  CHECK_FALSE(parse_expected_start("to start at noon using"));
  CHECK_FALSE(parse_expected_start("Job 7 to start at 2026-12"));
}

TEST_CASE("Slurm is asked for a job as the arrays are, and told to submit nothing", "[execute]") {
  const FakePath path(
      "[[ \" $* \" == *\" --test-only \"* && \" $* \" == *\" --nodes=2 \"* && "
      "\" $* \" == *\" --time=00:30:00 \"* ]] || exit 1\n"
      "echo 'sbatch: Job 7 to start at 1999-12-01T20:00:05 using 8 processors' >&2\n");
  const auto waited = wait();
  REQUIRE(waited);
  CHECK(*waited > std::chrono::hours(24 * 365 * 25));
}

TEST_CASE("a start that is past is no wait", "[execute]") {
  const FakePath path("echo 'sbatch: Job 7 to start at 1999-12-01T20:00:05 using' >&2\n");
  CHECK(expected_wait({}, two_nodes, parse_instant("2026-11-30T12:00:00Z").value(), 5s).value() ==
        0s);
}

TEST_CASE("without sbatch, or an answer of it, the wait is not known, and why is said",
          "[execute]") {
  SECTION("none") {
    const FakePath path("");
    CHECK_THAT(wait().error().message, Contains("not in PATH"));
  }
  SECTION("a refusal") {
    const FakePath path(
        "echo 'sbatch: error: Batch job submission failed: Invalid qos specification' >&2; exit 1");
    CHECK(wait().error().kind == ErrorKind::invalid_input);
    CHECK_THAT(wait().error().message, Contains("Invalid qos specification"));
  }
  SECTION("a controller that hangs") {
    const FakePath path("sleep 30");
    const auto waited = wait(200ms);
    REQUIRE_FALSE(waited);
    CHECK(waited.error().kind == ErrorKind::unavailable);
  }
}
