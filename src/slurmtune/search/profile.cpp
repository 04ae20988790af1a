// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdint>
#include <utility>

#include "slurmtune/search/strategies.hpp"

namespace slurmtune {

namespace {

/// The second point of a stage: as far from the first as four times, so that the slope is seen
/// above the noise, and no farther, so that it fits. `candidates` are above the first, sorted.
std::int64_t second_point(const std::vector<std::int64_t>& candidates, std::int64_t first) {
  std::int64_t best = candidates.front();
  for (const std::int64_t candidate : candidates) {
    if (candidate <= 4 * first) best = candidate;
  }
  return best;
}

/// The micro-batches to profile a stage at, smallest first; only those that are still unasked.
std::vector<std::int64_t> profile_points(const SearchContext& context, const StageFacts& facts) {
  if (facts.unasked.empty()) return {};
  const Configuration& baseline = context.space.baseline();
  const auto baseline_micro_batch = baseline.integer(micro_batch_parameter);
  const bool is_baselines = baseline.integer(zero_stage_parameter) == facts.zero_stage;
  const std::int64_t first = facts.unasked.front();
  std::vector<std::int64_t> points{first};
  // The baseline is run in any case: where it is far enough from the first it is the second.
  if (is_baselines && baseline_micro_batch && *baseline_micro_batch >= 2 * first) return points;
  std::vector<std::int64_t> above(facts.unasked.begin() + 1, facts.unasked.end());
  if (is_baselines && baseline_micro_batch) std::erase(above, *baseline_micro_batch);
  if (!above.empty()) points.push_back(second_point(above, first));
  return points;
}

}  // namespace

std::vector<Proposal> propose_profile(const SearchContext& context) {
  std::vector<Proposal> proposals;
  const Configuration& baseline = context.space.baseline();
  const auto propose = [&](Configuration configuration, Purpose purpose, Expectation expected) {
    if (context.history.has_asked(configuration_id(configuration))) return;
    const bool doubled =
        std::any_of(proposals.begin(), proposals.end(),
                    [&](const Proposal& other) { return other.configuration == configuration; });
    if (doubled) return;
    proposals.push_back({.configuration = std::move(configuration),
                         .purpose = purpose,
                         .repeat = 0,
                         .expected = std::move(expected)});
  };
  propose(baseline, Purpose::baseline, {});
  for (const StageFacts& facts : stage_facts(context)) {
    if (is_out(facts.standing)) continue;
    for (const std::int64_t micro_batch : profile_points(context, facts)) {
      auto configuration = configuration_of(context.space, facts.zero_stage, micro_batch);
      if (configuration) propose(*std::move(configuration), Purpose::profile, {});
    }
  }
  return proposals;
}

}  // namespace slurmtune
