// SPDX-License-Identifier: MIT
//
// slurmtune-runner: runs the experiments of one array task.

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "slurmtune/base/version.hpp"
#include "slurmtune/runner/array_task.hpp"
#include "slurmtune/runner/node_probe.hpp"
#include "slurmtune/runner/rank_group.hpp"
#include "slurmtune/runner/start/rank_env.hpp"

namespace slurmtune {

namespace {

constexpr int exit_done = 0;
constexpr int exit_no_result = 1;
constexpr int exit_invalid_input = 2;
constexpr int exit_failed = 3;

int exit_code_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::invalid_input: return exit_invalid_input;
    case ErrorKind::no_result: return exit_no_result;
    case ErrorKind::unavailable:
    case ErrorKind::corrupt_data: return exit_failed;
  }
  return exit_failed;
}

int fail(const Error& error) {
  fmt::print(stderr, "slurmtune-runner: {}\n", error.message);
  return exit_code_of(error.kind);
}

/// Reads the command line into `request`; a number to leave with if it asks for nothing else.
std::optional<int> read_command_line(int argc, char** argv, ArrayTaskRequest& request) {
  CLI::App app{
      "Runs the experiments of one slice of a stage: started by the study's job scripts, one rank\n"
      "a node, by srun or mpirun, or as one process by itself.\n"
      "\n"
      "  slurmtune-runner rank-env -- PROGRAM…   becomes PROGRAM with RANK, WORLD_SIZE, … set\n"
      "  slurmtune-runner probe                  measures the nodes of its ranks, one a node; "
      "JSON"};
  app.set_version_flag("--version", std::string(version()));
  std::string study;
  app.add_option("--study", study, "directory of the study")->required();
  app.add_option("--stage", request.stage.text, "name of the stage, e.g. 03-frontier")->required();
  app.add_option("--slice", request.slice, "which slice of the stage's manifest")
      ->required()
      ->check(CLI::NonNegativeNumber);
  app.add_option("--nodes", request.nodes, "nodes for trials, instead of those of our ranks")
      ->delimiter(',');
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? exit_done : exit_invalid_input;
  }
  request.study = study;
  return std::nullopt;
}

/// `probe [--json]`; its one form is JSON, `slurmtune probe` makes it readable.
int run_probe(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (word == "--json") continue;
    fmt::print(stderr, "slurmtune-runner: probe: no option '{}'; there is --json\n", word);
    return exit_invalid_input;
  }
  const Environment environment = own_environment();
  auto group = RankGroup::join(environment);
  if (!group) return fail(group.error());
  const ProbeResult result = probe_nodes(*group, environment);
  if (group->rank() != 0) return exit_done;
  const auto text = render_probe(result);
  if (!text) return fail(text.error());
  fmt::print("{}\n", *text);
  return exit_done;
}

int run(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "rank-env") {
    std::vector<std::string> words(argv + 2, argv + argc);
    if (!words.empty() && words.front() == "--") words.erase(words.begin());
    return run_rank_env(words);
  }
  if (argc > 1 && std::string_view(argv[1]) == "probe") return run_probe({argv + 2, argv + argc});
  ArrayTaskRequest request;
  if (const auto code = read_command_line(argc, argv, request)) return *code;
  request.environment = own_environment();
  std::error_code failure;
  request.runner = std::filesystem::read_symlink("/proc/self/exe", failure).string();
  if (failure) request.runner = argv[0];

  auto spawner = Spawner::start();  // before MPI has threads
  if (!spawner) return fail(spawner.error());
  auto group = RankGroup::join(request.environment);
  if (!group) return fail(group.error());
  const auto done = run_array_task(request, {*group, group->nodes()}, *spawner);
  return done ? exit_done : fail(done.error());
}

}  // namespace

}  // namespace slurmtune

int main(int argc, char** argv) { return slurmtune::run(argc, argv); }
