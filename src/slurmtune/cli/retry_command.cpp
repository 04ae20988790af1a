// SPDX-License-Identifier: MIT
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "slurmtune/cli/command.hpp"
#include "slurmtune/cli/open_study.hpp"
#include "slurmtune/cli/output.hpp"
#include "slurmtune/cli/study_commands.hpp"
#include "slurmtune/tune/retry.hpp"

namespace slurmtune {

namespace {

struct RetryArguments {
  std::shared_ptr<DirectoryArguments> study;
  bool failed = false;
  std::vector<std::string> outcomes;
};

Expected<std::set<Outcome>> chosen_outcomes(const RetryArguments& arguments) {
  std::set<Outcome> chosen;
  for (const std::string& word : arguments.outcomes) {
    const auto outcome = outcome_named(word);
    if (!outcome) {
      std::string known;
      for (const OutcomeRule& rule : outcome_rules()) {
        const bool failure = rule.outcome != Outcome::ok && rule.retry != Retry::while_budget_lasts;
        if (failure) known += fmt::format(" {}", rule.name);
      }
      return invalid_input(
          fmt::format("--outcome {}: no such outcome; write one of{}", word, known));
    }
    if (*outcome == Outcome::ok) {
      return invalid_input("--outcome ok: what was measured is not measured again");
    }
    if (rule_of(*outcome).retry == Retry::while_budget_lasts) {
      return invalid_input(fmt::format(
          "--outcome {}: such experiments are run again by themselves; if jobs are missing: "
          "slurmtune resume {}",
          word, arguments.study->directory));
    }
    chosen.insert(*outcome);
  }
  if (!chosen.empty()) return chosen;
  if (arguments.failed) return mendable_outcomes();
  return invalid_input("say what is to be run again: --failed, or --outcome with one of its words");
}

std::string names_of(const RetryPlan& plan) {
  constexpr std::size_t named_max = 8;
  std::vector<std::string> labels = plan.labels;
  const std::size_t count = labels.size();
  labels.resize(std::min(count, named_max));
  std::string text = fmt::format("{}", fmt::join(labels, " "));
  if (count > named_max) text += fmt::format(" and {} more", count - named_max);
  return text;
}

Expected<ExitCode> retry(const RetryArguments& arguments) {
  SLURMTUNE_TRY(const auto outcomes, chosen_outcomes(arguments));
  SLURMTUNE_TRY(OpenStudy study, open_study(arguments.study->directory, LocalPart::bystander));
  // Its process concludes stages, too, but nobody else may begin to run one.
  if (study.is_local() && study.state.finished) SLURMTUNE_CHECK(check_alone(study));
  SLURMTUNE_TRY(const RetryPlan plan, retry_failed(*study.autotuner, real_world(), outcomes));
  if (plan.due > 0) {
    print(fmt::format("{} experiments that failed are tried again anyway\n", plan.due));
  }
  if (plan.tries.empty()) {
    print(std::string("nothing else has failed so; there is nothing to run again\n"));
    return ExitCode::done;
  }
  if (plan.too_late > 0) {
    print(fmt::format("{} experiments are left as they are: no stage is left that could run them\n",
                      plan.too_late));
  }
  if (!plan.reopening) {
    print(fmt::format("{} experiments are proposed again once {} is concluded: {}\n",
                      plan.tries.size(), plan.by.text, names_of(plan)));
    return ExitCode::done;
  }
  print(
      fmt::format("{} experiments count as failed no more: {}\nthe study is opened again, and "
                  "goes on with {}\n",
                  plan.tries.size(), names_of(plan), plan.reopening->decision.next.stage.text));
  return resume_study(arguments.study->directory);
}

}  // namespace

void add_retry_command(CLI::App& app, Command& selected) {
  CLI::App* command = add_subcommand(
      app, "retry", "Run failed experiments of a study again, after what made them fail is mended",
      "  slurmtune retry --failed slurmtune-gpt2\n"
      "  slurmtune retry slurmtune-gpt2 --outcome gpu_oom --outcome crashed");
  auto arguments = std::make_shared<RetryArguments>();
  arguments->study = directory_argument(*command);
  command->add_flag("--failed", arguments->failed,
                    "those that ended as timeout, hang, config_error, launch_error, "
                    "storage_error or crashed");
  command->add_option("--outcome", arguments->outcomes, "those that ended so; more than once: any")
      ->allow_extra_args(false)
      ->type_name("WORD");
  command->callback(
      [arguments, &selected] { selected = [arguments] { return retry(*arguments); }; });
}

}  // namespace slurmtune
