// SPDX-License-Identifier: MIT
#include "slurmtune/report/training_words.hpp"

#include <chrono>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "slurmtune/execute/sbatch_directives.hpp"

namespace slurmtune {

namespace {

std::string who(const TrainingRecord& training) {
  return training.job == 0 ? std::string("it") : fmt::format("job {}", training.job);
}

std::string before_it_began(const StudyView& view, const std::string& directory) {
  if (view.state.cancelled) return "not launched: the study was cancelled";
  if (!view.state.finished) return "will be launched with the winner, in a job of its own";
  if (!view.state.finished->best) return "not launched: no configuration works";
  const JobRecord* launch = nullptr;
  for (const JobRecord& job : view.state.jobs) {
    if (job.kind == JobKind::launch && job.job) launch = &job;
  }
  const std::string remedy = fmt::format("slurmtune resume {}", directory);
  if (launch == nullptr) return "not launched yet; launch it with: " + remedy;
  return fmt::format("waits as job {}; if that is gone: {}", *launch->job, remedy);
}

}  // namespace

std::string training_in_words(const StudyView& view, const std::string& directory) {
  if (!view.plan.launch) return "";
  const auto& training = view.state.training;
  if (!training) return before_it_began(view, directory);
  if (!training->ended) {
    return fmt::format("{} runs since {}", who(*training), format_instant(training->started));
  }
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(*training->ended - training->started);
  return fmt::format("{} ended with exit code {} after {}", who(*training), training->exit_code,
                     format_walltime(seconds));
}

Json training_json(const StudyView& view) {
  const auto& training = view.state.training;
  if (!training) return nullptr;
  Json json{{"job", nullptr},
            {"started", format_instant(training->started)},
            {"ended", nullptr},
            {"exit_code", nullptr}};
  if (training->job != 0) json["job"] = training->job;
  if (training->ended) {
    json["ended"] = format_instant(*training->ended);
    json["exit_code"] = training->exit_code;
  }
  return json;
}

}  // namespace slurmtune
