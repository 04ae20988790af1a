// SPDX-License-Identifier: MIT
#include "slurmtune/execute/slurm_cli/squeue_output.hpp"

#include <array>
#include <charconv>
#include <optional>

#include "slurmtune/execute/slurm_words.hpp"

namespace slurmtune {
namespace {

constexpr std::size_t fields = 6;

std::optional<std::int64_t> number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<JobReport> parse_line(std::string_view line) {
  std::array<std::string_view, fields> field;
  for (std::size_t i = 0; i + 1 < fields; ++i) {
    const std::size_t bar = line.find('|');
    if (bar == std::string_view::npos) return std::nullopt;
    field[i] = line.substr(0, bar);
    line.remove_prefix(bar + 1);
  }
  field.back() = line;
  const auto job = number(field[0]);
  if (!job) return std::nullopt;
  return JobReport{.job = JobId{*job},
                   // "N/A" for a single job, "3-9%2" for the pending rest of an array
                   .task = number(field[1]),
                   .name = std::string(field[5]),
                   .state = job_state_named(field[2]),
                   .reason = std::string(field[3]),
                   .nodes = std::string(field[4])};
}

}  // namespace

std::vector<JobReport> parse_squeue(std::string_view output) {
  std::vector<JobReport> reports;
  while (!output.empty()) {
    const std::size_t newline = output.find('\n');
    if (auto report = parse_line(output.substr(0, newline))) reports.push_back(*std::move(report));
    if (newline == std::string_view::npos) break;
    output.remove_prefix(newline + 1);
  }
  return reports;
}

}  // namespace slurmtune
