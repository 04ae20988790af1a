// SPDX-License-Identifier: MIT
#include "slurmtune/execute/site/balance.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <regex>
#include <string>

#include <fmt/format.h>

#include "slurmtune/execute/process.hpp"
#include "slurmtune/input/named_pattern.hpp"

namespace slurmtune {

Expected<double> read_balance(std::string_view pattern, std::string_view printed) {
  SLURMTUNE_TRY(const NamedPattern compiled, compile_named_pattern(pattern));
  const auto group = std::ranges::find(compiled.groups, "node_hours", &NamedPattern::Group::name);
  std::cmatch match;
  const bool found = group != compiled.groups.end() &&
                     std::regex_search(printed.data(), printed.data() + printed.size(), match,
                                       compiled.expression);
  if (!found) return unavailable("balance_pattern finds nothing in what balance_command prints");
  std::string text = match[group->index].str();
  std::erase(text, ',');  // 1,234.5
  double hours = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), hours);
  if (error != std::errc() || end != text.data() + text.size()) {
    return unavailable(fmt::format("balance_pattern finds '{}', which is no number", text));
  }
  return hours;
}

Expected<std::optional<double>> ask_balance(const Site& site) {
  constexpr std::chrono::seconds patience{30};
  if (site.balance_command.empty()) return std::nullopt;
  ProcessRequest request;
  request.call.argv = site.balance_command;
  request.timeout = patience;
  SLURMTUNE_TRY(const ProcessResult result, run_process(request));
  if (result.ending == Ending::timed_out || !result.status.success()) {
    return unavailable(fmt::format("balance_command fails ({}): {}",
                                   fmt::join(site.balance_command, " "), result.err));
  }
  SLURMTUNE_TRY(const double hours, read_balance(site.balance_pattern, result.out));
  return hours;
}

}  // namespace slurmtune
