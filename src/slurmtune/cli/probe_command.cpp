// SPDX-License-Identifier: MIT
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "slurmtune/cli/command.hpp"
#include "slurmtune/cli/output.hpp"
#include "slurmtune/execute/job_script.hpp"
#include "slurmtune/execute/process.hpp"
#include "slurmtune/record/node.hpp"
#include "slurmtune/report/text.hpp"
#include "slurmtune/tune/create_study.hpp"

namespace slurmtune {

namespace {

namespace fs = std::filesystem;

struct ProbeArguments {
  int nodes = 0;  ///< 0 = all of the allocation
  std::string site;
  bool here = false;
  bool json = false;
};

/// A number in the environment; 0 if it is none.
int number_in(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr) return 0;
  const std::string_view all = text;
  int value = 0;
  const auto [end, problem] = std::from_chars(all.data(), all.data() + all.size(), value);
  return problem == std::errc{} && end == all.data() + all.size() ? value : 0;
}

/// slurmtune-runner, which lies beside this program.
Expected<std::string> find_runner() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  const fs::path runner = program.parent_path() / "slurmtune-runner";
  if (!error && fs::exists(runner, error)) return runner.string();
  return unavailable(
      fmt::format("{} is not there: it is built where MPI is (libopenmpi-dev)", runner.string()));
}

Error no_allocation(const ProbeArguments& arguments) {
  const int nodes = arguments.nodes > 0 ? arguments.nodes : 4;
  return {ErrorKind::invalid_input,
          fmt::format("no allocation, and this is not one of the nodes that jobs get; write\n"
                      "  salloc --nodes={0} --exclusive slurmtune probe\n"
                      "or, to wait for it in the queue,\n"
                      "  sbatch --nodes={0} --exclusive --wrap='slurmtune probe'\n"
                      "with the partition and account of your site, or slurmtune probe --here for "
                      "this machine",
                      nodes)};
}

/// What goes before the runner's own words; nothing on this machine alone.
Expected<std::vector<std::string>> launch(const ProbeArguments& arguments) {
  const bool in_allocation = number_in("SLURM_JOB_ID") > 0;
  if (arguments.here || (!in_allocation && !find_program("sbatch"))) {
    if (arguments.nodes <= 1) return std::vector<std::string>{};
    return invalid_input(fmt::format(
        "--nodes {}: only this machine can be probed without an allocation", arguments.nodes));
  }
  if (!in_allocation) return tl::unexpected<Error>(no_allocation(arguments));
  const int allocated = std::max(1, number_in("SLURM_JOB_NUM_NODES"));
  if (arguments.nodes > allocated) {
    return invalid_input(fmt::format("--nodes {}: the allocation has {}; ask for more, or for less",
                                     arguments.nodes, allocated));
  }
  SLURMTUNE_TRY(const Site site, named_site(arguments.site));
  const int nodes = arguments.nodes > 0 ? arguments.nodes : allocated;
  return runner_launch_words(
      site, {.nodes = nodes, .cpus = std::max(1, number_in("SLURM_CPUS_ON_NODE"))});
}

Expected<ProbeResult> run_probe(const ProbeArguments& arguments) {
  constexpr std::chrono::minutes patience{10};
  SLURMTUNE_TRY(const std::string runner, find_runner());
  ProcessRequest request;
  SLURMTUNE_TRY(request.call.argv, launch(arguments));
  const bool alone = request.call.argv.empty();
  for (const std::string& word : {runner, std::string("probe"), std::string("--json")}) {
    request.call.argv.push_back(word);
  }
  if (alone) {
    // By itself the runner would take the variables of a step that we run in for its own.
    auto environment = current_environment();
    std::erase_if(environment, [](const std::string& entry) {
      return entry.starts_with("PMI") || entry.starts_with("OMPI_COMM_WORLD_") ||
             entry.starts_with("SLURM_STEP_NUM_TASKS=");
    });
    request.call.environment = std::move(environment);
  }
  request.timeout = patience;
  spdlog::info("probe: {}", fmt::join(request.call.argv, " "));
  SLURMTUNE_TRY(const ProcessResult result, run_process(request));
  if (result.ending == Ending::timed_out) {
    return unavailable(
        fmt::format("the probe took more than {} minutes and was ended: a node or "
                    "its network may hang; try --nodes 1, or --here on each",
                    patience.count()));
  }
  if (!result.status.success()) {
    return unavailable(fmt::format("the probe failed ({}): {}", result.status.text(), result.err));
  }
  // A launcher may say something of its own before.
  const std::size_t begin = result.out.find("{\"");
  const std::string_view json =
      std::string_view(result.out).substr(std::min(begin, result.out.size()));
  SLURMTUNE_TRY(ProbeResult found, parse_probe(json, "what the probe printed"));
  const auto nodes = static_cast<int>(found.nodes.size());
  if (arguments.nodes > 0 && nodes != arguments.nodes) {
    found.notes.push_back(fmt::format(
        "{} nodes were asked for, and {} answered: the site's runner_launch does not say "
        "--nodes={{nodes}} --ntasks={{nodes}}",
        arguments.nodes, nodes));
  }
  return found;
}

}  // namespace

void add_probe_command(CLI::App& app, Command& selected) {
  CLI::App* command = add_subcommand(
      app, "probe", "Measure nodes, and tell the slow ones",
      "  slurmtune probe                                      this machine, where Slurm is not\n"
      "  salloc --nodes=4 --exclusive slurmtune probe         the nodes of an allocation\n"
      "  slurmtune probe --here --json                        this machine, for a program");
  auto arguments = std::make_shared<ProbeArguments>();
  arguments->site = "generic";
  command->add_option("--nodes", arguments->nodes, "how many nodes of the allocation [all]")
      ->check(CLI::Range(1, 100'000));
  command->add_option("--site", arguments->site,
                      "site file, or the name of one that comes with slurmtune: how the nodes are "
                      "reached (runner_launch)");
  command->add_flag("--here", arguments->here, "this machine only, whatever it is");
  command->add_flag("--json", arguments->json, "print slurmtune.probe, version 1");
  command->callback([arguments, &selected] {
    selected = [arguments]() -> Expected<ExitCode> {
      SLURMTUNE_TRY(const ProbeResult result, run_probe(*arguments));
      if (arguments->json) {
        SLURMTUNE_TRY(const std::string text, render_probe(result));
        print(text + "\n");
      } else {
        print(probe_text(result, colour_of_output()));
      }
      return ExitCode::done;
    };
  });
}

}  // namespace slurmtune
