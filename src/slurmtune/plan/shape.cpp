// SPDX-License-Identifier: MIT
#include "slurmtune/plan/shape.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "slurmtune/plan/budget.hpp"
#include "slurmtune/plan/site_rules.hpp"
#include "slurmtune/space/space.hpp"

namespace slurmtune {

namespace {

/// As SubmitMode.
constexpr std::array<std::string_view, 7> submit_names{"auto",       "graph",   "step", "one-job",
                                                       "allocation", "scripts", "local"};

Expected<std::vector<Shaped>> shape_all(const std::vector<StageDraft>& drafts,
                                        std::int64_t tasks_max, const TaskRules& rules) {
  std::vector<Shaped> shaped;
  for (const StageDraft& draft : drafts) {
    Expected<ArrayShape> shape =
        draft.tasks ? pack_into(draft.experiments, std::min(*draft.tasks, tasks_max), rules)
                    : pack(draft.experiments, tasks_max, rules);
    if (!shape) return tl::unexpected<Error>(std::move(shape).error());
    shaped.push_back({draft, *shape});
  }
  return shaped;
}

/// Jobs of a graph besides its stages, the training's among them.
std::int64_t jobs_beside(const StudyInput& input) {
  return jobs_beside_stages + (input.spec.mode == StudyMode::run ? 1 : 0);
}

std::int64_t jobs_of(const std::vector<Shaped>& stages) {
  std::int64_t jobs = 0;
  for (const Shaped& stage : stages) jobs += stage.shape.tasks + 1;
  return jobs;
}

/// The widest stages that have at most `jobs_max` jobs together; nothing if even one
/// task a stage is too many. Errors: invalid_input if so few tasks cannot hold the experiments.
Expected<std::optional<std::vector<Shaped>>> widest_within(std::int64_t jobs_max,
                                                           const std::vector<StageDraft>& drafts,
                                                           const TaskRules& rules) {
  std::int64_t high = jobs_max;  // surely too wide
  std::int64_t low = 0;          // surely not too wide; it may be too narrow
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    const auto shaped = shape_all(drafts, middle, rules);
    (shaped && jobs_of(*shaped) > jobs_max ? high : low) = middle;
  }
  if (low == 0) return std::nullopt;
  SLURMTUNE_TRY(std::vector<Shaped> shaped, shape_all(drafts, low, rules));
  return shaped;
}

/// Each stage in as few tasks as the site's longest walltime allows.
Expected<std::int64_t> fewest_jobs_of(const std::vector<StageDraft>& drafts,
                                      const TaskRules& rules) {
  std::int64_t jobs = 0;
  for (const StageDraft& draft : drafts) {
    SLURMTUNE_TRY(const ArrayShape shape, pack_into(draft.experiments, 1, rules));
    jobs += shape.tasks + 1;
  }
  return jobs;
}

/// What may be written instead of `submit = "graph"`.
std::string other_ways(const Site& site) {
  return site.jobs_can_submit && site.submit_jobs_max > jobs_beside_a_step
             ? "submit = \"step\" or \"one-job\""
             : "submit = \"one-job\"";
}

Expected<std::vector<Shaped>> shape_graph(const StudyInput& input, const TaskRules& rules,
                                          StageTable& table) {
  const std::int64_t jobs_max = input.site.submit_jobs_max - jobs_beside(input);
  for (;;) {  // ends with a stage less each time
    SLURMTUNE_TRY(std::vector<Shaped> shaped,
                  shape_all(table.stages, std::max<std::int64_t>(1, jobs_max), rules));
    if (jobs_of(shaped) <= jobs_max) return shaped;
    auto narrowed = widest_within(jobs_max, table.stages, rules);
    if (narrowed && *narrowed) return **std::move(narrowed);
    const auto optional = std::find_if(table.stages.rbegin(), table.stages.rend(),
                                       [](const StageDraft& draft) { return !draft.mandatory; });
    if (optional == table.stages.rend()) {
      if (!narrowed) return tl::unexpected<Error>(std::move(narrowed).error());
      SLURMTUNE_TRY(const std::int64_t least, fewest_jobs_of(table.stages, rules));
      return invalid_input(fmt::format(
          "{}: the graph of this study has {} jobs at least (an array task is one), but "
          "submit_jobs_max of the site is {}; write {}, narrow the space, or raise it if the "
          "cluster allows",
          input.spec.path, jobs_beside(input) + least, input.site.submit_jobs_max,
          other_ways(input.site)));
    }
    table.pruned.push_back(
        {fmt::format("stage {} {}", name_of(optional->kind), optional->round + 1),
         fmt::format("submit_jobs_max of the site is {}", input.site.submit_jobs_max)});
    table.stages.erase(std::next(optional).base());
  }
}

Expected<std::vector<Shaped>> shape_steps(const StudyInput& input, const TaskRules& rules,
                                          const StageTable& table) {
  const std::int64_t tasks_max = input.site.submit_jobs_max - jobs_beside_a_step;
  if (tasks_max >= 1) return shape_all(table.stages, tasks_max, rules);
  return invalid_input(fmt::format(
      "{}: submit = \"step\" has {} jobs in the queue at least, but submit_jobs_max of the site "
      "is {}; write submit = \"one-job\"",
      input.spec.path, jobs_beside_a_step + 1, input.site.submit_jobs_max));
}

}  // namespace

std::string_view name_of(SubmitMode mode) {
  return submit_names.at(static_cast<std::size_t>(mode));
}

bool is_in_arrays(SubmitMode mode) {
  return mode == SubmitMode::graph || mode == SubmitMode::step || mode == SubmitMode::scripts;
}

Expected<void> check_submit(const StudyInput& input, SubmitMode mode) {
  if (mode != SubmitMode::step || input.site.jobs_can_submit) return {};
  return invalid_input(
      fmt::format("{}: submit = \"step\" needs jobs that submit jobs, which the site {} does not "
                  "let them (jobs_can_submit = false); write submit = \"graph\" or \"one-job\"",
                  input.spec.path, input.site.name));
}

Expected<std::int64_t> fewest_graph_jobs(const StudyInput& input) {
  SLURMTUNE_TRY(const Space space, make_space(input.spec));
  SLURMTUNE_TRY(StageTable table, stage_table(input, space));
  SLURMTUNE_CHECK(fit_experiments(input, table));
  SLURMTUNE_TRY(const std::int64_t jobs,
                fewest_jobs_of(table.stages, task_rules(input, SubmitMode::graph)));
  return jobs_beside(input) + jobs;
}

Expected<std::vector<Shaped>> shape_within_limits(const StudyInput& input, SubmitMode mode,
                                                  const TaskRules& rules, StageTable& table) {
  switch (mode) {
    case SubmitMode::step: return shape_steps(input, rules, table);
    case SubmitMode::one_job:
    case SubmitMode::allocation:
      return shape_all(table.stages, std::numeric_limits<std::int32_t>::max(), rules);
    case SubmitMode::automatic:
    case SubmitMode::graph:
    case SubmitMode::scripts:
    case SubmitMode::local: break;
  }
  return shape_graph(input, rules, table);
}

}  // namespace slurmtune
