// SPDX-License-Identifier: MIT
#include "slurmtune/tune/write_scripts.hpp"

#include <fmt/core.h>

#include "slurmtune/base/shell_quote.hpp"
#include "slurmtune/study/files.hpp"
#include "slurmtune/tune/job_requests.hpp"

namespace slurmtune {

Expected<std::vector<std::string>> write_scripts(const StudyDirectory& directory) {
  SLURMTUNE_TRY(const StudyInput input, directory.read_input());
  SLURMTUNE_TRY(const Plan plan, directory.read_plan());
  SLURMTUNE_TRY(const auto events, Journal(directory.journal()).read());
  SLURMTUNE_TRY(const StudyState state, fold(events));

  std::vector<std::string> lines;
  std::string after;  // the variable that holds the job to wait for
  const auto add = [&](const SubmitJob& job, const std::string& variable) -> Expected<void> {
    SLURMTUNE_TRY(const JobRequest request, prepare_job(directory, input, plan, state, job));
    std::string line = fmt::format("{}=$(sbatch --parsable", variable);
    if (request.array_tasks) {
      line += fmt::format(" --array=0-{}", *request.array_tasks - 1);
      if (request.array_at_once) line += fmt::format("%{}", *request.array_at_once);
    }
    if (!after.empty()) line += fmt::format(" --dependency=afterany:${}", after);
    if (request.begin) {
      const auto seconds = std::chrono::floor<std::chrono::seconds>(*request.begin);
      line += fmt::format(" --begin=$(date -d @{} +%Y-%m-%dT%H:%M:%S)",
                          seconds.time_since_epoch().count());
    }
    lines.push_back(fmt::format("{} {})", line, shell_quote(std::string_view(request.script))));
    return {};
  };

  if (state.created.deadline) {
    SLURMTUNE_CHECK(add({.stage = {},
                         .kind = JobKind::guard,
                         .attempt = 0,
                         .first_slice = 0,
                         .tasks = std::nullopt,
                         .after_any = {}},
                        "guard"));
  }
  for (std::size_t i = 0; i < plan.stages.size(); ++i) {
    const PlannedStage& stage = plan.stages[i];
    SLURMTUNE_TRY(const auto manifest, directory.read_manifest(stage.name));
    const std::int64_t tasks =
        manifest ? static_cast<std::int64_t>(manifest->slices.size()) : stage.tasks_max;
    const std::string array = fmt::format("a{}", i + 1);
    SLURMTUNE_CHECK(add({.stage = stage.name,
                         .kind = JobKind::array,
                         .attempt = 0,
                         .first_slice = 0,
                         .tasks = tasks,
                         .after_any = {}},
                        array));
    after = array;
    const std::string reducer = fmt::format("r{}", i + 1);
    SLURMTUNE_CHECK(add({.stage = stage.name,
                         .kind = JobKind::reducer,
                         .attempt = 0,
                         .first_slice = 0,
                         .tasks = std::nullopt,
                         .after_any = {}},
                        reducer));
    after = reducer;
  }
  SLURMTUNE_CHECK(add({.stage = {},
                       .kind = JobKind::final,
                       .attempt = 0,
                       .first_slice = 0,
                       .tasks = std::nullopt,
                       .after_any = {}},
                      "final"));
  if (plan.launch) {
    after = "final";
    SLURMTUNE_CHECK(add({.stage = {},
                         .kind = JobKind::launch,
                         .attempt = 0,
                         .first_slice = 0,
                         .tasks = std::nullopt,
                         .after_any = {}},
                        "training"));
  }
  return lines;
}

}  // namespace slurmtune
