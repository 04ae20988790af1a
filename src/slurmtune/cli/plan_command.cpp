// SPDX-License-Identifier: MIT
#include <chrono>
#include <memory>
#include <span>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "slurmtune/cli/balance.hpp"
#include "slurmtune/cli/command.hpp"
#include "slurmtune/cli/output.hpp"
#include "slurmtune/cli/study_options.hpp"
#include "slurmtune/execute/expected_wait.hpp"
#include "slurmtune/plan/plan_dot.hpp"
#include "slurmtune/plan/submit_costs.hpp"
#include "slurmtune/report/submit_text.hpp"
#include "slurmtune/tune/deadline.hpp"
#include "slurmtune/tune/world.hpp"

namespace slurmtune {

namespace {

/// How long Slurm may take to say when a job would start.
constexpr std::chrono::seconds queue_patience{10};

/// Asks Slurm twice at most: for a job of the arrays, and for one that holds the study.
QueueWaits ask_queue(const StudyInput& input, std::span<const SubmitCost> costs) {
  QueueWaits waits;
  const Instant now = real_world().now();
  waits.now = now;
  if (const auto& window = input.spec.budget.window) waits.window = window_from(*window, now);
  const auto ask = [&](const SubmitCost& cost) {
    return expected_wait(
        input.site,
        {.name = "slurmtune-plan",
         .nodes = cost.nodes,
         .processes_per_node = input.spec.trial.processes_per_node * input.spec.lanes_per_node,
         .walltime = std::chrono::seconds(cost.walltime_s)},
        now, queue_patience);
  };
  bool asked = false;
  for (const SubmitCost& cost : costs) {
    if (!cost.why_not.empty()) continue;
    if (cost.mode == SubmitMode::one_job) {
      // What does not answer is not asked again.
      const bool silent = asked && !waits.task && waits.task.error().kind == ErrorKind::unavailable;
      waits.whole = silent ? waits.task : ask(cost);
    } else if (!asked) {
      waits.task = ask(cost);
      asked = true;
    }
  }
  return waits;
}

/// The ways to submit, where one of Slurm's was chosen.
std::string ways_to_submit(const LoadedStudy& study, const Plan& plan) {
  if (study.submit == SubmitMode::local || study.submit == SubmitMode::allocation) return "";
  const StudyInput& input = study.outside ? *study.outside : study.input;
  const auto costs = submit_costs(input);
  return submit_text(costs, plan, ask_queue(input, costs), colour_of_output());
}

struct PlanArguments {
  StudyArguments study;
  bool as_json = false;
  bool as_dot = false;
};

Expected<ExitCode> show_plan(const PlanArguments& arguments) {
  const Understood understood =
      arguments.as_dot || arguments.as_json ? Understood::silent : Understood::told;
  SLURMTUNE_TRY(const GivenStudy given, arguments.study.load(Stay::no, understood));
  SLURMTUNE_TRY(const Plan plan, plan_study(given.study, real_world().now()));
  SLURMTUNE_CHECK(arguments.study.accept(given, understood));
  if (arguments.as_dot) {
    const StudyInput& input = given.study.outside ? *given.study.outside : given.study.input;
    print(render_dot(plan, whole_jobs(plan, site_of_whole_jobs(input))));
  } else if (arguments.as_json) {
    SLURMTUNE_TRY(const std::string text, render_plan(plan));
    print(Json::parse(text));
  } else {
    print(plan_text(given.study.input, plan, colour_of_output()) +
          ways_to_submit(given.study, plan) + balance_text(given.study.input, plan));
  }
  return ExitCode::done;
}

}  // namespace

void add_plan_command(CLI::App& app, Command& selected, const LaunchWords& launch) {
  CLI::App* command = add_subcommand(
      app, "plan", "Show what would be submitted and what it may cost; submit nothing",
      "  slurmtune plan study.toml\n"
      "  slurmtune plan study.toml --json\n"
      "  slurmtune plan study.toml --dot | dot -Tsvg > plan.svg");
  auto arguments = std::make_shared<PlanArguments>();
  arguments->study.add_to(*command, launch);
  CLI::Option* json = command->add_flag("--json", arguments->as_json, "the plan as JSON");
  command->add_flag("--dot", arguments->as_dot, "the graph of jobs for Graphviz")->excludes(json);
  command->callback(
      [arguments, &selected] { selected = [arguments] { return show_plan(*arguments); }; });
}

}  // namespace slurmtune
