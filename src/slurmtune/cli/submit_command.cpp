// SPDX-License-Identifier: MIT
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "slurmtune/cli/balance.hpp"
#include "slurmtune/cli/command.hpp"
#include "slurmtune/cli/open_study.hpp"
#include "slurmtune/cli/output.hpp"
#include "slurmtune/cli/study_options.hpp"
#include "slurmtune/cli/trial_script.hpp"
#include "slurmtune/tune/write_scripts.hpp"

namespace slurmtune {

namespace {

std::string what_next(const std::string& directory) {
  return fmt::format(
      "study   {0}\nlook    slurmtune status {0}\nresult  slurmtune report {0}\nend it  slurmtune "
      "cancel {0}\n",
      directory);
}

Expected<std::string> write_scripts_only(const CreatedStudy& created) {
  SLURMTUNE_TRY(const auto lines, write_scripts(created.directory));
  std::string text = "# Nothing was submitted. Submit by hand, in this order:\n";
  for (const std::string& line : lines) text += line + '\n';
  return text;
}

Expected<std::string> submit_in_one_job(const CreatedStudy& created) {
  SLURMTUNE_TRY(const WholeJob job, submit_one_job(created));
  return whole_job_lines(job) + what_next(created.directory.root().string());
}

Expected<std::string> submit_graph(const CreatedStudy& created) {
  const std::string place = created.directory.root().string();
  SLURMTUNE_TRY(OpenStudy open, open_study(place, LocalPart::foreground));
  SLURMTUNE_TRY(const StudyState state, submit_missing_jobs(open, created));
  std::string text;
  if (created.creation == Creation::found) {
    text += fmt::format("{} holds this study already; going on with it\n", place);
  }
  for (const JobRecord& job : state.jobs) {
    if (job.job) text += fmt::format("{:>10}  {}\n", *job.job, job.name);
  }
  return text + what_next(place);
}

Expected<ExitCode> submit(const StudyArguments& arguments) {
  SLURMTUNE_TRY(const GivenStudy given, arguments.load());
  const LoadedStudy& study = given.study;
  if (study.submit == SubmitMode::local || study.submit == SubmitMode::allocation) {
    const char* word = study.submit == SubmitMode::local ? "local" : "allocation";
    return invalid_input(fmt::format(
        "{}submit = \"{}\" runs in the foreground; use: slurmtune tune {}",
        given.launched ? "" : study.input.spec.path + ": ", word,
        given.launched ? fmt::format("--submit {} -- {} …", word, arguments.launch.words.front())
                       : study.input.spec.path));
  }
  const bool by_hand = study.submit == SubmitMode::scripts;
  if (!by_hand) SLURMTUNE_CHECK(check_script(study, given.where()));
  const Instant now = real_world().now();
  SLURMTUNE_TRY(const CreatedStudy created, create_study(study, arguments.place_of(study), now));
  warn_of_drafts(created);
  if (!by_hand && created.creation == Creation::created) {
    SLURMTUNE_TRY(const Plan plan, created.directory.read_plan());
    warn_of_balance(study.input, plan);
  }
  const bool whole = study.submit == SubmitMode::one_job;
  SLURMTUNE_TRY(const std::string text, by_hand ? write_scripts_only(created)
                                        : whole ? submit_in_one_job(created)
                                                : submit_graph(created));
  SLURMTUNE_CHECK(arguments.accept(given));
  print(text);
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
