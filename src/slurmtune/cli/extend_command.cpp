// SPDX-License-Identifier: MIT
//
// `slurmtune extend`: another budget for a study that is there.

#include <memory>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "slurmtune/base/units.hpp"
#include "slurmtune/cli/command.hpp"
#include "slurmtune/cli/open_study.hpp"
#include "slurmtune/cli/output.hpp"
#include "slurmtune/tune/extend_study.hpp"

namespace slurmtune {

namespace {

struct ExtendArguments {
  std::string directory;
  Extension wanted;
};

std::string budget_in_words(const ExtendedStudy& extended) {
  std::string text;
  if (extended.budget_node_seconds) {
    text += fmt::format("budget  {}, {} spent\n", format_node_hours(*extended.budget_node_seconds),
                        format_node_hours(extended.spent_node_seconds));
  }
  if (extended.max_experiments) {
    text += fmt::format("budget  {} experiments, {} run\n", *extended.max_experiments,
                        extended.experiments_run);
  }
  if (extended.deadline) text += fmt::format("ends by {}\n", format_instant(*extended.deadline));
  return text;
}

Expected<ExitCode> extend(const ExtendArguments& arguments) {
  SLURMTUNE_CHECK(StudyDirectory::open(arguments.directory));
  SLURMTUNE_CHECK(check_extension(arguments.wanted, real_world().now()));
  SLURMTUNE_TRY(OpenStudy study, open_study(arguments.directory, LocalPart::bystander));
  const World world = real_world();
  SLURMTUNE_TRY(const ExtendedStudy extended,
                extend_study(*study.autotuner, arguments.wanted, world));
  std::string text = budget_in_words(extended);
  const std::string place = study.autotuner->directory().root().string();
  if (extended.goes_on_with.empty()) {
    text += "the study goes on; nothing has to be submitted again\n";
  } else {
    text += fmt::format("the study had ended; it goes on after {} with: slurmtune resume {}\n",
                        extended.goes_on_with, place);
  }
  print(text);
  return ExitCode::done;
}

}  // namespace

void add_extend_command(CLI::App& app, Command& selected) {
  CLI::App* command = add_subcommand(
      app, "extend", "Change the budget or the deadline of a study",
      "  slurmtune extend slurmtune-gpt2 --max-node-hours 80\n"
      "  slurmtune extend slurmtune-gpt2 --finish-by 09:30\n"
      "  slurmtune resume slurmtune-gpt2      go on, if it had ended for want of it");
  auto arguments = std::make_shared<ExtendArguments>();
  Extension& wanted = arguments->wanted;
  command->add_option("DIR", arguments->directory, "the study's directory")->required();
  command->add_option("--max-node-hours", wanted.max_node_hours, "node-hours, at most, in all");
  command->add_option("--max-gpu-hours", wanted.max_gpu_hours, "GPU-hours, at most, in all");
  command->add_option("--max-experiments", wanted.max_experiments, "experiments, at most, in all");
  command->add_option("--finish-by", wanted.finish_by, "HH:MM on this host, or RFC 3339");
  command->callback(
      [arguments, &selected] { selected = [arguments] { return extend(*arguments); }; });
}

}  // namespace slurmtune
