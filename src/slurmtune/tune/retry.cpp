// SPDX-License-Identifier: MIT
#include "slurmtune/tune/retry.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "slurmtune/base/hash.hpp"
#include "slurmtune/model/history.hpp"
#include "slurmtune/study/files.hpp"
#include "slurmtune/study/journal.hpp"

namespace slurmtune {

namespace {

/// Others write into the journal, too; each round one of them wins.
constexpr int appends_max = 1000;

constexpr std::string_view new_study =
    "; submit a new study of the same study.toml with --dir DIR, which measures all of it";

/// Whether a stage of the plan after `current` may run again what stages of that kind asked for.
/// The first round of confirm catches up on the search (ExperimentGenerator).
bool may_run_again(const Plan& plan, std::size_t current, Purpose asked_by) {
  for (std::size_t i = current + 1; i < plan.stages.size(); ++i) {
    const bool confirms = plan.stages[i].kind == Purpose::confirm;
    if (asked_by == Purpose::confirm ? confirms : !confirms || plan.stages[i].round == 0)
      return true;
  }
  return false;
}

/// The stage whose decision ended the study.
std::optional<std::size_t> ending_stage(const StudyView& view) {
  for (std::size_t i = view.stages.size(); i > 0; --i) {
    if (view.stages[i - 1].decision) {
      const bool ends = view.stages[i - 1].decision->next.action == NextAction::finish;
      return ends ? std::optional(i - 1) : std::nullopt;
    }
  }
  return std::nullopt;
}

Expected<void> check_state(const StudyView& view) {
  const StudyState& state = view.state;
  if (state.cancelled) {
    return invalid_input(fmt::format("the study was cancelled{}", new_study));
  }
  if (!state.finished) return {};
  if (state.training) {
    return invalid_input(
        fmt::format("the training with the winner has been launched already{}", new_study));
  }
  if (!ending_stage(view)) {
    return invalid_input(
        fmt::format("the study ended before its current stage was concluded ({}){}",
                    name_of(state.finished->stop), new_study));
  }
  return {};
}

Expected<void> reopen(const StudyInput& input, const StudyView& view, const Spending& spending,
                      RetryPlan& retry) {
  const std::size_t last = *ending_stage(view);
  StudyView mended = view;
  mended.state.retried.insert(retry.tries.begin(), retry.tries.end());
  SLURMTUNE_TRY(
      Reduction reduction,
      ResultAnalyzer(input, view.plan).reduce(history_with_losses(mended, last), spending));
  const auto runs = [&](const Experiment& experiment) {
    return std::any_of(retry.tries.begin(), retry.tries.end(),
                       [&](const RetriedTry& tried) { return tried.experiment == experiment.id; });
  };
  const bool any = reduction.next && std::any_of(reduction.next->experiments.begin(),
                                                 reduction.next->experiments.end(), runs);
  if (!any) {
    const bool budget = reduction.decision.stop == Stop::budget;
    return invalid_input(fmt::format(
        "the study is finished, and {}{}",
        budget ? "its budget does not hold a stage more" : "no stage of its plan is left for them",
        new_study));
  }
  retry.by = view.plan.stages[last].name;
  retry.reopening = std::move(reduction);
  return {};
}

}  // namespace

const std::set<Outcome>& mendable_outcomes() {
  static const std::set<Outcome> outcomes{Outcome::timeout,       Outcome::hang,
                                          Outcome::config_error,  Outcome::launch_error,
                                          Outcome::storage_error, Outcome::crashed};
  return outcomes;
}

Expected<RetryPlan> plan_retry(const StudyInput& input, const StudyView& view,
                               const std::set<Outcome>& outcomes, const Spending& spending) {
  SLURMTUNE_CHECK(check_state(view));
  RetryPlan retry;
  History history;
  for (const StageHistory& stage : history_of(view, view.stages.size())) {
    history.add(stage.manifest, stage.verdicts);
  }
  const std::size_t current = current_stage(view);
  for (const Trial& trial : history.trials()) {
    if (!trial.verdict || !outcomes.contains(trial.verdict->outcome)) continue;
    if (!view.state.finished && trial.wants_another_try()) {
      ++retry.due;
      continue;
    }
    if (!view.state.finished && !may_run_again(view.plan, current, trial.asked_by)) {
      ++retry.too_late;
      continue;
    }
    retry.tries.push_back({trial.experiment.id, trial.last_attempt});
    retry.labels.push_back(trial.experiment.label);
  }
  if (retry.tries.empty() && retry.too_late > 0) {
    return invalid_input(
        fmt::format("{} experiments failed so, and no stage after {} would run them again{}",
                    retry.too_late, view.plan.stages[current].name.text, new_study));
  }
  std::sort(retry.tries.begin(), retry.tries.end());
  if (retry.tries.empty()) return retry;
  if (view.state.finished) {
    SLURMTUNE_CHECK(reopen(input, view, spending, retry));
    return retry;
  }
  retry.by = view.plan.stages[current].name;
  return retry;
}

Expected<RetryPlan> retry_failed(Autotuner& autotuner, const World& world,
                                 const std::set<Outcome>& outcomes) {
  const StudyDirectory& directory = autotuner.directory();
  const Journal journal(directory.journal(), world.after_event);
  for (int i = 0; i < appends_max; ++i) {
    SLURMTUNE_TRY(const StudyView view, autotuner.look(Autotuner::Queue::skip));
    SLURMTUNE_TRY(RetryPlan retry,
                  plan_retry(autotuner.input(), view, outcomes, autotuner.spending_of(view)));
    if (retry.tries.empty()) return retry;
    Retried event{.tries = retry.tries, .by = world.who, .reopens = {}, .next = {}};
    if (retry.reopening) {
      // As a reducer does: the proposal is there before what names it.
      const Reduction& reduction = *retry.reopening;
      SLURMTUNE_TRY(const std::string bytes, render_manifest(*reduction.next));
      SLURMTUNE_ASSERT(reduction.decision.next.manifest_sha256 == sha256_hex(bytes));
      const StageName& next = reduction.next->stage;
      SLURMTUNE_CHECK(make_private_directory(directory.stage(next)));
      SLURMTUNE_CHECK(publish_file(
          directory.proposal_path(next, reduction.decision.next.manifest_sha256), bytes));
      event.reopens = retry.by;
      event.next = reduction.decision.next;
    }
    SLURMTUNE_TRY(const auto appended,
                  journal.append(view.state.last_event + 1, world.now(), std::move(event)));
    if (appended == Journal::Append::won) return retry;
  }
  return unavailable("the retry could not be journalled: too many others write; try again");
}

}  // namespace slurmtune
