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
  } else if (!std::isfinite(value)) {
    return;
  } else if (name == "step") {
    report.step = std::llround(value);
  } else if (name == "step_s") {
    if (value > 0) report.step_s = value;
  } else if (name == "samples") {
    if (value > 0) report.samples = value;
  } else {
    report.user[name] = value;
  }
}

}  // namespace

Expected<StepPattern> StepPattern::compile(std::string_view pattern) {
  // std::regex knows no names: each `(?<name>` becomes `(`, and its number is kept.
  StepPattern compiled;
  std::string plain;
  std::size_t groups = 0;
  bool in_class = false;
  for (std::size_t at = 0; at < pattern.size(); ++at) {
    const char character = pattern[at];
    plain += character;
    if (character == '\\' && at + 1 < pattern.size()) {
      plain += pattern[++at];
    } else if (in_class) {
      in_class = character != ']';
    } else if (character == '[') {
      in_class = true;
    } else if (character == '(') {
      const std::string_view rest = pattern.substr(at + 1);
      const std::size_t head = rest.starts_with("?P<") ? 3 : rest.starts_with("?<") ? 2 : 0;
      const bool looks_behind = head == 2 && rest.size() > 2 && (rest[2] == '=' || rest[2] == '!');
      if (head != 0 && !looks_behind) {
        const std::size_t end = rest.find('>');
        if (end == std::string_view::npos) {
          return invalid_input(
              fmt::format("measure.pattern '{}': a group's name lacks its '>'", pattern));
        }
        compiled.groups_.push_back({++groups, std::string(rest.substr(head, end - head))});
        at += end + 1;
      } else if (!rest.starts_with('?')) {
        ++groups;
      }
    }
  }
  if (compiled.groups_.empty()) {
    return invalid_input(fmt::format(
        "measure.pattern '{}' has no named group; write e.g. step (?<step>\\d+)", pattern));
  }
  try {
    compiled.expression_ = std::regex(plain, std::regex::ECMAScript | std::regex::optimize);
  } catch (const std::regex_error& error) {
    return invalid_input(fmt::format("measure.pattern '{}': {}", pattern, error.what()));
  }
  return compiled;
}

std::optional<StepReport> StepPattern::match(std::string_view line) const {
  const std::string_view head = line.substr(0, line_bytes_max);
  std::match_results<std::string_view::const_iterator> found;
  if (!std::regex_search(head.begin(), head.end(), found, expression_)) return std::nullopt;
  StepReport report;
  for (const Group& group : groups_) {
    if (!found[group.index].matched) continue;
    if (const auto value = number_of(found[group.index].str())) {
      put_group(report, group.name, *value);
    }
  }
  return report;
}

}  // namespace slurmtune
