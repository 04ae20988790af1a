// SPDX-License-Identifier: MIT
#include "slurmtune/cli/balance.hpp"

#include <fmt/core.h>
#include <spdlog/spdlog.h>

#include "slurmtune/execute/site/balance.hpp"

namespace slurmtune {

namespace {

struct Balance {
  std::string text;
  bool is_enough = true;
};

Balance balance_of(const StudyInput& input, const Plan& plan) {
  const auto left = ask_balance(input.site);
  if (!left) {
    return {fmt::format("what is left of the account is not known: {}", left.error().message),
            false};
  }
  if (!*left) return {};
  const double worst = static_cast<double>(plan.worst_node_seconds) / 3600.0;
  const double likely = static_cast<double>(plan.likely_node_seconds) / 3600.0;
  const std::string text = fmt::format(
      "{:.2f} node-hours are left of the account; the plan may take {:.2f} at worst, {:.2f} likely",
      **left, worst, likely);
  if (worst <= **left) return {text, true};
  return {text + ": it may run dry; lower budget.max_node_hours", false};
}

}  // namespace

std::string balance_text(const StudyInput& input, const Plan& plan) {
  const std::string text = balance_of(input, plan).text;
  return text.empty() ? "" : "\n  " + text + "\n";
}

void warn_of_balance(const StudyInput& input, const Plan& plan) {
  const Balance balance = balance_of(input, plan);
  if (!balance.is_enough) spdlog::warn("{}", balance.text);
}

}  // namespace slurmtune
