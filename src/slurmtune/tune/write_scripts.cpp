// SPDX-License-Identifier: MIT
#include "slurmtune/tune/write_scripts.hpp"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "slurmtune/base/shell_quote.hpp"
#include "slurmtune/study/files.hpp"
#include "slurmtune/tune/job_requests.hpp"
#include "slurmtune/tune/world.hpp"

namespace slurmtune {

namespace {

SubmitJob job_of(const StageName& stage, JobKind kind) {
  return {.stage = stage,
          .kind = kind,
          .attempt = 0,
          .first_slice = 0,
          .tasks = std::nullopt,
          .after_any = {}};
}

/// The lines of a shell script that submit a study. `after` is `:$a1:$a2`, the variables of the
/// jobs to wait for; "" = none.
class ScriptLines {
 public:
  ScriptLines(const StudyDirectory& directory, const StudyInput& input, const Plan& plan,
              const StudyState& state)
      : directory_(directory), input_(input), plan_(plan), state_(state) {}

  Expected<void> add(const SubmitJob& job, const std::string& variable, const std::string& after) {
    SLURMTUNE_TRY(const JobRequest request,
                  prepare_job(directory_, input_, plan_, state_, job, real_world().now()));
    std::string line = fmt::format("{}=$(sbatch --parsable", variable);
    if (request.array_tasks) {
      line += fmt::format(" --array=0-{}", *request.array_tasks - 1);
      if (request.array_at_once) line += fmt::format("%{}", *request.array_at_once);
    }
    if (!after.empty()) line += " --dependency=afterany" + after;
    if (request.begin) {
      const auto seconds = std::chrono::floor<std::chrono::seconds>(*request.begin);
      line += fmt::format(" --begin=$(date -d @{} +%Y-%m-%dT%H:%M:%S)",
                          seconds.time_since_epoch().count());
    }
    lines_.push_back(fmt::format("{} {})", line, shell_quote(std::string_view(request.script))));
    return {};
  }

  /// The arrays of a stage and its reducer, which the next stage waits for.
  Expected<std::string> add_stage(std::size_t index, const std::string& before) {
    const PlannedStage& stage = plan_.stages[index];
    SLURMTUNE_TRY(const auto manifest, directory_.read_manifest(stage.name));
    const std::int64_t tasks =
        manifest ? static_cast<std::int64_t>(manifest->slices.size()) : stage.tasks_max;
    const std::int64_t each = plan_.array_tasks_max > 0 ? plan_.array_tasks_max : tasks;
    const bool throttled = stage.tasks_at_once < stage.tasks_max;
    std::string arrays;
    for (std::int64_t first = 0; first < tasks; first += each) {
      SubmitJob array = job_of(stage.name, JobKind::array);
      array.first_slice = first;
      array.tasks = std::min(each, tasks - first);
      std::string variable = fmt::format("a{}", index + 1);
      if (first > 0) variable += fmt::format("_{}", first);
      // No more tasks at once than the throttle allows, in all arrays of the stage together.
      SLURMTUNE_CHECK(add(array, variable, throttled && !arrays.empty() ? arrays : before));
      arrays += ":$" + variable;
    }
    const std::string reducer = fmt::format("r{}", index + 1);
    SLURMTUNE_CHECK(add(job_of(stage.name, JobKind::reducer), reducer, arrays));
    return ":$" + reducer;
  }

  std::vector<std::string> take() { return std::move(lines_); }

 private:
  const StudyDirectory& directory_;
  const StudyInput& input_;
  const Plan& plan_;
  const StudyState& state_;
  std::vector<std::string> lines_;
};

}  // namespace

Expected<std::vector<std::string>> write_scripts(const StudyDirectory& directory) {
  SLURMTUNE_TRY(const StudyInput input, directory.read_input());
  SLURMTUNE_TRY(const Plan plan, directory.read_plan());
  SLURMTUNE_TRY(const auto events, Journal(directory.journal()).read());
  SLURMTUNE_TRY(const StudyState state, fold(events));

  ScriptLines lines(directory, input, plan, state);
  if (state.deadline) {
    SLURMTUNE_CHECK(lines.add(job_of({}, JobKind::guard), "guard", ""));
  }
  std::string after;  // what the next job waits for
  for (std::size_t i = 0; i < plan.stages.size(); ++i) {
    SLURMTUNE_TRY(after, lines.add_stage(i, after));
  }
  SLURMTUNE_CHECK(lines.add(job_of({}, JobKind::final), "final", after));
  if (plan.launch) SLURMTUNE_CHECK(lines.add(job_of({}, JobKind::launch), "training", ":$final"));
  return lines.take();
}

}  // namespace slurmtune
