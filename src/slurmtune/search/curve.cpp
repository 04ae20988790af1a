// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdint>
#include <tuple>
#include <utility>

#include "slurmtune/search/forecast.hpp"
#include "slurmtune/search/strategies.hpp"

namespace slurmtune {

namespace {

constexpr std::size_t points_a_stage_max = 3;
// Above the largest that is known to fit, only what probably does is worth a look here.
constexpr double probably = 0.5;

struct Candidate {
  const StageFacts* facts = nullptr;
  std::int64_t micro_batch = 0;
  double promise = 0.0;
};

/// What may beat the leader in a stage by search.stop_gain, the most promising first.
std::vector<Candidate> candidates_of(const SearchContext& context, const StageFacts& facts,
                                     const Estimate& leader) {
  const double threshold = leader.score.mid * (1.0 + context.input.spec.search.stop_gain);
  std::vector<Candidate> candidates;
  const std::vector<std::int64_t> between = facts.between();
  const Boundary boundary = facts.boundary();
  for (const std::int64_t micro_batch : facts.unasked) {
    const bool fits = facts.fits && micro_batch <= *facts.fits;
    const bool may_fit = std::binary_search(between.begin(), between.end(), micro_batch) &&
                         boundary.survival(micro_batch) >= probably;
    if (!fits && !may_fit) continue;
    const auto expected = forecast(context, facts, micro_batch);
    if (!expected || expected->upper() <= threshold) continue;
    candidates.push_back(
        {.facts = &facts, .micro_batch = micro_batch, .promise = expected->upper()});
  }
  std::stable_sort(candidates.begin(), candidates.end(), [](const auto& a, const auto& b) {
    return std::tuple(-a.promise, -a.micro_batch) < std::tuple(-b.promise, -b.micro_batch);
  });
  if (candidates.size() > points_a_stage_max) candidates.resize(points_a_stage_max);
  return candidates;
}

}  // namespace

std::vector<Proposal> propose_curve(const SearchContext& context, std::size_t width) {
  const auto leader = leader_of(context);
  if (!leader) return {};
  const std::vector<StageFacts> stages = stage_facts(context);
  std::vector<Candidate> candidates;
  for (const StageFacts& facts : stages) {
    if (facts.standing == Standing::cannot_fit || facts.standing == Standing::broken) continue;
    const std::vector<Candidate> more = candidates_of(context, facts, *leader);
    candidates.insert(candidates.end(), more.begin(), more.end());
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const auto& a, const auto& b) { return a.promise > b.promise; });
  if (candidates.size() > width) candidates.resize(width);
  std::vector<Proposal> proposals;
  for (const Candidate& candidate : candidates) {
    auto configuration =
        configuration_of(context.space, candidate.facts->zero_stage, candidate.micro_batch);
    if (!configuration) continue;
    const auto accumulation = configuration->integer(accumulation_parameter).value_or(1);
    proposals.push_back({.configuration = *std::move(configuration),
                         .purpose = Purpose::curve,
                         .repeat = 0,
                         .expected = candidate.facts->expect(candidate.micro_batch, accumulation)});
  }
  return proposals;
}

}  // namespace slurmtune
