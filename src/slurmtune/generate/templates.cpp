// SPDX-License-Identifier: MIT
#include "slurmtune/generate/templates.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "slurmtune/generate/label.hpp"
#include "slurmtune/generate/task_time.hpp"

namespace slurmtune {

std::vector<Proposal> prune_configs(std::vector<Proposal> proposals, const SearchContext& context) {
  std::vector<Proposal> kept;
  std::set<ExperimentId> seen;
  const int max_steps = context.input.spec.measure.max_steps;
  for (Proposal& proposal : proposals) {
    const ConfigurationId configuration = configuration_id(proposal.configuration);
    const ExperimentId id =
        experiment_id(configuration, proposal.steps.value_or(max_steps), proposal.repeat);
    const bool is_baseline = proposal.configuration == context.space.baseline();
    if (!is_baseline && !context.space.contains(proposal.configuration)) continue;
    if (context.history.find(id) != nullptr || !seen.insert(id).second) continue;
    kept.push_back(std::move(proposal));
  }
  return kept;
}

Experiment build_experiment(const Proposal& proposal, const MeasureSpec& measure) {
  Experiment experiment;
  experiment.configuration = proposal.configuration;
  experiment.configuration_id = configuration_id(proposal.configuration);
  const int steps = proposal.steps.value_or(measure.max_steps);
  experiment.id = experiment_id(experiment.configuration_id, steps, proposal.repeat);
  experiment.label = label_of(proposal.configuration);
  if (proposal.repeat > 0) experiment.label += fmt::format("_r{}", proposal.repeat);
  experiment.purpose = proposal.purpose;
  experiment.repeat = proposal.repeat;
  experiment.min_steps = std::min(measure.min_steps, steps);
  experiment.max_steps = steps;
  experiment.limits = trial_limits(measure);
  experiment.expected = proposal.expected;
  return experiment;
}

}  // namespace slurmtune
