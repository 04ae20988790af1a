// SPDX-License-Identifier: MIT
#include "slurmtune/tune/extend_study.hpp"

#include <iterator>
#include <set>
#include <string_view>
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

/// As [budget] of study.toml bounds them.
template <class Number>
Expected<void> check_bounds(std::string_view example, const std::optional<Number>& value) {
  constexpr double most = 1e9;
  if (!value || (*value > 0 && static_cast<double>(*value) <= most)) return {};
  return invalid_input(
      fmt::format("{} {}: write a number above 0, at most {:.0e}, for the whole study: {}",
                  example.substr(0, example.find(' ')), *value, most, example));
}

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
  SLURMTUNE_CHECK(check_bounds("--max-node-hours 80", event.max_node_hours));
  SLURMTUNE_CHECK(check_bounds("--max-gpu-hours 320", event.max_gpu_hours));
  SLURMTUNE_CHECK(check_bounds("--max-experiments 100", event.max_experiments));
  return event;
}

using Tries = std::set<std::pair<ExperimentId, int>>;

/// Tries that were begun.
Tries tries_begun(const StudyView& view) {
  Tries begun;
  for (const StageView& stage : view.stages) {
    for (const Shard& shard : stage.shards) {
      for (const Verdict& verdict : shard.verdicts) {
        if (verdict.outcome != Outcome::not_started) {
          begun.insert({verdict.experiment, verdict.attempt});
        }
      }
    }
  }
  return begun;
}

std::int64_t experiments_begun(const StudyView& view) { return std::ssize(tries_begun(view)); }

/// What tasks that are released may still run: nobody tells them of another budget.
struct Committed {
  Tries tries;  ///< those that were begun among them
  std::int64_t node_seconds = 0;
};

Committed committed_of(const StudyView& view) {
  Committed released{tries_begun(view), spent_node_seconds(view)};
  if (view.state.finished) return released;
  for (std::size_t i = 0; i < view.stages.size(); ++i) {
    const StageView& stage = view.stages[i];
    if (!stage.manifest || stage.decision) continue;
    std::set<std::int64_t> started;  // their limit is in what is spent
    for (const Shard& shard : stage.shards) started.insert(shard.start.slice);
    for (const std::int64_t slice : open_slices(stage)) {
      const auto& [first, end] = stage.manifest->slices[static_cast<std::size_t>(slice)];
      for (std::int64_t k = first; k < end; ++k) {
        const Experiment& experiment = stage.manifest->experiments[static_cast<std::size_t>(k)];
        released.tries.insert({experiment.id, experiment.attempt});
      }
      if (started.contains(slice)) continue;
      released.node_seconds += stage.manifest->task_walltime_s * view.plan.stages[i].nodes_per_task;
    }
  }
  return released;
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

/// A budget is not lowered below what was spent, nor below what is on its way.
Expected<void> check_committed(const StudyView& view, const StudyInput& extended) {
  const auto budget = budget_node_seconds(extended);
  const Committed released = committed_of(view);
  const std::int64_t spent = spent_node_seconds(view);
  const std::string_view wait = "wait until the stage is over, or end the study with: cancel";
  if (budget && *budget < released.node_seconds) {
    return invalid_input(fmt::format(
        "the budget cannot be {}: {} are spent already, and {} more released to tasks; {}",
        format_node_hours(*budget), format_node_hours(spent),
        format_node_hours(released.node_seconds - spent), wait));
  }
  const auto& experiments = extended.spec.budget.max_experiments;
  const std::int64_t begun = experiments_begun(view);
  const std::int64_t all = std::ssize(released.tries);
  if (experiments && *experiments < all) {
    return invalid_input(
        fmt::format("max_experiments cannot be {}: {} were run already, and {} more are released "
                    "to tasks; {}",
                    *experiments, begun, all - begun, wait));
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
    SLURMTUNE_CHECK(check_committed(view, input));
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
