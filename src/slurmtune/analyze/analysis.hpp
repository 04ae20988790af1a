// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "slurmtune/analyze/result_analyzer.hpp"
#include "slurmtune/model/estimates.hpp"
#include "slurmtune/search/search_context.hpp"
#include "slurmtune/search/stage_facts.hpp"

namespace slurmtune {

/// Everything that was learnt, folded once for all conclusions.
class Analysis {
 public:
  /// Errors: those of make_space and Objective::compile.
  [[nodiscard]] static Expected<Analysis> of(const StudyInput& input,
                                             std::span<const StageHistory> history);

  [[nodiscard]] SearchContext context() const { return {*input_, *space_, *history_, *objective_}; }
  [[nodiscard]] const StudyInput& input() const { return *input_; }
  [[nodiscard]] const History& history() const { return *history_; }
  [[nodiscard]] const Space& space() const { return *space_; }
  [[nodiscard]] const Objective& objective() const { return *objective_; }
  /// Best first.
  [[nodiscard]] const std::vector<Estimate>& estimates() const { return estimates_; }
  /// Of the first estimates, in their order: of the confirmed, if there are any; of 32 at most.
  [[nodiscard]] const std::vector<double>& probabilities() const { return probabilities_; }
  [[nodiscard]] const ConfigurationId& baseline() const { return baseline_; }
  /// The estimate of the baseline, or null.
  [[nodiscard]] const Estimate* baseline_estimate() const;
  /// A name that the objective speaks of and no trial that worked reported, or "". None worked: "".
  [[nodiscard]] std::string reported_by_none() const;
  /// How the baseline ended; not_started if it was never asked for.
  [[nodiscard]] Outcome baseline_outcome() const;

 private:
  Analysis() = default;

  const StudyInput* input_ = nullptr;
  // Behind pointers, so that an Analysis can be moved while estimates point into the history.
  std::unique_ptr<const Space> space_;
  std::unique_ptr<const History> history_;
  std::unique_ptr<const Objective> objective_;
  std::vector<Estimate> estimates_;
  std::vector<double> probabilities_;
  ConfigurationId baseline_;
};

/// What is known of each ZeRO stage, in words (`largest micro_batch that fits: 3 (fits 3, fails
/// 4)`), and of the winner.
[[nodiscard]] std::vector<Conclusion> conclusions_of(const Analysis& analysis);

/// ZeRO stages that were given up, with figures.
[[nodiscard]] std::vector<Dropped> dropped_stages(const Analysis& analysis);

/// The one result, whatever happened.
[[nodiscard]] TuningResult tuning_result(const Analysis& analysis, const Spending& spending,
                                         Stop stop);

/// What may follow the stage `index` of the plan.
struct Continuation {
  Next next;                         ///< its action is finish if nothing can follow
  std::optional<Manifest> manifest;  ///< unless nothing can
  std::vector<Dropped> dropped;      ///< what the budget forbade
  bool budget_forbade = false;       ///< something was left out that would have been run
};

/// The next stage whose question is open and whose worst case the budget holds, together with the
/// confirmation after it. Errors: those of ExperimentGenerator.
[[nodiscard]] Expected<Continuation> continuation(const StudyInput& input, const Plan& plan,
                                                  std::size_t index,
                                                  std::span<const StageHistory> history,
                                                  const Analysis& analysis,
                                                  const Spending& spending);

}  // namespace slurmtune
