// SPDX-License-Identifier: MIT
//
// tests/data/failure-logs/<rule>[.<variant>].log: what a trial wrote that failed so. Their first
// line tells the rest: `# exit=1 signal=9 rank=3 steps=12 memory=0.97 kernel`.
#include <charconv>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "slurmtune/runner/judge/classify.hpp"
#include "slurmtune/runner/judge/failure_rules.hpp"

#include "tests/support/catch.hpp"

namespace slurmtune {

namespace {

namespace fs = std::filesystem;

struct FailureLog {
  std::string rule;  ///< `none` = none decides
  std::string file;
  TrialEnd end;
};

void read_head(const std::string& head, TrialEnd& end) {
  RankFailure first;
  std::istringstream words(head);
  for (std::string word; words >> word;) {
    const std::size_t equals = word.find('=');
    const std::string key = word.substr(0, equals);
    const double value = equals == std::string::npos ? 1.0 : std::stod(word.substr(equals + 1));
    const int number = static_cast<int>(value);
    if (key == "exit") end.exit_code = number;
    if (key == "signal") end.signal = number;
    if (key == "steps") end.steps_seen = number;
    if (key == "memory") end.peak_host_fraction = value;
    if (key == "kernel") end.out_of_memory_kill = true;
    if (key == "rank") first.rank = number;
  }
  if (!first.rank) return;
  first.exit_code = end.exit_code;
  first.signal = end.signal;
  end.first_failure = first;
}

std::vector<FailureLog> failure_logs() {
  std::vector<FailureLog> logs;
  for (const auto& entry :
       fs::directory_iterator(SLURMTUNE_SOURCE_DIR "/tests/data/failure-logs")) {
    FailureLog log;
    log.file = entry.path().filename().string();
    log.rule = log.file.substr(0, log.file.find('.'));
    std::ifstream in(entry.path());
    std::string line;
    REQUIRE(std::getline(in, line));
    REQUIRE(line.starts_with("# "));
    read_head(line.substr(2), log.end);
    while (std::getline(in, line)) {
      const OutputLine stripped = strip_prefix(line);
      log.end.lines.emplace_back(stripped.text);
      log.end.line_ranks.push_back(stripped.rank);
    }
    logs.push_back(std::move(log));
  }
  return logs;
}

}  // namespace

TEST_CASE("failure_rules: every rule decides about the logs of its name, and no other",
          "[runner]") {
  for (const FailureLog& log : failure_logs()) {
    INFO(log.file);
    const Classified classified = classify(log.end);
    if (log.rule == "none") {
      CHECK(classified.outcome == Outcome::crashed);
      CHECK_FALSE(classified.reason.starts_with("rule:"));
    } else {
      CHECK(classified.reason == "rule:" + log.rule);
    }
    REQUIRE(classified.evidence.has_value());
    CHECK_FALSE(classified.evidence->line.empty());
  }
}

TEST_CASE("failure_rules: every rule has a log", "[runner]") {
  std::set<std::string> told;
  for (const FailureLog& log : failure_logs()) told.insert(log.rule);
  for (const FailureRule& rule : failure_rules()) {
    INFO(rule.name);
    CHECK(told.count(rule.name) == 1);
  }
}

TEST_CASE("failure_rules: none of the logs decides about a trial that exits well", "[runner]") {
  for (FailureLog log : failure_logs()) {
    INFO(log.file);
    log.end.exit_code = 0;
    log.end.signal.reset();
    log.end.first_failure.reset();
    log.end.out_of_memory_kill = false;
    log.end.steps_seen = 20;
    log.end.measured_steps = 18;
    log.end.has_interval = true;
    CHECK(classify(log.end).outcome == Outcome::ok);
  }
}

TEST_CASE("failure_rules: without its words, a log decides nothing", "[runner]") {
  for (FailureLog log : failure_logs()) {
    INFO(log.file);
    for (std::string& line : log.end.lines) line = "WARNING, seen in another run: \"" + line + "\"";
    log.end.out_of_memory_kill = false;
    log.end.peak_host_fraction.reset();
    const Classified classified = classify(log.end);
    // Sentences that are the same wherever they stand, and exit 2, which refuses arguments.
    const std::set<std::string> anywhere{"shared-library", "collective-timeout", "peer-gone"};
    const bool by_code = log.end.exit_code == 2 || log.end.exit_code == 127;
    if (anywhere.count(log.rule) == 0 && !by_code) CHECK(classified.outcome == Outcome::crashed);
  }
}

}  // namespace slurmtune
