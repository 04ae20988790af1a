// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string>

#include "slurmtune/base/error.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): the name is CLI11's
class App;
}

namespace slurmtune {

/// What a process says about itself to its caller. An Error of `run` becomes one of these.
enum class ExitCode {
  done = 0,
  no_result = 1,      ///< everything worked, and there is nothing to show for it
  invalid_input = 2,  ///< the user must change something
  failed = 3,         ///< the cluster or the disk failed; the same command may work later
};

struct LaunchWords;

/// The command that the command line asks for, once it is parsed.
using Command = std::function<Expected<ExitCode>()>;

// Each adds one subcommand, which puts what it does into `selected` when it is asked for. Those
// that take a study.toml take a launch line, too.
void add_plan_command(CLI::App& app, Command& selected, const LaunchWords& launch);
void add_submit_command(CLI::App& app, Command& selected, const LaunchWords& launch);
void add_tune_command(CLI::App& app, Command& selected, const LaunchWords& launch);
void add_run_command(CLI::App& app, Command& selected, const LaunchWords& launch);
void add_status_command(CLI::App& app, Command& selected);
void add_report_command(CLI::App& app, Command& selected);
void add_resume_command(CLI::App& app, Command& selected);
void add_cancel_command(CLI::App& app, Command& selected);
void add_retry_command(CLI::App& app, Command& selected);
void add_doctor_command(CLI::App& app, Command& selected);
void add_clean_command(CLI::App& app, Command& selected);
void add_extend_command(CLI::App& app, Command& selected);
void add_estimate_command(CLI::App& app, Command& selected);
void add_space_command(CLI::App& app, Command& selected);
void add_probe_command(CLI::App& app, Command& selected);
void add_reduce_command(CLI::App& app, Command& selected);
void add_launch_command(CLI::App& app, Command& selected);
void add_schema_command(CLI::App& app, Command& selected);
void add_site_command(CLI::App& app, Command& selected);

/// A subcommand with its one-line description and the examples that end its --help.
CLI::App* add_subcommand(CLI::App& app, const std::string& name, const std::string& description,
                         const std::string& examples);

}  // namespace slurmtune
