// SPDX-License-Identifier: MIT
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "slurmtune/analyze/analysis.hpp"
#include "slurmtune/base/hash.hpp"
#include "slurmtune/base/units.hpp"
#include "slurmtune/plan/budget.hpp"

namespace slurmtune {

namespace {

NextAction action_of(const Plan& plan, std::size_t from, std::size_t to) {
  if (to > from + 1) return NextAction::skip_to;
  return plan.stages[from].kind == plan.stages[to].kind ? NextAction::repeat : NextAction::release;
}

std::int64_t worst_of(const Manifest& manifest, int nodes_per_task) {
  return static_cast<std::int64_t>(manifest.slices.size()) * nodes_per_task *
         manifest.task_walltime_s;
}

/// The stage's frame, lowered to what the budget has left after the reserve.
StageRequest affordable_request(const StudyInput& input, const Plan& plan, std::size_t index,
                                const Analysis& analysis, const Spending& spending,
                                const ConfirmReserve& reserve) {
  StageRequest request = stage_request(plan, index);
  if (plan.budget_node_seconds) {
    const std::int64_t left = *plan.budget_node_seconds - spending.node_seconds -
                              spending.overhead_node_seconds - reserve.node_seconds;
    const std::int64_t planned = request.node_seconds_cap.value_or(left);
    request.node_seconds_cap = std::max<std::int64_t>(0, std::min(planned, left));
  }
  if (const auto most = input.spec.budget.max_experiments) {
    const std::int64_t left = *most - analysis.history().tries_started() - reserve.experiments;
    request.experiments_max = std::max<std::int64_t>(0, std::min(request.experiments_max, left));
  }
  return request;
}

/// What left no room, by the budgets that the study has.
std::string budget_in_words(const StudyInput& input, const Plan& plan, std::int64_t tries_started,
                            const Spending& spending, const ConfirmReserve& reserve) {
  std::string words = "budget:";
  if (plan.budget_node_seconds) {
    words += fmt::format(" {} spent, {} reserved for the confirmation",
                         format_node_hours(spending.node_seconds),
                         format_node_hours(reserve.node_seconds));
  }
  if (const auto most = input.spec.budget.max_experiments) {
    words +=
        fmt::format("{} {} of {} experiments run, {} reserved for the confirmation",
                    plan.budget_node_seconds ? ";" : "", tries_started, *most, reserve.experiments);
  }
  return words;
}

}  // namespace

Expected<Continuation> continuation(const StudyInput& input, const Plan& plan, std::size_t index,
                                    std::span<const StageHistory> history, const Analysis& analysis,
                                    const Spending& spending) {
  const ExperimentGenerator generator(input);
  Continuation found;
  for (std::size_t i = index + 1; i < plan.stages.size(); ++i) {
    SLURMTUNE_TRY(Manifest manifest, generator.generate(stage_request(plan, i), history));
    if (manifest.experiments.empty()) continue;
    const ConfirmReserve reserve = confirm_reserve(plan, i);
    const std::size_t wanted = manifest.experiments.size();
    if (plan.budget_node_seconds || input.spec.budget.max_experiments) {
      SLURMTUNE_TRY(manifest,
                    generator.generate(
                        affordable_request(input, plan, i, analysis, spending, reserve), history));
    }
    const std::size_t lost = wanted - std::min(wanted, manifest.experiments.size());
    if (lost > 0) {
      found.budget_forbade = true;
      found.dropped.push_back(
          {fmt::format("{}: {} of {} experiments", plan.stages[i].name.text, lost, wanted),
           budget_in_words(input, plan, analysis.history().tries_started(), spending, reserve)});
    }
    if (manifest.experiments.empty()) continue;
    SLURMTUNE_TRY(const std::string bytes, render_manifest(manifest));
    found.next = {.action = action_of(plan, index, i),
                  .stage = plan.stages[i].name,
                  .experiments = static_cast<std::int64_t>(manifest.experiments.size()),
                  .slices = static_cast<std::int64_t>(manifest.slices.size()),
                  .walltime_s = manifest.task_walltime_s,
                  .worst_node_seconds = worst_of(manifest, plan.stages[i].nodes_per_task),
                  .reserved_node_seconds = plan.budget_node_seconds ? reserve.node_seconds : 0,
                  .manifest_sha256 = sha256_hex(bytes)};
    found.manifest = std::move(manifest);
    return found;
  }
  return found;
}

}  // namespace slurmtune
