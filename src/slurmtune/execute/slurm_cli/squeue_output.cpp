// SPDX-License-Identifier: MIT
#include "slurmtune/execute/slurm_cli/squeue_output.hpp"

#include <array>
#include <charconv>
#include <ctime>
#include <optional>
#include <string>

#include <sys/wait.h>

#include "slurmtune/execute/slurm_words.hpp"

namespace slurmtune {
namespace {

std::optional<std::int64_t> number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// The fields of a line with bars between them; the last may hold bars itself.
template <std::size_t n>
std::optional<std::array<std::string_view, n>> fields_of(std::string_view line) {
  std::array<std::string_view, n> field;
  for (std::size_t i = 0; i + 1 < n; ++i) {
    const std::size_t bar = line.find('|');
    if (bar == std::string_view::npos) return std::nullopt;
    field[i] = line.substr(0, bar);
    line.remove_prefix(bar + 1);
  }
  field.back() = line;
  return field;
}

/// `2026-12-01T04:00:00`, in the time zone of whoever asks; absent for `N/A`.
std::optional<Instant> local_time(std::string_view text) {
  std::tm local{};
  const std::string whole(text);
  const char* end = ::strptime(whole.c_str(), "%Y-%m-%dT%H:%M:%S", &local);
  if (end == nullptr || *end != '\0') return std::nullopt;
  local.tm_isdst = -1;
  const std::time_t at = std::mktime(&local);
  if (at == static_cast<std::time_t>(-1)) return std::nullopt;
  return Instant{std::chrono::seconds(at)};
}

/// What wait(2) said of the script.
void set_status(JobReport& report, int status) {
  if (!is_over(report.state)) return;
  if (WIFSIGNALED(status)) {
    report.signal = WTERMSIG(status);
  } else {
    report.exit_code = WEXITSTATUS(status);
  }
}

std::optional<JobReport> parse_squeue_line(std::string_view line) {
  const auto field = fields_of<9>(line);
  if (!field) return std::nullopt;
  const auto& [id, index, state, status, restarts, start, reason, nodes, name] = *field;
  const auto job = number(id);
  if (!job) return std::nullopt;
  JobReport report{.job = JobId{*job},
                   // "N/A" for a single job, "3-9%2" for the pending rest of an array
                   .task = number(index),
                   .name = std::string(name),
                   .state = job_state_named(state),
                   .reason = std::string(reason),
                   .nodes = std::string(nodes)};
  // One task alone may be the pending rest; it is not told from it by its number.
  if (is_waiting(report.state)) {
    report.task.reset();
    report.starts = local_time(start);
  }
  if (const auto code = number(status)) set_status(report, static_cast<int>(*code));
  if (const auto times = number(restarts)) report.restarts = static_cast<int>(*times);
  return report;
}

std::optional<JobReport> parse_sacct_line(std::string_view line, std::int64_t owner) {
  const auto field = fields_of<5>(line);
  if (!field) return std::nullopt;
  const auto& [id, state, exit, nodes, name] = *field;
  const std::size_t underscore = id.find('_');  // 4711_3, 4711_[4-7%2]
  const auto job = number(id.substr(0, underscore));
  if (!job) return std::nullopt;
  JobReport report{.job = JobId{*job},
                   .task = std::nullopt,
                   .name = std::string(name),
                   .state = job_state_named(state),
                   .reason = "",
                   .nodes = nodes == "None assigned" ? "" : std::string(nodes)};
  if (!is_over(report.state)) return std::nullopt;
  if (underscore != std::string_view::npos) {
    report.task = number(id.substr(underscore + 1));
    if (!report.task) return std::nullopt;
  }
  const std::size_t colon = exit.find(':');  // exit code and signal
  if (colon != std::string_view::npos) {
    const auto signal = number(exit.substr(colon + 1));
    const auto code = number(exit.substr(0, colon));
    if (signal && *signal != 0) {
      report.signal = static_cast<int>(*signal);
    } else if (code) {
      report.exit_code = static_cast<int>(*code);
    }
  }
  constexpr std::string_view by = "CANCELLED by ";
  if (state.starts_with(by)) {
    const auto who = number(state.substr(by.size()));
    if (who) report.cancelled_by = *who == owner ? CancelledBy::owner : CancelledBy::other;
  }
  return report;
}

template <class ParseLine>
std::vector<JobReport> parse_lines(std::string_view output, const ParseLine& parse_line) {
  std::vector<JobReport> reports;
  while (!output.empty()) {
    const std::size_t newline = output.find('\n');
    if (auto report = parse_line(output.substr(0, newline))) reports.push_back(*std::move(report));
    if (newline == std::string_view::npos) break;
    output.remove_prefix(newline + 1);
  }
  return reports;
}

}  // namespace

std::vector<JobReport> parse_squeue(std::string_view output) {
  return parse_lines(output, parse_squeue_line);
}

std::vector<JobReport> parse_sacct(std::string_view output, std::int64_t owner) {
  return parse_lines(output, [&](std::string_view line) { return parse_sacct_line(line, owner); });
}

}  // namespace slurmtune
