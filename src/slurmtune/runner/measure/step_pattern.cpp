// SPDX-License-Identifier: MIT
#include "slurmtune/runner/measure/step_pattern.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

namespace slurmtune {

namespace {

constexpr std::size_t line_bytes_max = 4096;

/// The text of a group as a number: `1,234.5` and `nan` are numbers, too.
std::optional<double> number_of(std::string text) {
  text.erase(std::remove(text.begin(), text.end(), ','), text.end());
  if (text.empty()) return std::nullopt;
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (end != text.c_str() + text.size()) return std::nullopt;
  return value;
}

void put_group(StepReport& report, const std::string& name, double value) {
  if (name == "loss") {
    report.loss = value;
  } else if (name == "step_s" || name == "samples") {
    take_positive(name == "step_s" ? report.step_s : report.samples, report, name, value);
  } else if (!std::isfinite(value)) {
    return;
  } else if (name == "step") {
    report.step = std::llround(value);
  } else {
    report.user[name] = value;
  }
}

}  // namespace

Expected<StepPattern> StepPattern::compile(std::string_view pattern) {
  auto compiled = compile_named_pattern(pattern);
  if (!compiled) {
    return invalid_input(
        fmt::format("measure.pattern '{}': {}", pattern, compiled.error().message));
  }
  StepPattern steps;
  steps.pattern_ = *std::move(compiled);
  return steps;
}

std::optional<StepReport> StepPattern::match(std::string_view line) const {
  const std::string_view head = line.substr(0, line_bytes_max);
  std::match_results<std::string_view::const_iterator> found;
  if (!std::regex_search(head.begin(), head.end(), found, pattern_.expression)) return std::nullopt;
  StepReport report;
  for (const NamedPattern::Group& group : pattern_.groups) {
    if (!found[group.index].matched) continue;
    if (const auto value = number_of(found[group.index].str())) {
      put_group(report, group.name, *value);
    }
  }
  return report;
}

}  // namespace slurmtune
