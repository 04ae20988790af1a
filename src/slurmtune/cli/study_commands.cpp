// SPDX-License-Identifier: MIT
//
// The commands that end or go on with a study which is there: report, resume, cancel.

#include "slurmtune/cli/study_commands.hpp"

#include <memory>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "slurmtune/cli/command.hpp"
#include "slurmtune/cli/follow.hpp"
#include "slurmtune/cli/output.hpp"
#include "slurmtune/tune/one_job.hpp"

namespace slurmtune {

namespace {

Expected<ExitCode> report(const DirectoryArguments& arguments) {
  SLURMTUNE_TRY(OpenStudy study,
                open_study(arguments.directory, LocalPart::bystander, SlurmNeed::when_asked));
  return print_report(study, arguments.as_json);
}

/// Outside of its job: submits it again if it is gone.
Expected<ExitCode> resume_one_job(const OpenStudy& study) {
  SLURMTUNE_TRY(const auto slurm, open_slurm());
  SLURMTUNE_TRY(const WholeJob job,
                submit_whole_job(study.autotuner->directory(), *slurm, real_world()));
  print(whole_job_lines(job));
  return ExitCode::done;
}

Expected<ExitCode> cancel(const DirectoryArguments& arguments) {
  SLURMTUNE_TRY(OpenStudy study,
                open_study(arguments.directory, LocalPart::bystander, SlurmNeed::unless_finished));
  const auto& training = study.state.training;
  const bool trains =
      wants_training(study.autotuner->plan(), study.state) && !(training && training->ended);
  if (study.state.finished && !trains) {
    print(std::string("the study is finished already\n"));
    return ExitCode::done;
  }
  SLURMTUNE_CHECK(study.autotuner->advance({Role::cancel, 0}));
  if (study.is_one_job()) {
    SLURMTUNE_TRY(const auto slurm, open_slurm());
    SLURMTUNE_CHECK(cancel_whole_jobs(study.autotuner->directory(), *slurm));
  }
  print(fmt::format("cancelled; what was measured is kept: slurmtune report {}\n",
                    study.autotuner->directory().root().string()));
  return ExitCode::done;
}

}  // namespace

std::shared_ptr<DirectoryArguments> directory_argument(CLI::App& command) {
  auto arguments = std::make_shared<DirectoryArguments>();
  command.add_option("DIR", arguments->directory, "the study's directory")->required();
  return arguments;
}

Expected<ExitCode> resume_study(const std::string& directory) {
  SLURMTUNE_TRY(OpenStudy study,
                open_study(directory, LocalPart::foreground, SlurmNeed::unless_finished));
  if (study.is_one_job() && held_nodes() && !study.state.finished &&
      prepare_successor(study.autotuner->directory())) {
    // The journal knows one more job now.
    SLURMTUNE_TRY(study, open_study(directory, LocalPart::foreground));
  }
  const bool launches =
      wants_training(study.autotuner->plan(), study.state) && !study.state.training;
  if (study.state.finished && !launches) {
    print(std::string("the study is finished\n"));
    return print_report(study, false);
  }
  if (study.is_one_job() && !held_nodes()) return resume_one_job(study);
  if (study.is_local()) return run_local_study(study);
  const std::size_t before = study.state.jobs.size();
  SLURMTUNE_TRY(const StudyState state, study.autotuner->advance({Role::resume, 0}));
  const auto& cancelled = study.autotuner->cancelled_jobs();
  if (!cancelled.empty() && !state.finished) {
    print(
        fmt::format("cancelled, as they could not be launched or are not needed any more: job {}\n",
                    fmt::join(cancelled, ", ")));
  }
  for (std::size_t i = before; i < state.jobs.size(); ++i) {
    if (state.jobs[i].job) {
      print(fmt::format("{:>10}  {}\n", *state.jobs[i].job, state.jobs[i].name));
    }
  }
  if (state.finished) return print_report(study, false);
  const bool changed = state.jobs.size() != before || !cancelled.empty();
  print(std::string(changed ? "the study goes on\n" : "nothing is missing; the study goes on\n"));
  return ExitCode::done;
}

void add_report_command(CLI::App& app, Command& selected) {
  CLI::App* command = add_subcommand(
      app, "report", "Show what a study came to: winner, proof and cost; 1 if there is no winner",
      "  slurmtune report slurmtune-gpt2\n"
      "  slurmtune report slurmtune-gpt2 --json | jq .result.best.values");
  const auto arguments = directory_argument(*command);
  command->add_flag("--json", arguments->as_json, "as JSON");
  command->callback(
      [arguments, &selected] { selected = [arguments] { return report(*arguments); }; });
}

void add_resume_command(CLI::App& app, Command& selected) {
  CLI::App* command = add_subcommand(
      app, "resume", "Go on with a study that lost jobs or was interrupted; measures nothing twice",
      "  slurmtune resume slurmtune-gpt2");
  const auto arguments = directory_argument(*command);
  command->callback([arguments, &selected] {
    selected = [arguments] { return resume_study(arguments->directory); };
  });
}

void add_cancel_command(CLI::App& app, Command& selected) {
  CLI::App* command =
      add_subcommand(app, "cancel", "Cancel the jobs of a study and end it with what it has",
                     "  slurmtune cancel slurmtune-gpt2");
  const auto arguments = directory_argument(*command);
  command->callback(
      [arguments, &selected] { selected = [arguments] { return cancel(*arguments); }; });
}

}  // namespace slurmtune
