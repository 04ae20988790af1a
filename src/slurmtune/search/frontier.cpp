// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "slurmtune/search/forecast.hpp"
#include "slurmtune/search/strategies.hpp"

namespace slurmtune {

namespace {

constexpr std::size_t probes_a_stage_max = 4;

/// An open stage and the best score that it may still reach; infinite if no model can tell.
struct OpenStage {
  StageFacts facts;
  double promise = INFINITY;
};

std::vector<OpenStage> open_stages(const SearchContext& context) {
  std::vector<OpenStage> open;
  for (StageFacts& facts : stage_facts(context)) {
    if (facts.standing != Standing::open) continue;
    double promise = 0.0;
    for (const std::int64_t micro_batch : facts.between()) {
      const auto expected = forecast(context, facts, micro_batch);
      promise = std::max(promise, expected ? expected->upper() : INFINITY);
    }
    open.push_back({.facts = std::move(facts), .promise = promise});
  }
  std::stable_sort(open.begin(), open.end(),
                   [](const OpenStage& a, const OpenStage& b) { return a.promise > b.promise; });
  return open;
}

}  // namespace

std::vector<Proposal> propose_frontier(const SearchContext& context, std::size_t width) {
  const std::vector<OpenStage> open = open_stages(context);
  std::vector<Proposal> proposals;
  for (std::size_t i = 0; i < open.size(); ++i) {
    const StageFacts& facts = open[i].facts;
    const std::size_t share = width / open.size() + (i < width % open.size() ? 1 : 0);
    const std::size_t count = std::min(share, probes_a_stage_max);
    for (const std::int64_t micro_batch : facts.boundary().probes(facts.between(), count)) {
      auto configuration = configuration_of(context.space, facts.zero_stage, micro_batch);
      if (!configuration) continue;
      const auto accumulation = configuration->integer(accumulation_parameter).value_or(1);
      proposals.push_back({.configuration = *std::move(configuration),
                           .purpose = Purpose::frontier,
                           .repeat = 0,
                           .expected = facts.expect(micro_batch, accumulation)});
    }
  }
  return proposals;
}

}  // namespace slurmtune
