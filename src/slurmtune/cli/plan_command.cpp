// SPDX-License-Identifier: MIT
#include <memory>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "slurmtune/cli/command.hpp"
#include "slurmtune/cli/output.hpp"
#include "slurmtune/cli/study_options.hpp"
#include "slurmtune/plan/plan_dot.hpp"
#include "slurmtune/tune/world.hpp"

namespace slurmtune {

namespace {

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
    print(render_dot(plan));
  } else if (arguments.as_json) {
    SLURMTUNE_TRY(const std::string text, render_plan(plan));
    print(Json::parse(text));
  } else {
    print(plan_text(given.study.input, plan, colour_of_output()));
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
