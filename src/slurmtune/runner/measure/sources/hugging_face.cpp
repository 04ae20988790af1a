// SPDX-License-Identifier: MIT
#include <array>
#include <string>

#include "slurmtune/runner/measure/sources/line_fields.hpp"
#include "slurmtune/runner/measure/sources/sources.hpp"

namespace slurmtune {

namespace {

/// The number of `'key': value` in a dict as Python prints it; the value may be quoted.
std::optional<double> dict_number(std::string_view line, std::string_view key) {
  const auto rest = text_after(line, std::string("'") + std::string(key) + "': ");
  if (!rest) return std::nullopt;
  return leading_number<double>(rest->starts_with('\'') ? rest->substr(1) : *rest);
}

/// `{'loss': 2.34, 'learning_rate': 5e-05, 'epoch': 0.1}`, and the summary at the end.
std::optional<StepReport> read_dict(std::string_view line) {
  StepReport report;
  report.loss = dict_number(line, "loss");
  constexpr std::array<std::string_view, 2> checks{"train_samples_per_second",
                                                   "train_steps_per_second"};
  for (const std::string_view key : checks) {
    const auto value = dict_number(line, key);
    if (value && *value > 0) report.user[std::string(key)] = *value;
  }
  if (!report.loss && report.user.empty()) return std::nullopt;
  return report;
}

/// `  5%|5         | 5/100 [00:03<01:00,  1.57it/s]`: a bar without a description, of steps.
std::optional<StepReport> read_bar(std::string_view line) {
  const std::size_t open = line.find("%|");
  if (open == std::string_view::npos) return std::nullopt;
  if (line.substr(0, open).find_first_not_of(" 0123456789") != std::string_view::npos) {
    return std::nullopt;
  }
  const std::size_t close = line.find("| ", open + 2);
  if (close == std::string_view::npos) return std::nullopt;
  const std::string_view counts = line.substr(close + 2);
  if (counts.find("it/s") == std::string_view::npos &&
      counts.find("s/it") == std::string_view::npos) {
    return std::nullopt;
  }
  const std::size_t slash = counts.find('/');
  if (slash == std::string_view::npos || slash > counts.find('[')) return std::nullopt;
  StepReport report;
  report.step = leading_number<std::int64_t>(counts);
  report.steps_in_all = leading_number<std::int64_t>(counts.substr(slash + 1));
  if (!report.step || *report.step <= 0 || !report.steps_in_all) return std::nullopt;
  return report;
}

}  // namespace

std::optional<StepReport> parse_hf_line(std::string_view line) {
  if (const std::size_t brace = line.find("{'"); brace != std::string_view::npos) {
    if (auto report = read_dict(line.substr(brace))) return report;
  }
  return read_bar(line);
}

}  // namespace slurmtune
