// SPDX-License-Identifier: MIT
//
// slurmtune: the one place that sees everything, and the one that knows exit codes.

#include <algorithm>
#include <array>
#include <csignal>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "slurmtune/base/units.hpp"
#include "slurmtune/base/version.hpp"
#include "slurmtune/cli/command.hpp"
#include "slurmtune/cli/launch_words.hpp"
#include "slurmtune/cli/output.hpp"

namespace slurmtune {

CLI::App* add_subcommand(CLI::App& app, const std::string& name, const std::string& description,
                         const std::string& examples) {
  CLI::App* command = app.add_subcommand(name, description);
  command->footer("Examples:\n" + examples);
  return command;
}

namespace {

ExitCode exit_code_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::invalid_input: return ExitCode::invalid_input;
    case ErrorKind::no_result: return ExitCode::no_result;
    case ErrorKind::unavailable:
    case ErrorKind::corrupt_data: return ExitCode::failed;
  }
  return ExitCode::failed;
}

int leave(const Error& error) {
  fmt::print(stderr, "slurmtune: {}\n", error.message);
  return static_cast<int>(exit_code_of(error.kind));
}

/// What was asked for is done only once it is written.
int leave(ExitCode code) {
  if (const auto written = finish_output(); !written) return leave(written.error());
  return static_cast<int>(code);
}

/// Warnings go to standard error; --verbose adds what is done, twice --verbose how.
Expected<void> set_up_log(int verbosity, const std::string& file) {
  auto terminal = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  terminal->set_level(verbosity == 0   ? spdlog::level::warn
                      : verbosity == 1 ? spdlog::level::info
                                       : spdlog::level::debug);
  terminal->set_pattern("slurmtune: %v");
  std::vector<spdlog::sink_ptr> sinks{terminal};
  if (!file.empty()) {
    // spdlog would make the directories above.
    const std::filesystem::path above = std::filesystem::path(file).parent_path();
    std::error_code code;
    if (!above.empty() && !std::filesystem::is_directory(above, code)) {
      return invalid_input(
          fmt::format("--log-file {}: {} is not a directory; name a file in one that is there",
                      file, above.string()));
    }
    try {
      auto sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(file);
      sink->set_level(spdlog::level::debug);
      sink->set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %l %v");
      sinks.push_back(std::move(sink));
    } catch (const spdlog::spdlog_ex& failure) {
      return invalid_input(fmt::format("--log-file: {}", failure.what()));
    }
  }
  auto logger = std::make_shared<spdlog::logger>("slurmtune", sinks.begin(), sinks.end());
  logger->set_level(spdlog::level::debug);
  logger->flush_on(spdlog::level::info);
  spdlog::set_default_logger(std::move(logger));
  return {};
}

/// CLI11's own complaint, with the nearest command where a word is none.
Error usage_error(const CLI::ParseError& problem, const CLI::App& app, int argc, char** argv) {
  std::string message = problem.what();
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  const std::string_view word = argc > 1 ? argv[1] : "";
  const bool known = std::find(names.begin(), names.end(), word) != names.end();
  if (!known && !word.empty() && word[0] != '-') {
    const std::string_view nearest = nearest_word(word, names);
    message = fmt::format("'{}' is no command{}", word,
                          nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest));
  }
  constexpr std::array<std::string_view, 5> launchers{"deepspeed", "torchrun", "accelerate",
                                                      "mpirun", "srun"};
  const auto launcher = std::find_first_of(argv, argv + argc, launchers.begin(), launchers.end());
  if (known && launcher != argv + argc) {
    message +=
        fmt::format("; a launch line stands behind --: slurmtune {} -- {} …", word, *launcher);
  }
  const std::string help = known ? fmt::format("slurmtune {} --help", word) : "slurmtune --help";
  return {ErrorKind::invalid_input, fmt::format("{}; see {}", message, help)};
}

/// What stands behind the first `--`, which is a line for other programs' parsers.
LaunchWords cut_launch_line(int& argc, char** argv) {
  LaunchWords launch;
  char** const end = argv + argc;
  char** const mark =
      std::find_if(argv, end, [](const char* word) { return std::string_view(word) == "--"; });
  if (mark == end) return launch;
  launch.given = true;
  launch.words.assign(mark + 1, end);
  argc = static_cast<int>(mark - argv);
  return launch;
}

bool takes_launch_line(const CLI::App& app) {
  constexpr std::array<std::string_view, 4> takers{"plan", "submit", "tune", "run"};
  const auto chosen = app.get_subcommands();
  return chosen.empty() ||
         std::find(takers.begin(), takers.end(), chosen.front()->get_name()) != takers.end();
}

int run(int argc, char** argv) {
  CLI::App app{"Finds the fastest configuration of a distributed training job on a Slurm cluster."};
  app.name("slurmtune");
  app.set_version_flag("--version", "slurmtune " + std::string(version()));
  app.footer(
      "Examples:\n"
      "  slurmtune tune study.toml       tune here and now, and show the result\n"
      "  slurmtune tune -- deepspeed train.py --deepspeed ds_config.json    without a study file\n"
      "  slurmtune plan study.toml       what would be submitted, and what it may cost\n"
      "  slurmtune submit study.toml     submit everything and return\n"
      "  slurmtune report DIR            the result\n"
      "\n"
      "Exit codes: 0 done, 1 no result, 2 bad input, 3 the cluster or the disk failed.");
  app.require_subcommand(1);
  app.fallthrough();
  int verbosity = 0;
  std::string log_file;
  app.add_flag("-v,--verbose", verbosity, "say what is done; twice: how");
  app.add_option("--log-file", log_file, "write a log to this file");

  Command selected;
  const LaunchWords launch = cut_launch_line(argc, argv);
  for (const auto add : {add_plan_command, add_submit_command, add_tune_command, add_run_command}) {
    add(app, selected, launch);
  }
  for (const auto add :
       {add_status_command, add_report_command, add_resume_command, add_cancel_command,
        add_retry_command, add_extend_command, add_doctor_command, add_clean_command,
        add_estimate_command, add_space_command, add_probe_command, add_reduce_command,
        add_launch_command, add_schema_command, add_site_command}) {
    add(app, selected);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& answer) {  // --help, --version
    return leave(static_cast<ExitCode>(app.exit(answer)));
  } catch (const CLI::ParseError& problem) {
    return leave(usage_error(problem, app, argc, argv));
  }
  if (launch.given && !takes_launch_line(app)) {
    return leave(
        {ErrorKind::invalid_input, "only plan, submit, tune and run take a launch line behind --"});
  }
  if (const auto log = set_up_log(verbosity, log_file); !log) return leave(log.error());
  const auto result = selected();
  return result ? leave(*result) : leave(result.error());
}

}  // namespace
}  // namespace slurmtune

int main(int argc, char** argv) {
  // A reader that went away (`| head`) shows as an error of write(), not as a death.
  std::signal(SIGPIPE, SIG_IGN);
  try {
    return slurmtune::run(argc, argv);
  } catch (const std::exception& bug) {
    fmt::print(stderr, "slurmtune: internal error: {}; please report this\n", bug.what());
    return static_cast<int>(slurmtune::ExitCode::failed);
  }
}
