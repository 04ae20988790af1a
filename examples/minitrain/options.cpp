// SPDX-License-Identifier: MIT
#include "options.hpp"

#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "memory.hpp"

namespace minitrain {
namespace {

constexpr const char* description =
    "minitrain: a small data-parallel trainer over MPI, with DeepSpeed's ZeRO stages 0 to 3.\n"
    "Start it with mpirun or srun; it reads a ds_config.json and reports as DeepSpeed does.";

constexpr const char* footer =
    "Environment: SLURMTUNE_METRICS names a file to which rank 0 appends one JSON line a step.\n"
    "Exit codes: 0 done; 1 out of memory, or an injected fault; 2 wrong flags or configuration.";

/// What CLI11 fills in and the options are made of.
struct RawFlags {
  std::string deepspeed;
  std::string memory_limit;
  std::string device = "auto";
  std::uint64_t fail_at_step = 0;
  std::string fail_kind;
  int fail_rank = 0;
  int delay_rank = -1;
  int local_rank = 0;
};

void add_model_flags(CLI::App& app, Options& options) {
  constexpr std::size_t width_max = 16384;  // keeps all element counts within an int
  app.add_option("--layers", options.model.layers, "residual blocks")
      ->check(CLI::Range(std::size_t{1}, std::size_t{512}))
      ->capture_default_str();
  app.add_option("--hidden", options.model.hidden, "width of the model; a block is 4 times as wide")
      ->check(CLI::Range(std::size_t{1}, width_max))
      ->capture_default_str();
  app.add_option("--input", options.model.input, "features of a point, and its targets")
      ->check(CLI::Range(std::size_t{1}, width_max))
      ->capture_default_str();
  app.add_option("--sequence", options.sequence, "points in a sample")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1} << 20U))
      ->capture_default_str();
  app.add_option("--seed", options.seed, "of the samples and the initial parameters")
      ->capture_default_str();
  app.add_flag("--activation-checkpointing", options.activation_checkpointing,
               "keep only each block's input and compute the rest again in the backward pass;\n"
               "the same as \"activation_checkpointing\": {\"enabled\": true}");
}

void add_run_flags(CLI::App& app, Options& options, RawFlags& raw) {
  app.add_option("--deepspeed_config", options.ds_config_file, "the ds_config.json to train with")
      ->type_name("FILE");
  app.add_option("--deepspeed", raw.deepspeed,
                 "the same; without a file it is accepted and ignored")
      ->expected(0, 1)
      ->type_name("[FILE]");
  app.add_option("--steps", options.steps, "optimizer steps")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1'000'000'000}))
      ->capture_default_str();
  app.add_option("--memory-limit", raw.memory_limit,
                 "device memory of a rank, e.g. 48MiB or 1GiB; no limit when absent")
      ->type_name("BYTES");
  app.add_option("--device", raw.device,
                 "cpu, cuda (the local rank's GPU), or auto: a GPU if there is one")
      ->check(CLI::IsMember({"auto", "cpu", "cuda"}))
      ->capture_default_str();
  app.add_flag(
      "--dry-run", options.dry_run,
      "only tell, as a JSON line, what was read of the configuration for WORLD_SIZE ranks");
  app.add_option("--local_rank,--local-rank", raw.local_rank, "accepted and ignored");
}

void add_fault_flags(CLI::App& app, Options& options, RawFlags& raw) {
  const std::string group = "Faults, for tests";
  CLI::Option* step = app.add_option("--fail-at-step", raw.fail_at_step,
                                     "optimizer step, from 1, at whose start a rank fails")
                          ->check(CLI::PositiveNumber)
                          ->group(group);
  CLI::Option* kind =
      app.add_option("--fail-kind", raw.fail_kind,
                     "crash: killed by SIGSEGV; hang: stops for ever, the others wait for it;\n"
                     "exit: leaves with code 1 without a word; nan: its loss becomes NaN;\n"
                     "oom: allocates until the memory limit refuses")
          ->check(CLI::IsMember({"crash", "hang", "exit", "nan", "oom"}))
          ->group(group);
  step->needs(kind);
  kind->needs(step);
  app.add_option("--fail-rank", raw.fail_rank, "the rank that fails")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str()
      ->group(group)
      ->needs(step);
  CLI::Option* delay = app.add_option("--step-delay-ms", options.delay.delay_ms,
                                      "sleep so long in every optimizer step")
                           ->check(CLI::NonNegativeNumber)
                           ->group(group);
  app.add_option("--step-delay-rank", raw.delay_rank, "only this rank sleeps (default: all)")
      ->check(CLI::NonNegativeNumber)
      ->group(group)
      ->needs(delay);
}

/// The rest of the options from the raw flags; the sentence that is returned is empty if all is
/// well.
std::string finish_options(const RawFlags& raw, Options& options) {
  if (options.ds_config_file.empty()) options.ds_config_file = raw.deepspeed;
  if (options.ds_config_file.empty()) {
    return "no configuration: give --deepspeed_config FILE";
  }
  if (!raw.memory_limit.empty()) {
    options.memory_limit_bytes = parse_bytes(raw.memory_limit);
    if (!options.memory_limit_bytes) {
      return fmt::format("--memory-limit: \"{}\" is not a size; write it like 48MiB or 1GiB",
                         raw.memory_limit);
    }
  }
  if (raw.device == "cpu") options.device = DeviceKind::cpu;
  if (raw.device == "cuda") options.device = DeviceKind::cuda;
  if (!raw.fail_kind.empty()) {
    const std::map<std::string_view, FailKind> kinds = {{"crash", FailKind::crash},
                                                        {"hang", FailKind::hang},
                                                        {"exit", FailKind::exit},
                                                        {"nan", FailKind::nan},
                                                        {"oom", FailKind::oom}};
    options.fault = FaultPlan{raw.fail_at_step, kinds.at(raw.fail_kind), raw.fail_rank};
    if (options.fault->kind == FailKind::oom && !options.memory_limit_bytes) {
      return "--fail-kind oom needs --memory-limit, or nothing would refuse the memory";
    }
  }
  if (raw.delay_rank >= 0) options.delay.rank = raw.delay_rank;
  constexpr std::size_t parameters_max = 2'000'000'000;
  std::size_t parameters = 0;
  for (const std::size_t elements : unit_elements(options.model)) parameters += elements;
  if (parameters > parameters_max) {
    return fmt::format("--layers and --hidden make {} parameters; at most 2e9 are possible",
                       parameters);
  }
  return {};
}

}  // namespace

Invocation parse_command_line(int argc, const char* const* argv) {
  Invocation invocation;
  RawFlags raw;
  CLI::App app(description, "minitrain");
  app.footer(footer);
  // A tuner appends flags to the user's own command: the last one counts, as in argparse.
  app.option_defaults()->take_last();
  add_run_flags(app, invocation.options, raw);
  add_model_flags(app, invocation.options);
  add_fault_flags(app, invocation.options, raw);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    invocation.exit_code = 0;
    invocation.text = app.help();
    return invocation;
  } catch (const CLI::ParseError& error) {
    invocation.exit_code = 2;
    invocation.text = fmt::format("minitrain: {} (see --help)\n", error.what());
    return invocation;
  }
  const std::string problem = finish_options(raw, invocation.options);
  if (!problem.empty()) {
    invocation.exit_code = 2;
    invocation.text = fmt::format("minitrain: {} (see --help)\n", problem);
  }
  return invocation;
}

}  // namespace minitrain
