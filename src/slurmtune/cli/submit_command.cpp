// SPDX-License-Identifier: MIT
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "slurmtune/cli/command.hpp"
#include "slurmtune/cli/open_study.hpp"
#include "slurmtune/cli/output.hpp"
#include "slurmtune/cli/study_options.hpp"
#include "slurmtune/tune/one_job.hpp"
#include "slurmtune/tune/write_scripts.hpp"

namespace slurmtune {

namespace {

std::string what_next(const std::string& directory) {
  return fmt::format(
      "study   {0}\nlook    slurmtune status {0}\nresult  slurmtune report {0}\nend it  slurmtune "
      "cancel {0}\n",
      directory);
}

Expected<ExitCode> write_scripts_only(const CreatedStudy& created) {
  SLURMTUNE_TRY(const auto lines, write_scripts(created.directory));
  std::string text = "# Nothing was submitted. Submit by hand, in this order:\n";
  for (const std::string& line : lines) text += line + '\n';
  print(text);
  return ExitCode::done;
}

Expected<ExitCode> submit_in_one_job(const CreatedStudy& created) {
  const std::string place = created.directory.root().string();
  SLURMTUNE_TRY(const auto slurm, open_slurm());
  const auto job = submit_whole_job(created.directory, *slurm, real_world());
  if (!job) {
    const bool refused = job.error().kind == ErrorKind::invalid_input;
    if (refused && created.creation == Creation::created) withdraw_study(created.directory);
    return tl::unexpected<Error>(job.error());
  }
  if (!job->is_new) print(fmt::format("{} is in the queue already\n", job->job));
  print(fmt::format("{:>10}  the whole study\n", job->job) + what_next(place));
  return ExitCode::done;
}

Expected<ExitCode> submit(const StudyArguments& arguments) {
  SLURMTUNE_TRY(const LoadedStudy study, arguments.load());
  if (study.submit == SubmitMode::local || study.submit == SubmitMode::allocation) {
    return invalid_input(fmt::format(
        "{}: submit = \"{}\" runs in the foreground; use: slurmtune tune {}", study.input.spec.path,
        study.submit == SubmitMode::local ? "local" : "allocation", study.input.spec.path));
  }
  const Instant now = real_world().now();
  SLURMTUNE_TRY(const CreatedStudy created, create_study(study, arguments.place_of(study), now));
  if (study.submit == SubmitMode::scripts) return write_scripts_only(created);
  const std::string place = created.directory.root().string();
  if (study.submit == SubmitMode::one_job) return submit_in_one_job(created);
  SLURMTUNE_TRY(OpenStudy open, open_study(place, LocalPart::foreground));
  if (created.creation == Creation::found) {
    print(fmt::format("{} holds this study already; going on with it\n", place));
  }
  SLURMTUNE_TRY(const StudyState state, submit_missing_jobs(open, created));
  std::string text;
  for (const JobRecord& job : state.jobs) {
    if (job.job) text += fmt::format("{:>10}  {}\n", *job.job, job.name);
  }
  print(text + what_next(place));
  return ExitCode::done;
}

}  // namespace

void add_submit_command(CLI::App& app, Command& selected, const LaunchWords& launch) {
  CLI::App* command = add_subcommand(
      app, "submit", "Submit the whole graph of a study and return; nothing stays behind",
      "  slurmtune submit study.toml\n"
      "  slurmtune submit study.toml --dir /scratch/me/gpt2 --site perlmutter\n"
      "  slurmtune submit study.toml --submit scripts     write the job scripts, submit nothing");
  auto arguments = std::make_shared<StudyArguments>();
  arguments->add_to(*command, launch);
  arguments->add_directory_to(*command);
  command->callback(
      [arguments, &selected] { selected = [arguments] { return submit(*arguments); }; });
}

}  // namespace slurmtune
