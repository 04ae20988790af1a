// SPDX-License-Identifier: MIT
#include "slurmtune/runner/task_loop.hpp"

#include <algorithm>
#include <set>

namespace slurmtune {

std::vector<Experiment> open_experiments(const Manifest& manifest, std::int64_t slice,
                                         const std::vector<Shard>& earlier) {
  if (slice < 0 || slice >= static_cast<std::int64_t>(manifest.slices.size())) return {};
  std::set<ExperimentId> tried;
  std::map<ExperimentId, int> verdicts;
  for (const Shard& shard : earlier) {
    for (const Verdict& verdict : shard.verdicts) {
      if (verdict.outcome == Outcome::not_started) continue;
      ++verdicts[verdict.experiment];
      if (rule_of(verdict.outcome).counts_as_tried) tried.insert(verdict.experiment);
    }
  }
  const auto [first, end] = manifest.slices[static_cast<std::size_t>(slice)];
  const auto count = static_cast<std::int64_t>(manifest.experiments.size());
  std::vector<Experiment> open;
  for (std::int64_t i = std::max<std::int64_t>(first, 0); i < std::min(end, count); ++i) {
    Experiment experiment = manifest.experiments[static_cast<std::size_t>(i)];
    if (tried.contains(experiment.id)) continue;
    if (const auto found = verdicts.find(experiment.id); found != verdicts.end()) {
      experiment.attempt += found->second;
    }
    open.push_back(std::move(experiment));
  }
  return open;
}

double likely_trial_s(const Experiment& experiment, std::optional<double> longest_trial_s) {
  constexpr double reserve = 1.5;
  constexpr double startup_guess_s = 60.0;
  constexpr double warmup_guess_steps = 5.0;
  double likely_s = startup_guess_s;
  if (longest_trial_s) {
    likely_s = reserve * *longest_trial_s;
  } else if (experiment.expected.step_s) {
    likely_s += *experiment.expected.step_s * (warmup_guess_steps + experiment.max_steps);
  }
  return std::min(likely_s, experiment.limits.total_s);
}

}  // namespace slurmtune
