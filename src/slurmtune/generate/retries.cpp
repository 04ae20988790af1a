// SPDX-License-Identifier: MIT
#include "slurmtune/generate/retries.hpp"

#include <algorithm>

#include "slurmtune/search/stage_facts.hpp"

namespace slurmtune {

namespace {

/// Whether what an experiment would tell is still of use.
bool still_matters(const SearchContext& context, const Trial& trial,
                   const std::vector<StageFacts>& stages) {
  const Configuration& configuration = trial.experiment.configuration;
  const auto zero_stage = configuration.integer(zero_stage_parameter);
  const auto micro_batch = configuration.integer(micro_batch_parameter);
  const auto facts = std::find_if(stages.begin(), stages.end(), [&](const StageFacts& stage) {
    return stage.zero_stage == zero_stage;
  });
  if (facts == stages.end() || !micro_batch || !is_plain(context, configuration)) return true;
  if (is_out(facts->standing)) return false;
  return !facts->fails || *micro_batch < *facts->fails;
}

}  // namespace

std::vector<Experiment> retries(const SearchContext& context, Purpose kind) {
  std::vector<Experiment> again;
  std::vector<StageFacts> stages;
  const bool is_search =
      kind != Purpose::confirm && kind != Purpose::grid && kind != Purpose::halving;
  if (is_search) stages = stage_facts(context);
  for (const Trial& trial : context.history.trials()) {
    const bool confirms = trial.asked_by == Purpose::confirm;
    if (confirms != (kind == Purpose::confirm) || !trial.wants_another_try()) continue;
    const bool is_baseline = trial.experiment.configuration == context.space.baseline();
    if (is_search && !is_baseline && !still_matters(context, trial, stages)) continue;
    Experiment experiment = trial.experiment;
    experiment.attempt = trial.last_attempt + 1;
    const bool elsewhere =
        trial.verdict && (rule_of(trial.verdict->outcome).retry == Retry::once_elsewhere ||
                          trial.verdict->outcome == Outcome::node_failure);
    if (elsewhere) experiment.needs_other_node_than = {experiment.id};
    again.push_back(std::move(experiment));
  }
  return again;
}

}  // namespace slurmtune
