// SPDX-License-Identifier: MIT
#include "slurmtune/analyze/result_analyzer.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "slurmtune/analyze/analysis.hpp"

namespace slurmtune {

namespace {

constexpr std::size_t exhaustible_max = 100'000;
// Of many single readings only the best can be the best.
constexpr std::size_t compared_max = 32;

bool has_storage_error(const StageHistory& stage, const History& history) {
  return std::any_of(stage.manifest.experiments.begin(), stage.manifest.experiments.end(),
                     [&](const Experiment& experiment) {
                       const Trial* trial = history.find(experiment.id);
                       return trial && trial->outcome() == Outcome::storage_error;
                     });
}

/// The baseline, or all that was profiled, was refused: the user's own run would be, too.
bool is_refused(const Analysis& analysis) {
  if (analysis.baseline_outcome() == Outcome::config_error) return true;
  bool any = false;
  for (const Trial& trial : analysis.history().trials()) {
    if (trial.asked_by != Purpose::profile && trial.asked_by != Purpose::baseline) continue;
    if (trial.outcome() != Outcome::config_error) return false;
    any = true;
  }
  return any;
}

bool is_exhausted(const Analysis& analysis) {
  const auto& deepspeed = analysis.input().spec.deepspeed;
  if (deepspeed && !deepspeed->fast) return false;  // what is listed is the space without its knobs
  const auto all = analysis.space().enumerate(exhaustible_max);
  return all && std::all_of(all->begin(), all->end(), [&](const Configuration& configuration) {
           const Trial* trial = analysis.history().of(configuration_id(configuration));
           return trial && trial->verdict && rule_of(trial->outcome()).counts_as_tried;
         });
}

/// Why the study must end now, whatever could follow.
std::optional<Stop> must_stop(const Analysis& analysis, const StageHistory& last,
                              const Spending& spending) {
  if (has_storage_error(last, analysis.history())) return Stop::storage_error;
  if (spending.cancelled) return Stop::cancelled;
  if (is_refused(analysis)) return Stop::baseline_config_error;
  if (spending.deadline_passed) return Stop::deadline;
  // No later trial would report it either.
  if (!analysis.reported_by_none().empty()) return Stop::nothing_worked;
  return std::nullopt;
}

/// Why the study ends where nothing follows.
Stop natural_stop(const Analysis& analysis, const Continuation& after) {
  if (after.budget_forbade) return Stop::budget;
  if (analysis.estimates().empty()) return Stop::nothing_worked;
  if (is_exhausted(analysis)) return Stop::exhausted;
  return Stop::gain;
}

void add_best(Decision& decision, const Analysis& analysis) {
  if (!analysis.estimates().empty()) {
    const Estimate& best = analysis.estimates().front();
    decision.best = BestSoFar{.configuration = best.id,
                              .throughput = analysis.objective().readable(best.score),
                              .probability_best = analysis.probabilities().front()};
  }
  const Trial* baseline = analysis.history().of(analysis.baseline());
  if (!baseline) return;
  decision.baseline = BaselineSoFar{.configuration = analysis.baseline(),
                                    .outcome = analysis.baseline_outcome(),
                                    .throughput = std::nullopt};
  if (const Estimate* estimate = analysis.baseline_estimate()) {
    decision.baseline->throughput = analysis.objective().readable(estimate->score);
  }
}

}  // namespace

Expected<Analysis> Analysis::of(const StudyInput& input, std::span<const StageHistory> history) {
  SLURMTUNE_TRY(Space space, make_space(input.spec));
  SLURMTUNE_TRY(Objective objective, Objective::compile(input));
  History folded;
  for (const StageHistory& stage : history) folded.add(stage.manifest, stage.verdicts);
  Analysis analysis;
  analysis.input_ = &input;
  analysis.baseline_ = configuration_id(space.baseline());
  analysis.space_ = std::make_unique<const Space>(std::move(space));
  analysis.history_ = std::make_unique<const History>(std::move(folded));
  analysis.objective_ = std::make_unique<const Objective>(std::move(objective));
  analysis.estimates_ = estimate_all(*analysis.history_, *analysis.objective_, analysis.baseline_);
  std::vector<Estimate> compared;
  for (const Estimate& estimate : analysis.estimates_) {
    const bool alike = estimate.confirmed == analysis.estimates_.front().confirmed;
    if (!alike || compared.size() == compared_max) break;
    compared.push_back(estimate);
  }
  if (!compared.empty()) {
    analysis.probabilities_ = probabilities_best(compared, Seed{input.spec.seed});
  }
  return analysis;
}

const Estimate* Analysis::baseline_estimate() const {
  const auto found = std::find_if(estimates_.begin(), estimates_.end(),
                                  [&](const Estimate& e) { return e.id == baseline_; });
  return found == estimates_.end() ? nullptr : &*found;
}

std::string Analysis::reported_by_none() const {
  std::optional<std::vector<std::string>> missing;
  for (const Trial& trial : history_->trials()) {
    if (!trial.worked()) continue;
    const std::vector<std::string> here = objective_->unreported(trial);
    if (!missing) {
      missing = here;
      continue;
    }
    std::erase_if(*missing, [&](const std::string& name) {
      return !std::binary_search(here.begin(), here.end(), name);
    });
  }
  return missing && !missing->empty() ? missing->front() : "";
}

Outcome Analysis::baseline_outcome() const {
  const Trial* trial = history_->of(baseline_);
  return trial ? trial->outcome() : Outcome::not_started;
}

Expected<Reduction> ResultAnalyzer::reduce(std::span<const StageHistory> history,
                                           const Spending& spending) const {
  if (history.empty()) return invalid_input("there is no stage to reduce");
  const StageHistory& last = history.back();
  const auto index = plan_.index_of(last.manifest.stage);
  if (!index) {
    return corrupt_data(
        fmt::format("stage '{}' is not in the plan of this study", last.manifest.stage.text));
  }
  SLURMTUNE_TRY(const Analysis analysis, Analysis::of(input_, history));

  Reduction reduction;
  Decision& decision = reduction.decision;
  decision.study = plan_.study;
  decision.stage = last.manifest.stage;
  decision.round = last.manifest.round;
  decision.inputs = plan_.inputs;
  decision.spent_node_seconds = spending.node_seconds;
  decision.budget_node_seconds = plan_.budget_node_seconds;
  decision.budget_experiments = input_.spec.budget.max_experiments;
  std::set<ExperimentId> came;
  for (const Verdict& verdict : last.verdicts) {
    if (!is_stand_in(verdict)) came.insert(verdict.experiment);
  }
  for (const Experiment& experiment : last.manifest.experiments) {
    if (came.contains(experiment.id)) {
      ++decision.verdicts_read;
    } else {
      decision.missing.push_back(experiment.id);
    }
  }
  add_best(decision, analysis);
  decision.conclusions = conclusions_of(analysis);
  decision.dropped = dropped_stages(analysis);

  std::optional<Stop> stop = must_stop(analysis, last, spending);
  if (!stop) {
    SLURMTUNE_TRY(Continuation after,
                  continuation(input_, plan_, *index, history, analysis, spending));
    decision.dropped.insert(decision.dropped.end(), after.dropped.begin(), after.dropped.end());
    decision.next = after.next;
    reduction.next = std::move(after.manifest);
    if (!reduction.next) stop = natural_stop(analysis, after);
  }
  if (stop) {
    decision.stop = *stop;
    decision.result = tuning_result(analysis, spending, *stop);
  }
  return reduction;
}

TuningResult ResultAnalyzer::result(std::span<const StageHistory> history, const Spending& spending,
                                    Stop stop) const {
  const auto analysis = Analysis::of(input_, history);
  if (analysis) return tuning_result(*analysis, spending, stop);
  TuningResult result;
  result.stop = stop;
  result.spent_node_seconds = spending.node_seconds;
  result.why = analysis.error().message;
  return result;
}

}  // namespace slurmtune
