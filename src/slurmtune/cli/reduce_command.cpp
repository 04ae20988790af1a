// SPDX-License-Identifier: MIT
#include <cstdlib>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <spdlog/sinks/sink.h>
#include <spdlog/spdlog.h>

#include "slurmtune/cli/command.hpp"
#include "slurmtune/cli/open_study.hpp"
#include "slurmtune/execute/allocation_end.hpp"
#include "slurmtune/study/register_job.hpp"

namespace slurmtune {

namespace {

struct ReduceArguments {
  std::string directory;
  std::string stage;
};

Expected<Intent> intent_of(const Plan& plan, const std::string& stage) {
  if (stage == "final") return Intent{Role::finish, 0};
  if (stage == "guard") return Intent{Role::guard, 0};
  const auto index = plan.index_of({stage});
  if (index) return Intent{Role::reduce, *index};
  std::string known;
  for (const PlannedStage& planned : plan.stages) known += ' ' + planned.name.text;
  return invalid_input(
      fmt::format("--stage {}: no such stage; this study has{} final guard", stage, known));
}

/// Tells the journal the job that this process is, if it is one by itself and not an array's task.
Expected<void> tell_journal(const OpenStudy& study, const Intent& intent,
                            const std::string& stage) {
  const World world = real_world();
  if (!world.own_job || world.in_array) return {};
  OwnJob own{.stage = {},
             .kind = JobKind::reducer,
             .job = *world.own_job,
             .first_slice = 0,
             .tasks = std::nullopt};
  if (intent.role == Role::reduce) own.stage = {stage};
  if (intent.role == Role::finish) own.kind = JobKind::final;
  if (intent.role == Role::guard) own.kind = JobKind::guard;
  return register_own_job(study.autotuner->directory(), world.now, own);
}

Expected<ExitCode> reduce(const ReduceArguments& arguments) {
  spdlog::default_logger()->sinks().front()->set_level(spdlog::level::info);
  SLURMTUNE_TRY(OpenStudy study, open_study(arguments.directory, LocalPart::bystander));
  SLURMTUNE_TRY(const Intent intent, intent_of(study.autotuner->plan(), arguments.stage));
  // By hand, beside the process that runs the jobs: nothing is known of them here.
  const bool by_hand = std::getenv("SLURMTUNE_JOB") == nullptr;
  if (study.is_local() && by_hand && intent.role != Role::guard) {
    SLURMTUNE_CHECK(check_alone(study));
  }
  const bool in_allocation = study.is_local() && study.state.created.submit != "local";
  if (in_allocation && intent.role != Role::guard && allocation_is_gone()) {
    return unavailable(
        "the allocation is being ended, and with it the trials that this would conclude; go on in "
        "another one: slurmtune resume DIR");
  }
  SLURMTUNE_CHECK(tell_journal(study, intent, arguments.stage));
  SLURMTUNE_CHECK(study.autotuner->advance(intent));
  return ExitCode::done;
}

}  // namespace

void add_reduce_command(CLI::App& app, Command& selected) {
  CLI::App* command = add_subcommand(
      app, "reduce", "What the job scripts call: conclude a stage and release the next",
      "  slurmtune reduce slurmtune-gpt2 --stage 02-frontier\n"
      "  slurmtune reduce slurmtune-gpt2 --stage final     conclude whatever is left");
  auto arguments = std::make_shared<ReduceArguments>();
  command->add_option("DIR", arguments->directory, "the study's directory")->required();
  command->add_option("--stage", arguments->stage, "name of a stage, final or guard")->required();
  command->callback(
      [arguments, &selected] { selected = [arguments] { return reduce(*arguments); }; });
}

}  // namespace slurmtune
