// SPDX-License-Identifier: MIT
#include "slurmtune/generate/experiment_generator.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "slurmtune/generate/retries.hpp"
#include "slurmtune/generate/slices.hpp"
#include "slurmtune/generate/templates.hpp"
#include "slurmtune/model/estimates.hpp"
#include "slurmtune/search/strategies.hpp"

namespace slurmtune {

namespace {

/// What a stage asks, by its kind. Errors: invalid_input for a kind that has no strategy.
Expected<std::vector<Proposal>> propose(const SearchContext& context, const StageRequest& request,
                                        std::size_t room) {
  const auto width =
      std::min(room, static_cast<std::size_t>(std::max(1, context.input.spec.search.width)));
  switch (request.kind) {
    case Purpose::profile: return propose_profile(context);
    case Purpose::frontier: return propose_frontier(context, width);
    case Purpose::curve: return propose_curve(context, width);
    case Purpose::grid: return propose_grid(context);
    case Purpose::knobs: return propose_knobs(context, request.round, room);
    case Purpose::halving: return propose_halving(context, request.round, room);
    case Purpose::confirm: return propose_confirm(context);
    case Purpose::baseline:
    case Purpose::probe: break;
  }
  return invalid_input(
      fmt::format("a stage of kind '{}' cannot be generated", name_of(request.kind)));
}

/// The best so far, where the runner can compare a trial with it. In confirm no trial may end
/// early: its repeats are there to be measured in full.
std::optional<Incumbent> incumbent_of(const SearchContext& context, Purpose kind) {
  if (!context.objective.is_throughput() || kind == Purpose::confirm) return std::nullopt;
  const auto leader = leader_of(context);
  if (!leader) return std::nullopt;
  return Incumbent{.configuration = leader->id, .throughput = leader->score};
}

SliceLimits slice_limits(const StageRequest& request) {
  const std::int64_t tasks = std::max<std::int64_t>(1, request.tasks_max);
  // As many in a task as the planner sized its walltime for.
  const std::int64_t per_task = (request.experiments_max + tasks - 1) / tasks;
  const std::int64_t task_node_seconds =
      std::int64_t{request.nodes_per_task} * request.task_walltime_s;
  return {.tasks_max = tasks,
          .per_task = std::max<std::int64_t>(1, per_task),
          .task_node_seconds = std::max<std::int64_t>(1, task_node_seconds),
          .node_seconds_cap = request.node_seconds_cap};
}

/// Experiments of the search that were lost where no later stage of the search could try them
/// again: the first round of confirm catches up on them, and the second confirms. As long as there
/// is nothing to confirm, a later one has those that the user asked for again.
std::vector<Experiment> lost_in_search(const SearchContext& context, const StageRequest& request) {
  if (request.kind != Purpose::confirm) return {};
  if (request.round != 0 && leader_of(context)) return {};
  const auto& trials = context.history.trials();
  const bool walked_grid = std::any_of(trials.begin(), trials.end(), [](const Trial& trial) {
    return trial.asked_by == Purpose::grid || trial.asked_by == Purpose::halving;
  });
  std::vector<Experiment> again = retries(context, walked_grid ? Purpose::grid : Purpose::curve);
  if (request.round == 0) return again;
  std::erase_if(again, [&](const Experiment& experiment) {
    const Trial* trial = context.history.find(experiment.id);
    return trial == nullptr || !trial->verdict || trial->verdict->reason != retried_try;
  });
  return again;
}

}  // namespace

Expected<Manifest> ExperimentGenerator::generate(const StageRequest& request,
                                                 std::span<const StageHistory> history) const {
  const StudySpec& spec = input_.spec;
  SLURMTUNE_TRY(const Space space, make_space(spec));
  SLURMTUNE_TRY(const Objective objective, Objective::compile(input_));
  History past;
  for (const StageHistory& stage : history) past.add(stage.manifest, stage.verdicts);
  const SearchContext context{input_, space, past, objective};

  Manifest manifest;
  manifest.study = request.study;
  manifest.stage = request.name;
  manifest.round = request.round;
  manifest.inputs = request.inputs;
  manifest.lanes = spec.lanes;
  manifest.nodes_per_lane = spec.trial.nodes;
  manifest.task_walltime_s = request.task_walltime_s;
  manifest.incumbent = incumbent_of(context, request.kind);
  manifest.node_seconds_cap = request.node_seconds_cap;

  const auto room_max =
      static_cast<std::size_t>(std::max<std::int64_t>(0, request.experiments_max));
  manifest.experiments = lost_in_search(context, request);
  const bool catches_up = !manifest.experiments.empty();
  if (!catches_up) manifest.experiments = retries(context, request.kind);
  if (!catches_up && manifest.experiments.size() < room_max) {
    const std::size_t room = room_max - manifest.experiments.size();
    SLURMTUNE_TRY(std::vector<Proposal> proposals, propose(context, request, room));
    for (const Proposal& proposal : prune_configs(std::move(proposals), context)) {
      manifest.experiments.push_back(build_experiment(proposal, spec.measure));
    }
  }
  if (manifest.experiments.size() > room_max) manifest.experiments.resize(room_max);
  const bool repeats = request.kind == Purpose::confirm && !catches_up;
  const Dealing dealing = repeats ? Dealing::by_repeat : Dealing::evenly;
  cut_slices(manifest, slice_limits(request), dealing);
  return manifest;
}

}  // namespace slurmtune
