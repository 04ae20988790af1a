// SPDX-License-Identifier: MIT
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "slurmtune/cli/command.hpp"
#include "slurmtune/cli/follow.hpp"
#include "slurmtune/cli/output.hpp"
#include "slurmtune/cli/study_options.hpp"
#include "slurmtune/cli/trial_script.hpp"

namespace slurmtune {

namespace {

std::string_view where(SubmitMode mode) {
  switch (mode) {
    case SubmitMode::local: return "on this machine";
    case SubmitMode::allocation: return "in this allocation";
    case SubmitMode::one_job: return "in one job on Slurm";
    default: return "on Slurm";
  }
}

tl::unexpected<Error> no_scripts(const StudyArguments& arguments) {
  const bool trains = arguments.mode == StudyMode::run;
  return invalid_input(fmt::format(
      "{} cannot wait for scripts that are submitted by hand; use: slurmtune submit --submit "
      "scripts{}",
      arguments.command, trains ? ", of a study with mode = \"run\"" : ""));
}

/// Once nothing can be refused any more: writes the study of a launch line, and says what is done.
Expected<void> announce(const StudyArguments& arguments, const GivenStudy& given,
                        const std::string& place) {
  SLURMTUNE_CHECK(arguments.accept(given));
  for (const std::string& note : given.study.input.spec.notes) print("note: " + note + '\n');
  print(fmt::format("study {}, {}\n", place, where(given.study.submit)));
  return {};
}

Expected<ExitCode> tune(const StudyArguments& arguments) {
  SLURMTUNE_TRY(const GivenStudy given, arguments.load(Stay::in_foreground));
  const LoadedStudy& study = given.study;
  if (study.submit == SubmitMode::scripts) return no_scripts(arguments);
  SLURMTUNE_CHECK(check_script(study, given.where()));
  const Instant now = real_world().now();
  SLURMTUNE_TRY(const CreatedStudy created, create_study(study, arguments.place_of(study), now));
  warn_of_drafts(created);
  const std::string place = created.directory.root().string();
  const bool elsewhere = study.submit == SubmitMode::one_job;
  SLURMTUNE_TRY(OpenStudy open,
                open_study(place, elsewhere ? LocalPart::bystander : LocalPart::foreground));
  if (open.state.finished) {
    SLURMTUNE_CHECK(announce(arguments, given, place));
    return print_report(open, false);
  }
  if (study.submit == SubmitMode::one_job) {
    SLURMTUNE_CHECK(submit_one_job(created));
  } else if (!open.is_local()) {
    SLURMTUNE_CHECK(submit_missing_jobs(open, created));
  }
  SLURMTUNE_CHECK(announce(arguments, given, place));
  return open.is_local() && !elsewhere ? run_local_study(open) : watch_study(open);
}

}  // namespace

void add_tune_command(CLI::App& app, Command& selected, const LaunchWords& launch) {
  CLI::App* command = add_subcommand(
      app, "tune", "Tune in the foreground: on Slurm if it is here, else on this machine",
      "  slurmtune tune study.toml\n"
      "  slurmtune tune study.toml --submit local --dir /tmp/first-try\n"
      "  slurmtune tune -- deepspeed train.py --deepspeed ds_config.json    without a study file\n"
      "  salloc -N4 -t 2:00:00 slurmtune tune study.toml     on the nodes of that allocation\n"
      "\n"
      "Ctrl-C ends what runs on this machine (jobs on Slurm go on); slurmtune resume DIR goes on.");
  auto arguments = std::make_shared<StudyArguments>();
  arguments->add_to(*command, launch);
  arguments->add_directory_to(*command);
  command->callback(
      [arguments, &selected] { selected = [arguments] { return tune(*arguments); }; });
}

void add_run_command(CLI::App& app, Command& selected, const LaunchWords& launch) {
  CLI::App* command = add_subcommand(
      app, "run", "Tune, then launch the training once with the best configuration",
      "  slurmtune run study.toml\n"
      "  slurmtune run -- deepspeed train.py --deepspeed ds_config.json    without a study file\n"
      "\n"
      "As tune, with mode = \"run\": the training is a job of its own after the study's last one.\n"
      "It runs best/cmd_optimal.sh; its output is in DIR/logs/launch-*.out, how it ended in the "
      "report.");
  auto arguments = std::make_shared<StudyArguments>();
  arguments->mode = StudyMode::run;
  arguments->add_to(*command, launch);
  arguments->add_directory_to(*command);
  command->callback(
      [arguments, &selected] { selected = [arguments] { return tune(*arguments); }; });
}

}  // namespace slurmtune
