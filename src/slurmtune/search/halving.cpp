// SPDX-License-Identifier: MIT
#include <algorithm>
#include <numeric>
#include <utility>

#include "slurmtune/model/estimates.hpp"
#include "slurmtune/search/rungs.hpp"
#include "slurmtune/search/strategies.hpp"
#include "slurmtune/space/space_sample.hpp"

namespace slurmtune {

std::vector<int> rung_steps(const MeasureSpec& measure) {
  std::vector<int> steps;
  std::int64_t next = std::max(1, measure.min_steps);
  while (next < measure.max_steps) {
    steps.push_back(static_cast<int>(next));
    next *= rung_reduction;
  }
  steps.push_back(measure.max_steps);
  return steps;
}

std::vector<std::int64_t> rung_widths(std::int64_t first, std::size_t rungs) {
  std::vector<std::int64_t> widths;
  for (std::size_t i = 0; i < rungs; ++i) {
    widths.push_back(std::max<std::int64_t>(1, first));
    first /= rung_reduction;
  }
  return widths;
}

std::int64_t first_rung_within(std::int64_t total, std::size_t rungs) {
  std::int64_t first = total;
  while (first > 0) {
    const std::vector<std::int64_t> widths = rung_widths(first, rungs);
    if (std::accumulate(widths.begin(), widths.end(), std::int64_t{0}) <= total) break;
    --first;
  }
  return first;
}

std::vector<Proposal> propose_halving(const SearchContext& context, int round, std::size_t width) {
  const StudySpec& spec = context.input.spec;
  const std::vector<int> steps = rung_steps(spec.measure);
  const int here = steps.at(std::min(static_cast<std::size_t>(round), steps.size() - 1));
  const Configuration& baseline = context.space.baseline();
  std::vector<Proposal> proposals;
  const auto propose = [&](const Configuration& configuration, Purpose purpose, int measured) {
    proposals.push_back({.configuration = configuration,
                         .purpose = purpose,
                         .repeat = 0,
                         .expected = {},
                         .steps = measured});
  };
  if (round == 0) {
    propose(baseline, Purpose::baseline, spec.measure.max_steps);
    const std::size_t drawn = width > 0 ? width - 1 : 0;
    for (const Configuration& one : sample_space(context.space, drawn + 1, Seed{spec.seed})) {
      if (one != baseline && proposals.size() < width) propose(one, Purpose::halving, here);
    }
    return proposals;
  }
  std::size_t places = width;
  for (const Estimate& estimate :
       estimate_all(context.history, context.objective, configuration_id(baseline))) {
    if (estimate.trial->asked_by != Purpose::halving) continue;
    if (places-- == 0) break;
    if (estimate.trial->experiment.max_steps >= here) continue;
    propose(estimate.configuration, Purpose::halving, here);
  }
  return proposals;
}

}  // namespace slurmtune
