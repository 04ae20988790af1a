// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "slurmtune/model/estimates.hpp"
#include "slurmtune/model/statistics.hpp"
#include "slurmtune/search/strategies.hpp"

namespace slurmtune {

namespace {

/// What has become of the repeats of one configuration.
struct Repeats {
  Configuration configuration;
  int worked = 0;
  int lost = 0;     ///< failed for good
  int pending = 0;  ///< tried again by the generator
  bool exceeds_memory = false;
};

std::map<ConfigurationId, Repeats> repeats_so_far(const History& history, int& last_repeat) {
  std::map<ConfigurationId, Repeats> found;
  for (const Trial& trial : history.trials()) {
    if (trial.asked_by != Purpose::confirm) continue;
    Repeats& repeats = found[trial.experiment.configuration_id];
    repeats.configuration = trial.experiment.configuration;
    last_repeat = std::max(last_repeat, trial.experiment.repeat);
    repeats.exceeds_memory = repeats.exceeds_memory || ran_out_of_memory(trial);
    if (trial.worked()) {
      ++repeats.worked;
    } else if (trial.wants_another_try()) {
      ++repeats.pending;
    } else {
      ++repeats.lost;
    }
  }
  return found;
}

/// Position `at` of row `row` of a Williams design of `count`: 0 1 n-1 2 n-2 …, shifted by the row.
std::size_t williams(std::size_t row, std::size_t at, std::size_t count) {
  const std::size_t half = (at + 1) / 2;
  const std::size_t first = at % 2 == 1 ? half : (count - half) % count;
  return (first + row) % count;
}

/// Repeat by repeat, in balanced order.
std::vector<Proposal> interleave(const std::vector<Configuration>& configurations, int first_repeat,
                                 int repeats) {
  std::vector<Proposal> proposals;
  const std::size_t count = configurations.size();
  for (int i = 0; i < repeats; ++i) {
    for (std::size_t at = 0; at < count; ++at) {
      proposals.push_back(
          {.configuration = configurations[williams(static_cast<std::size_t>(i), at, count)],
           .purpose = Purpose::confirm,
           .repeat = first_repeat + i,
           .expected = {}});
    }
  }
  return proposals;
}

/// Whether `other` may be as good as `best`: within two standard deviations of their difference.
bool may_be_as_good(const Estimate& best, const Estimate& other) {
  const auto error = [](const Estimate& estimate) {
    return std::hypot(deviation_of(estimate.score), run_to_run_deviation * estimate.score.mid);
  };
  return best.score.mid - other.score.mid <= 2.0 * std::hypot(error(best), error(other));
}

/// Those that may still be the best, and the baseline if it runs.
std::vector<Configuration> leaders(const std::vector<Estimate>& estimates,
                                   const ConfigurationId& baseline) {
  std::vector<Configuration> chosen;
  for (const Estimate& estimate : estimates) {
    if (chosen.size() == confirm_leaders_max) break;
    if (may_be_as_good(estimates.front(), estimate)) chosen.push_back(estimate.configuration);
  }
  for (const Estimate& estimate : estimates) {
    const bool chosen_already =
        std::find(chosen.begin(), chosen.end(), estimate.configuration) != chosen.end();
    if (estimate.id == baseline && !chosen_already) chosen.push_back(estimate.configuration);
  }
  return chosen;
}

/// Whether the best cannot be told from another, although more repeats could tell and it matters.
bool is_unresolved(const Estimate& best, const Estimate& other, double stop_gain) {
  const std::size_t pairs = std::min(best.by_repeat.size(), other.by_repeat.size());
  const Interval ratio = ratio_of(best, other);
  // Of single runs the intervals do not know what runs differ by.
  if (pairs < 2) return ratio.low < 1.0 + single_runs_differ;
  if (ratio.low > 1.0 || ratio.high - 1.0 <= stop_gain) return false;
  // Half the width on the logarithm now, and with as many repeats again.
  const auto now = static_cast<int>(pairs);
  const double half = std::log(ratio.high / ratio.mid);
  const double then = half * student_t_975(2 * now - 1) / student_t_975(now - 1) / std::sqrt(2.0);
  return then < std::max(std::log(ratio.mid), std::log1p(stop_gain));
}

/// Whether the search saw `other` faster than the best is now, and a single repeat slower: one of
/// the two runs was held up, or lucky.
bool contradicts_itself(const SearchContext& context, const Estimate& best, const Estimate& other) {
  if (other.by_repeat.size() != 1) return false;
  const auto& trials = context.history.trials();
  return std::any_of(trials.begin(), trials.end(), [&](const Trial& trial) {
    if (trial.experiment.configuration_id != other.id) return false;
    if (trial.experiment.purpose == Purpose::confirm) return false;
    const auto score = context.objective.score(trial);
    return score && score->mid > best.score.mid;
  });
}

/// Confirmed ones that cannot be told from the best of them, and ones without repeats that were
/// better when they were measured once: then the leaders had been lucky, not good.
std::vector<Configuration> challengers(const SearchContext& context,
                                       const std::vector<Estimate>& estimates,
                                       const std::map<ConfigurationId, Repeats>& so_far) {
  const double stop_gain = context.input.spec.search.stop_gain;
  std::vector<Configuration> found;
  const Estimate& best = estimates.front();
  if (!best.confirmed) return found;
  for (std::size_t i = 1; i < estimates.size() && found.size() < confirm_leaders_max; ++i) {
    const Estimate& other = estimates[i];
    const auto repeats = so_far.find(other.id);
    const bool repeated = repeats != so_far.end();
    if (repeated && (!other.confirmed || repeats->second.pending > 0)) continue;
    const bool challenges =
        repeated ? is_unresolved(best, other, stop_gain) || contradicts_itself(context, best, other)
                 : other.score.low > best.score.mid * (1.0 + stop_gain);
    if (challenges) found.push_back(other.configuration);
  }
  return found;
}

std::vector<Proposal> propose_more(const SearchContext& context,
                                   const std::vector<Estimate>& estimates,
                                   const std::map<ConfigurationId, Repeats>& so_far,
                                   int last_repeat) {
  const int wanted = repeats_a_round(context.input.site);
  std::vector<Configuration> compared = challengers(context, estimates, so_far);
  if (!compared.empty()) {
    compared.insert(compared.begin(), estimates.front().configuration);
    return interleave(compared, last_repeat + 1, wanted);
  }
  // Nothing is open but what was lost: so that each has its repeats.
  std::vector<Configuration> lost;
  int repeats = 0;
  for (const auto& [id, configuration] : so_far) {
    if (configuration.lost == 0 || configuration.worked == 0) continue;
    if (configuration.exceeds_memory) continue;
    if (configuration.worked + configuration.pending >= wanted) continue;
    repeats = std::max(repeats, wanted - configuration.worked - configuration.pending);
    lost.push_back(configuration.configuration);
  }
  return interleave(lost, last_repeat + 1, repeats);
}

}  // namespace

int repeats_a_round(const Site& site) { return site.no_queue ? 1 : confirm_repeats; }

std::vector<Proposal> propose_confirm(const SearchContext& context) {
  const ConfigurationId baseline = configuration_id(context.space.baseline());
  const std::vector<Estimate> estimates =
      estimate_all(context.history, context.objective, baseline);
  if (estimates.empty()) return {};
  int last_repeat = 0;
  const auto so_far = repeats_so_far(context.history, last_repeat);
  // Of those that were repeated none may be left: all ran out of memory.
  const bool begins = std::none_of(estimates.begin(), estimates.end(),
                                   [&](const Estimate& e) { return so_far.contains(e.id); });
  if (begins) {
    return interleave(leaders(estimates, baseline), last_repeat + 1,
                      repeats_a_round(context.input.site));
  }
  return propose_more(context, estimates, so_far, last_repeat);
}

}  // namespace slurmtune
