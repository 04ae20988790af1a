// SPDX-License-Identifier: MIT
#include <cstdlib>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <spdlog/sinks/sink.h>
#include <spdlog/spdlog.h>

#include "slurmtune/cli/command.hpp"
#include "slurmtune/cli/interrupt.hpp"
#include "slurmtune/cli/open_study.hpp"
#include "slurmtune/cli/output.hpp"
#include "slurmtune/study/register_job.hpp"
#include "slurmtune/tune/training.hpp"

namespace slurmtune {

namespace {

Expected<ExitCode> launch(const std::string& directory) {
  spdlog::default_logger()->sinks().front()->set_level(spdlog::level::info);
  SLURMTUNE_TRY(OpenStudy study, open_study(directory, LocalPart::bystander));
  const World world = real_world();
  // By hand, beside the process that runs the jobs: nothing is known of them here.
  const bool by_hand = std::getenv("SLURMTUNE_JOB") == nullptr;
  if (study.is_local() && by_hand) SLURMTUNE_CHECK(check_alone(study));
  if (world.own_job) {
    SLURMTUNE_CHECK(register_own_job(study.autotuner->directory(), world.now,
                                     {.stage = {},
                                      .kind = JobKind::launch,
                                      .job = *world.own_job,
                                      .first_slice = 0,
                                      .tasks = std::nullopt}));
  }
  // Usually finished already; if `final` died, it is done here.
  if (!study.state.finished) {
    SLURMTUNE_CHECK(study.autotuner->advance({Role::finish, 0}));
  }
  const InterruptGuard guard;
  SLURMTUNE_TRY(const ExitStatus status, run_training(study.autotuner->directory(), world, [] {
                  return InterruptGuard::interrupted() || InterruptGuard::time_is_up();
                }));
  print(fmt::format("slurmtune: the training ended with {}\n", status.text()));
  return status.success() ? ExitCode::done : ExitCode::no_result;
}

}  // namespace

void add_launch_command(CLI::App& app, Command& selected) {
  CLI::App* command = add_subcommand(
      app, "launch", "What the last job of mode = \"run\" calls: train with the winner, once",
      "  slurmtune launch slurmtune-gpt2");
  auto directory = std::make_shared<std::string>();
  command->add_option("DIR", *directory, "the study's directory")->required();
  command->callback(
      [directory, &selected] { selected = [directory] { return launch(*directory); }; });
}

}  // namespace slurmtune
