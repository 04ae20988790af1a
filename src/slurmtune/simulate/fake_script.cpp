// SPDX-License-Identifier: MIT
#include "slurmtune/simulate/fake_script.hpp"

#include <charconv>
#include <cmath>
#include <fstream>
#include <iterator>
#include <system_error>
#include <vector>

#include <fmt/format.h>

namespace slurmtune {

namespace {

template <class Number>
std::optional<Number> number_of(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// `M`, `M:S`, `H:M:S`, each also after `D-`; with a day, the first number is hours.
std::optional<std::chrono::seconds> walltime_of(std::string_view text) {
  std::int64_t days = 0;
  const std::size_t dash = text.find('-');
  if (dash != std::string_view::npos) {
    const auto given = number_of<std::int64_t>(text.substr(0, dash));
    if (!given) return std::nullopt;
    days = *given;
    text.remove_prefix(dash + 1);
  }
  std::vector<std::int64_t> parts;
  for (;;) {
    const std::size_t colon = text.find(':');
    const auto part = number_of<std::int64_t>(text.substr(0, colon));
    if (!part || *part < 0) return std::nullopt;
    parts.push_back(*part);
    if (colon == std::string_view::npos) break;
    text.remove_prefix(colon + 1);
  }
  if (parts.size() > 3) return std::nullopt;
  const bool hours_first = dash != std::string_view::npos || parts.size() == 3;
  if (!hours_first) parts.insert(parts.begin(), 0);
  parts.resize(3, 0);
  return std::chrono::seconds(((days * 24 + parts[0]) * 60 + parts[1]) * 60 + parts[2]);
}

std::string_view without_quotes(std::string_view value) {
  if (value.size() >= 2 && value.front() == value.back() &&
      (value.front() == '"' || value.front() == '\'')) {
    return value.substr(1, value.size() - 2);
  }
  return value;
}

Expected<void> read_directive(std::string_view directive, FakeScript& script) {
  const std::size_t equals = directive.find('=');
  const std::string_view key = directive.substr(0, equals);
  const std::string_view value =
      equals == std::string_view::npos ? "" : without_quotes(directive.substr(equals + 1));
  if (key == "--partition") script.partition = value;
  if (key == "--exclusive") script.exclusive = true;
  if (key == "--nodes") {
    const auto nodes = number_of<int>(value);
    if (!nodes || *nodes < 1) {
      return invalid_input(fmt::format("invalid number of nodes: '{}'", value));
    }
    script.nodes = *nodes;
  }
  if (key == "--time") {
    script.walltime = walltime_of(value);
    if (!script.walltime) return invalid_input(fmt::format("invalid time limit: '{}'", value));
  }
  return {};
}

}  // namespace

Expected<FakeScript> parse_fake_script(std::string_view text) {
  if (!text.starts_with("#!")) {
    return invalid_input(
        "this does not look like a batch script: the first line must start with "
        "#! followed by the path to an interpreter");
  }
  constexpr std::string_view directive_head = "#SBATCH ";
  FakeScript script;
  while (!text.empty()) {
    const std::size_t newline = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, newline);
    text.remove_prefix(std::min(newline + 1, text.size()));
    if (line.starts_with(directive_head)) {
      SLURMTUNE_CHECK(read_directive(line.substr(directive_head.size()), script));
    } else if (line.starts_with("sleep ")) {
      const double seconds = number_of<double>(line.substr(6)).value_or(0.0);
      script.sleep += std::chrono::milliseconds(std::llround(seconds * 1000.0));
    } else if (line.starts_with("exit ")) {
      script.exit_code = number_of<int>(line.substr(5)).value_or(0);
    }
  }
  return script;
}

Expected<FakeScript> read_fake_script(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return invalid_input(fmt::format("unable to open file {}", path));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return parse_fake_script(text);
}

}  // namespace slurmtune
