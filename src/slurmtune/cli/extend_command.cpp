// SPDX-License-Identifier: MIT
//
// `slurmtune extend`: another budget for a study that is there.

#include <charconv>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>

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

/// An option for one budget, read as [budget] of study.toml bounds it: CLI11 itself takes 0x10, and
/// the largest number for what is larger.
template <class Number>
void add_budget(CLI::App& command, std::string_view example, std::optional<Number>& into,
                const char* what) {
  const auto check = [example](const std::string& word) {
    Number value{};
    const char* const end = word.data() + word.size();
    const auto [at, error] = std::from_chars(word.data(), end, value);
    constexpr double most = 1e9;
    const bool is_one =
        error == std::errc() && at == end && value > 0 && static_cast<double>(value) <= most;
    if (is_one) return std::string();
    return fmt::format("'{}'; write a{} number above 0, at most {:.0e}, for the whole study: {}",
                       word, std::is_integral_v<Number> ? " whole" : "", most, example);
  };
  const std::string name(example.substr(0, example.find(' ')));
  command.add_option(name, into, what)->check(check);
}

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
  add_budget(*command, "--max-node-hours 80", wanted.max_node_hours, "node-hours, at most, in all");
  add_budget(*command, "--max-gpu-hours 320", wanted.max_gpu_hours, "GPU-hours, at most, in all");
  add_budget(*command, "--max-experiments 100", wanted.max_experiments,
             "experiments, at most, in all");
  command->add_option("--finish-by", wanted.finish_by, "HH:MM on this host, or RFC 3339");
  command->callback(
      [arguments, &selected] { selected = [arguments] { return extend(*arguments); }; });
}

}  // namespace slurmtune
