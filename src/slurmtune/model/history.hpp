// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "slurmtune/record/manifest.hpp"
#include "slurmtune/record/verdict.hpp"

namespace slurmtune {

// Reasons of verdicts that the reducer writes for what a task left without a word (verdict.hpp has
// `lost_task`, which is tried again).

/// The task was ended for good: no other try could end otherwise.
inline constexpr std::string_view lost_for_good = "lost_for_good";
/// The task wrote a verdict as the study's owner cancelled it; not tried again either.
inline constexpr std::string_view cancelled_by_owner = "cancelled_by_owner";
/// The verdict is one that the user has withdrawn by having its experiment run again.
inline constexpr std::string_view retried_try = "retried";

/// Whether a verdict stands in for one that nobody wrote.
[[nodiscard]] bool is_stand_in(const Verdict& verdict);

/// How often one experiment may end so, through no fault of its own, before it is given up;
/// 0 = there is no such bound. Of `not_started` only stand-ins count.
[[nodiscard]] int losses_max(Outcome outcome);

/// An experiment and what has become of it over all its tries.
struct Trial {
  Experiment experiment;                ///< as it was asked for last
  Purpose asked_by = Purpose::profile;  ///< why it was first asked for
  int tries = 0;  ///< those that count against it: not preemptions and the like
  int last_attempt = 0;
  std::map<Outcome, int> losses;  ///< tries that came to nothing, by outcome (`losses_max`)
  /// What it came to: the measurement or final failure if there is one, else the last try.
  /// Absent = asked for, and nothing came back.
  std::optional<Verdict> verdict;

  /// Absent verdicts are `not_started`; a launch_error after its last try is a `config_error`.
  [[nodiscard]] Outcome outcome() const;
  /// Whether another try is due (`is_tried_again`; not one that was dropped, or given up).
  [[nodiscard]] bool wants_another_try() const;
  /// Whether there is none although its outcome alone would ask for one: it was lost too often, or
  /// for good.
  [[nodiscard]] bool is_given_up() const;
  /// Whether it was measured and may be ranked.
  [[nodiscard]] bool worked() const;
};

/// All that a study has asked for and learnt, folded. Neither the order of verdicts nor hosts, job
/// ids and times have any influence; a verdict of an experiment that no manifest holds is ignored.
class History {
 public:
  /// Stages in the order in which they ran.
  void add(const Manifest& manifest, std::span<const Verdict> verdicts);

  /// In the order in which they were first asked for.
  [[nodiscard]] const std::vector<Trial>& trials() const { return trials_; }
  /// The trial of an experiment, or null.
  [[nodiscard]] const Trial* find(const ExperimentId& experiment) const;
  /// Whether the configuration was ever asked for, in any repeat.
  [[nodiscard]] bool has_asked(const ConfigurationId& configuration) const;
  /// Of a configuration's trials that worked the one of most steps (the first of equal ones), else
  /// its first one, or null.
  [[nodiscard]] const Trial* of(const ConfigurationId& configuration) const;
  /// Tries that were really started, over all experiments.
  [[nodiscard]] std::int64_t tries_started() const { return tries_started_; }

 private:
  void take(Trial& trial, std::vector<const Verdict*> verdicts);

  std::vector<Trial> trials_;
  std::map<ExperimentId, std::size_t> by_experiment_;
  std::multimap<ConfigurationId, std::size_t> by_configuration_;
  std::int64_t tries_started_ = 0;
};

}  // namespace slurmtune
