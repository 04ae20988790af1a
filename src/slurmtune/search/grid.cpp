// SPDX-License-Identifier: MIT
#include <set>
#include <utility>

#include "slurmtune/search/strategies.hpp"

namespace slurmtune {

namespace {

constexpr std::size_t grid_max = 100'000;

}  // namespace

Expected<std::vector<Proposal>> propose_grid(const SearchContext& context) {
  SLURMTUNE_TRY(std::vector<Configuration> configurations, context.space.enumerate(grid_max));
  std::vector<Proposal> proposals;
  std::set<ConfigurationId> seen;
  const auto propose = [&](Configuration configuration, Purpose purpose) {
    const ConfigurationId id = configuration_id(configuration);
    if (!seen.insert(id).second || context.history.has_asked(id)) return;
    proposals.push_back({.configuration = std::move(configuration),
                         .purpose = purpose,
                         .repeat = 0,
                         .expected = {}});
  };
  propose(context.space.baseline(), Purpose::baseline);
  for (Configuration& configuration : configurations) {
    propose(std::move(configuration), Purpose::grid);
  }
  return proposals;
}

}  // namespace slurmtune
