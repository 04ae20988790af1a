// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "slurmtune/base/random.hpp"
#include "slurmtune/model/history.hpp"
#include "slurmtune/model/objective.hpp"

namespace slurmtune {

/// How much two runs of one configuration differ where nothing was repeated: relative standard
/// deviation. Source: identical GPUs of one cluster differ by 8 % on average (Sinha et al., "Not
/// All GPUs Are Created Equal", SC22); runs on one node by 1 to 2 %.
inline constexpr double run_to_run_deviation = 0.02;

/// The same of the ratio of two single runs, two deviations of it: less than this is told apart
/// only by repeats.
inline constexpr double single_runs_differ = 2.0 * 1.4142135623730951 * run_to_run_deviation;

/// What is known of a configuration that works.
struct Estimate {
  Configuration configuration;
  ConfigurationId id;
  const Trial* trial = nullptr;       ///< of which label, memory and step time are shown
  std::map<int, Interval> by_repeat;  ///< scores; of confirm only, if `confirmed`
  Interval score;                     ///< over all of by_repeat
  bool confirmed = false;             ///< its repeats come from the stage confirm
};

/// Whether it came to its end by the memory of a GPU or a node.
[[nodiscard]] bool ran_out_of_memory(const Trial& trial);

/// Every configuration with a score, best first: confirmed ones before all others (a single reading
/// may be luck, the mean of repeats is not), then by score; ties go to `baseline`, then to the
/// smaller values. One repeat has its own interval; more have Student's t on the
/// logarithm. Of runs of one repeat that differ in their steps the longest counts, even if it
/// failed. Configurations of which a repeat of confirm ran out of memory are left out where others
/// remain: what fits by chance is no winner.
[[nodiscard]] std::vector<Estimate> estimate_all(const History& history, const Objective& objective,
                                                 const ConfigurationId& baseline);

/// The ratio of two estimates, `above` / `below`: paired by repeat, on the logarithm, where they
/// share two repeats or more; else from their own intervals, as if they were independent.
[[nodiscard]] Interval ratio_of(const Estimate& above, const Estimate& below);

/// The probability that each of `estimates` is the best of them, by Monte Carlo: means with
/// Student's t and one relative deviation pooled over all that have repeats. Draws that tie
/// are shared. Rounded to 0.001.
[[nodiscard]] std::vector<double> probabilities_best(const std::vector<Estimate>& estimates,
                                                     Seed seed);

}  // namespace slurmtune
