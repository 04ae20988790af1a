// SPDX-License-Identifier: MIT
#include "slurmtune/cli/trial_script.hpp"

#include <filesystem>
#include <system_error>

#include <fmt/core.h>

#include "slurmtune/base/shell_quote.hpp"
#include "slurmtune/input/launch_names.hpp"

namespace slurmtune {

namespace {

namespace fs = std::filesystem;

fs::path workdir_of(const LoadedStudy& study) {
  const fs::path workdir = (study.origin / study.input.spec.trial.workdir).lexically_normal();
  return workdir.has_filename() ? workdir : workdir.parent_path();
}

}  // namespace

std::optional<std::string> script_of(const std::vector<std::string>& command) {
  if (command.empty()) return std::nullopt;
  std::size_t at = 0;
  if (is_python(command[0]) || is_shell(command[0])) {
    for (at = 1; at < command.size() && command[at].starts_with('-'); ++at) {
      if (command[at] == "-m" || command[at] == "-c" || command[at] == "-") return std::nullopt;
      if (command[at] == "-W" || command[at] == "-X") ++at;
    }
    if (at >= command.size()) return std::nullopt;
  } else if (command[0].find('/') == std::string::npos) {
    return std::nullopt;
  }
  if (command[at].find('{') != std::string::npos) return std::nullopt;
  return command[at];
}

std::optional<std::string> missing_script(const LoadedStudy& study) {
  const TrialSpec& trial = study.input.spec.trial;
  if (!trial.container.empty() || !trial.setup.empty()) return std::nullopt;
  const auto script = script_of(trial.command);
  std::error_code code;
  if (!script || fs::exists(workdir_of(study) / *script, code)) return std::nullopt;
  if (fs::path(*script).is_absolute()) {
    return fmt::format("{} is not on this machine; the nodes must have it", shell_quote(*script));
  }
  return fmt::format("{} is not in {}, where the trials begin", shell_quote(*script),
                     workdir_of(study).string());
}

Expected<void> check_script(const LoadedStudy& study, std::string_view where) {
  const auto missing = missing_script(study);
  if (!missing || script_of(study.input.spec.trial.command)->starts_with('/')) return {};
  return invalid_input(fmt::format("{}: {}; name a script that is there", where, *missing));
}

}  // namespace slurmtune
