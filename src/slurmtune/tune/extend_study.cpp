// SPDX-License-Identifier: MIT
#include "slurmtune/tune/extend_study.hpp"

#include <set>
#include <utility>

#include <fmt/format.h>

#include "slurmtune/base/units.hpp"
#include "slurmtune/plan/budget.hpp"
#include "slurmtune/study/journal.hpp"
#include "slurmtune/study/spending.hpp"
#include "slurmtune/tune/deadline.hpp"

namespace slurmtune {

namespace {

/// Others may write to the journal at the same time.
constexpr int appends_max = 100;

Expected<Extended> event_of(const Extension& wanted, Instant now) {
  Extended event{.max_node_hours = wanted.max_node_hours,
                 .max_gpu_hours = wanted.max_gpu_hours,
                 .max_experiments = wanted.max_experiments,
                 .deadline = std::nullopt};
  if (wanted.finish_by) {
    const auto deadline = deadline_of(*wanted.finish_by, now);
    if (!deadline) {
      return invalid_input(
          fmt::format("--finish-by {}: {}", *wanted.finish_by, deadline.error().message));
    }
    event.deadline = *deadline;
  }
  if (event == Extended{}) {
    return invalid_input(
        "nothing to extend; give --max-node-hours, --max-gpu-hours, --max-experiments or "
        "--finish-by");
  }
  const auto not_positive = [](const auto& value) { return value && !(*value > 0); };
  if (not_positive(event.max_node_hours) || not_positive(event.max_gpu_hours) ||
      not_positive(event.max_experiments)) {
    return invalid_input("a budget must be greater than 0; it is for the whole study");
  }
  return event;
}

/// Experiments that were begun, each once.
std::int64_t experiments_begun(const StudyView& view) {
  std::set<std::pair<ExperimentId, int>> begun;
  for (const StageView& stage : view.stages) {
    for (const Shard& shard : stage.shards) {
      for (const Verdict& verdict : shard.verdicts) {
        if (verdict.outcome != Outcome::not_started) {
          begun.insert({verdict.experiment, verdict.attempt});
        }
      }
    }
  }
  return static_cast<std::int64_t>(begun.size());
}

/// The last stage that has run.
std::size_t last_stage(const StudyView& view) {
  std::size_t last = 0;
  for (std::size_t i = 0; i < view.stages.size(); ++i) {
    if (view.stages[i].manifest) last = i;
  }
  return last;
}

/// A study that ended cannot go on for every reason.
Expected<void> check_end(const StudyView& view) {
  if (view.state.cancelled) {
    return invalid_input("the study was cancelled; start another one");
  }
  if (!view.state.finished) return {};
  const Finished& finished = *view.state.finished;
  if (!may_be_extended(finished)) {
    return invalid_input(
        fmt::format("the study has ended, and not for want of budget or time ({}): more of it "
                    "changes nothing; start another one",
                    name_of(finished.stop)));
  }
  const std::size_t last = last_stage(view);
  const bool is_open = !view.stages[last].decision && !open_slices(view.stages[last]).empty();
  if (is_open || last + 1 < view.stages.size()) return {};
  return invalid_input(fmt::format(
      "the plan of this study has no stage left after {}: more budget changes nothing; start "
      "another study with the larger budget, which plans more stages",
      view.plan.stages[last].name.text));
}

Expected<void> check_spent(const StudyView& view, const StudyInput& extended) {
  const auto budget = budget_node_seconds(extended);
  const std::int64_t spent = spent_node_seconds(view);
  if (budget && *budget < spent) {
    return invalid_input(fmt::format("the budget cannot be {}: {} are spent already",
                                     format_node_hours(*budget), format_node_hours(spent)));
  }
  const auto& experiments = extended.spec.budget.max_experiments;
  const std::int64_t begun = experiments_begun(view);
  if (experiments && *experiments < begun) {
    return invalid_input(
        fmt::format("max_experiments cannot be {}: {} were run already", *experiments, begun));
  }
  return {};
}

}  // namespace

Expected<void> check_extension(const Extension& wanted, Instant now) {
  SLURMTUNE_CHECK(event_of(wanted, now));
  return {};
}

Expected<ExtendedStudy> extend_study(Autotuner& autotuner, const Extension& wanted,
                                     const World& world) {
  SLURMTUNE_TRY(const Extended event, event_of(wanted, world.now()));
  const Journal journal(autotuner.directory().journal(), world.after_event);
  ExtendedStudy extended;
  for (int i = 0;; ++i) {
    SLURMTUNE_TRY(const StudyView view, autotuner.look(Autotuner::Queue::skip));
    SLURMTUNE_CHECK(check_end(view));
    const StudyInput input =
        with_extension(with_extension(autotuner.input(), view.state.extension), event);
    SLURMTUNE_CHECK(check_spent(view, input));
    extended.budget_node_seconds = budget_node_seconds(input);
    extended.spent_node_seconds = spent_node_seconds(view);
    extended.max_experiments = input.spec.budget.max_experiments;
    extended.experiments_run = experiments_begun(view);
    extended.deadline = event.deadline ? event.deadline : view.state.deadline;
    if (view.state.finished) {
      if (extended.deadline && *extended.deadline <= world.now()) {
        return invalid_input(
            fmt::format("the deadline of this study is past ({}); set another one with --finish-by",
                        format_instant(*extended.deadline)));
      }
      extended.goes_on_with = view.plan.stages[last_stage(view)].name.text;
    }
    SLURMTUNE_TRY(const auto appended,
                  journal.append(view.state.last_event + 1, world.now(), event));
    if (appended == Journal::Append::won) break;
    if (i == appends_max) return unavailable("the journal cannot be written: too many others do");
  }
  if (extended.goes_on_with.empty()) SLURMTUNE_CHECK(autotuner.advance({Role::extend, 0}));
  return extended;
}

}  // namespace slurmtune
