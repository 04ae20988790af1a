// SPDX-License-Identifier: MIT
#include <memory>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "slurmtune/cli/command.hpp"
#include "slurmtune/cli/open_study.hpp"
#include "slurmtune/cli/output.hpp"
#include "slurmtune/cli/study_commands.hpp"
#include "slurmtune/tune/doctor_facts.hpp"
#include "slurmtune/tune/draft.hpp"

namespace slurmtune {

namespace {

/// One question for the study's jobs, one for partitions, one for nodes.
void ask_controller(const OpenStudy& study, DoctorInput& facts) {
  if (study.is_local() && !study.is_one_job()) return;
  const auto slurm = slurm_jobs_of(study, study.state);
  if (!slurm) {
    facts.queue_error = slurm.error().message;
    return;
  }
  auto answer = slurm->client->report(slurm->jobs);
  facts.asked = answer.has_value();
  if (!answer) {
    facts.queue_error = answer.error().message;
    return;
  }
  facts.jobs = *std::move(answer);
  ask_cluster(facts);
}

Expected<ExitCode> doctor(const DirectoryArguments& arguments) {
  SLURMTUNE_TRY(OpenStudy study,
                open_study(arguments.directory, LocalPart::bystander, SlurmNeed::when_asked));
  SLURMTUNE_TRY(const StudyView view, study.autotuner->look(Autotuner::Queue::skip));
  const StudyDirectory& directory = study.autotuner->directory();
  DoctorInput facts{.directory = directory.root().string(),
                    .input = study.autotuner->input(),
                    .view = view,
                    .now = real_world().now()};
  facts.disk = disk_facts(directory);
  facts.reducer_logs = reducer_logs(directory, view);
  facts.refused_in_job = refusal_in_job(directory, view);
  for (const auto& draft : abandoned_drafts(directory.root(), real_world())) {
    facts.drafts.push_back(draft.string());
  }
  if (!view.state.finished) ask_controller(study, facts);
  const std::vector<Finding> findings = diagnose(facts);
  if (arguments.as_json) {
    print(doctor_json(facts, findings));
  } else {
    print(doctor_text(facts, findings, colour_of_output()));
  }
  const bool blocked = !findings.empty() && findings.front().severity == Severity::blocks;
  return blocked ? ExitCode::no_result : ExitCode::done;
}

}  // namespace

void add_doctor_command(CLI::App& app, Command& selected) {
  CLI::App* command = add_subcommand(
      app, "doctor", "Say what stands in the way of a study, and what helps; 1 if something does",
      "  slurmtune doctor slurmtune-gpt2\n"
      "  slurmtune doctor slurmtune-gpt2 --json | jq -r '.findings[].remedy'");
  const auto arguments = directory_argument(*command);
  command->add_flag("--json", arguments->as_json, "as JSON");
  command->callback(
      [arguments, &selected] { selected = [arguments] { return doctor(*arguments); }; });
}

}  // namespace slurmtune
