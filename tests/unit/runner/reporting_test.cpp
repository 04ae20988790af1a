// SPDX-License-Identifier: MIT
//
// templates/reporting: what the helpers write, our parser reads.
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "slurmtune/runner/measure/step_report.hpp"

#include "templates/reporting/slurmtune_metrics.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/temporary_directory.hpp"

namespace slurmtune {

namespace {

std::vector<StepReport> reports_in(const std::string& path) {
  std::vector<StepReport> reports;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    const auto report = parse_metrics_line(line);
    REQUIRE(report.has_value());
    reports.push_back(*report);
  }
  return reports;
}

}  // namespace

TEST_CASE("slurmtune_metrics.hpp: the runner reads what it writes", "[runner]") {
  const TemporaryDirectory directory;
  const std::string path = directory / "metrics.jsonl";
  REQUIRE(::setenv("SLURMTUNE_METRICS", path.c_str(), 1) == 0);
  REQUIRE(::unsetenv("RANK") == 0);
  slurmtune_report(1, {{"step_s", 0.125}, {"samples", 64.0}, {"bubble", 0.1}});
  slurmtune_report(2, {{"step_s", 0.25}, {"loss", std::nan("")}});
  REQUIRE(::unsetenv("SLURMTUNE_METRICS") == 0);
  const auto reports = reports_in(path);
  REQUIRE(reports.size() == 2);
  CHECK(reports[0].step == 1);
  CHECK(reports[0].step_s == 0.125);
  CHECK(reports[0].samples == 64.0);
  CHECK(reports[0].user.at("bubble") == 0.1);
  CHECK(reports[1].step == 2);
  CHECK(std::isnan(reports[1].loss.value()));
}

TEST_CASE("slurmtune_metrics.py: the runner reads what it writes", "[runner]") {
  const TemporaryDirectory directory;
  const std::string program =
      directory.write("train.py",
                      "import sys\n"
                      "sys.path.insert(0, sys.argv[1])\n"
                      "from slurmtune_metrics import report\n"
                      "report(1, step_s=0.125, samples=64, loss=2.5)\n"
                      "report(2, step_s=0.25, loss=float('nan'), tokens=1e6, absent=None)\n");
  const auto run = [&](const std::string& environment) {
    const std::string command = environment + " python3 -B '" + program +
                                "' '" SLURMTUNE_SOURCE_DIR "/templates/reporting'";
    return std::system(command.c_str());
  };
  const std::string path = directory / "metrics.jsonl";
  REQUIRE(run("SLURMTUNE_METRICS='" + path + "' RANK=0") == 0);
  const auto reports = reports_in(path);
  REQUIRE(reports.size() == 2);
  CHECK(reports[0].step == 1);
  CHECK(reports[0].step_s == 0.125);
  CHECK(reports[0].samples == 64.0);
  CHECK(reports[0].loss == 2.5);
  CHECK(reports[1].user.at("tokens") == 1e6);
  CHECK(reports[1].user.count("absent") == 0);
  CHECK(std::isnan(reports[1].loss.value()));

  // Other ranks write nothing; without slurmtune nothing happens.
  const std::string other = directory / "other.jsonl";
  CHECK(run("SLURMTUNE_METRICS='" + other + "' RANK=1") == 0);
  CHECK_FALSE(std::filesystem::exists(other));
  CHECK(run("env -u SLURMTUNE_METRICS") == 0);
}

TEST_CASE("slurmtune_metrics.py: has at most 30 lines", "[runner]") {
  std::ifstream in(SLURMTUNE_SOURCE_DIR "/templates/reporting/slurmtune_metrics.py");
  int lines = 0;
  for (std::string line; std::getline(in, line);) ++lines;
  CHECK(lines > 10);
  CHECK(lines <= 30);
}

}  // namespace slurmtune
