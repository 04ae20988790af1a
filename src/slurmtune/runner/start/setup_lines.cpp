// SPDX-License-Identifier: MIT
#include "slurmtune/runner/start/setup_lines.hpp"

#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "slurmtune/execute/process.hpp"

namespace slurmtune {

namespace {

std::string last_line(std::string_view text) {
  while (text.ends_with('\n')) text.remove_suffix(1);
  return std::string(text.substr(text.rfind('\n') + 1));
}

}  // namespace

Expected<Environment> run_setup(std::span<const std::string> lines, const Environment& environment,
                                const std::string& workdir) {
  if (lines.empty()) return environment;
  // What the lines print goes to standard error, so that standard output is the environment alone.
  std::string script = "set -e\nexec 3>&1 1>&2\n";
  for (const std::string& line : lines) script += line + "\n";
  script += "exec env -0 >&3\n";

  using namespace std::chrono_literals;
  ProcessRequest request;
  request.call.argv = {"bash", "-c", script};
  request.call.environment = environment_entries(environment);
  request.call.workdir = workdir;
  request.timeout = 5min;
  SLURMTUNE_TRY(const ProcessResult result, run_process(request));
  if (result.ending == Ending::timed_out) {
    return unavailable("trial.setup: the lines took more than 5 minutes");
  }
  if (!result.status.success()) {
    return invalid_input(
        fmt::format("trial.setup: {}: {}", result.status.text(), last_line(result.err)));
  }
  Environment after = parse_environment(result.out);
  after.erase("_");
  after.erase("SHLVL");
  return after;
}

}  // namespace slurmtune
