// SPDX-License-Identifier: MIT
#include "slurmtune/runner/judge/launch_report.hpp"

#include <array>
#include <charconv>
#include <regex>
#include <string_view>
#include <system_error>

namespace slurmtune {

namespace {

struct SignalWord {
  std::string_view word;
  int signal;
};

// The words of strsignal(3), by which srun tells a signal.
constexpr std::array<SignalWord, 7> signal_words{{{"Segmentation fault", 11},
                                                  {"Killed", 9},
                                                  {"Out Of Memory", 9},
                                                  {"Aborted", 6},
                                                  {"Bus error", 7},
                                                  {"Floating point exception", 8},
                                                  {"Illegal instruction", 4}}};

void read_srun(const std::string& line, RankFailure& failure) {
  static const std::regex form(R"(^srun: error: (\S+): tasks? (\d+)[^:]*: (.*)$)");
  std::smatch found;
  if (failure.rank || !std::regex_match(line, found, form)) return;
  const std::string says = found[3];
  constexpr std::string_view exited = "Exited with exit code ";
  std::optional<int> signal;
  for (const SignalWord& word : signal_words) {
    if (says.find(word.word) != std::string::npos) signal = word.signal;
  }
  if (!signal && !says.starts_with(exited)) return;
  failure.node = found[1];
  failure.rank = std::stoi(found[2]);
  failure.signal = signal;
  if (!signal) failure.exit_code = std::stoi(says.substr(exited.size()));
}

void read_mpirun(const std::string& line, RankFailure& failure) {
  static const std::regex signalled(
      R"(^mpirun noticed that process rank (\d{1,9}) with PID \d+ on node (\S+) )"
      R"(exited on signal (\d{1,3}))");
  static const std::regex name(R"(^\s*Process name: \[\[\d+,\d+\],(\d{1,9})\])");
  static const std::regex code(R"(^\s*Exit code:\s+(\d{1,9}))");
  static const std::regex aborted(R"(^MPI_ABORT was invoked on rank (\d{1,9}) )");
  static const std::regex errorcode(R"(^with errorcode (\d{1,9})\.)");
  std::smatch found;
  if (std::regex_search(line, found, signalled)) {
    if (failure.rank) return;
    failure.rank = std::stoi(found[1]);
    failure.node = found[2];
    failure.signal = std::stoi(found[3]);
  } else if (std::regex_search(line, found, name) || std::regex_search(line, found, aborted)) {
    if (!failure.rank) failure.rank = std::stoi(found[1]);
  } else if (std::regex_search(line, found, code) || std::regex_search(line, found, errorcode)) {
    if (!failure.exit_code && !failure.signal) failure.exit_code = std::stoi(found[1]);
  }
}

void take_status(int code, RankFailure& failure) {
  // Python tells a signal by a negative exit code.
  if (code < 0) failure.signal = -code;
  if (code > 0) failure.exit_code = code;
}

/// torchrun's table; `in_root_cause` is kept from line to line.
void read_torchrun(const std::string& line, bool& in_root_cause, RankFailure& failure) {
  if (line.starts_with("Root Cause (first observed failure):")) {
    in_root_cause = true;
    failure = {};
    return;
  }
  if (!in_root_cause) return;
  static const std::regex row(R"(^\s+(host|rank|exitcode)\s*: (\S+))");
  std::smatch found;
  if (!std::regex_search(line, found, row)) return;
  const std::string key = found[1];
  const std::string value = found[2];
  int number = 0;
  const bool is_number =
      std::from_chars(value.data(), value.data() + value.size(), number).ec == std::errc{};
  if (key == "host") failure.node = value;
  if (key == "rank" && is_number) failure.rank = number;
  if (key == "exitcode" && is_number) take_status(number, failure);
}

/// DeepSpeed's own launcher tells no rank.
void read_deepspeed(const std::string& line, RankFailure& failure) {
  static const std::regex form(R"(\[launch\.py:\d+:\w+\] .* exits with return code = (-?\d{1,9}))");
  std::smatch found;
  if (failure.exit_code || failure.signal || !std::regex_search(line, found, form)) return;
  take_status(std::stoi(found[1]), failure);
}

}  // namespace

RankFailure read_launch_report(std::span<const std::string> lines) {
  constexpr std::size_t line_bytes_max = 1024;
  RankFailure failure;
  bool in_root_cause = false;
  for (const std::string& line : lines) {
    if (line.size() > line_bytes_max) continue;
    if (line.starts_with("srun: ")) {
      read_srun(line, failure);
    } else {
      read_mpirun(line, failure);
      read_torchrun(line, in_root_cause, failure);
      read_deepspeed(line, failure);
    }
  }
  return failure;
}

}  // namespace slurmtune
