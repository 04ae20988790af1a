// SPDX-License-Identifier: MIT
#include "slurmtune/input/launch_names.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "slurmtune/input/readers.hpp"

namespace slurmtune {

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

bool is_python(std::string_view word) {
  std::string_view name = file_name(word);
  if (!name.starts_with("python") && !name.starts_with("pypy")) return false;
  name.remove_prefix(name.starts_with("python") ? 6 : 4);
  return name.find_first_not_of("0123456789.") == std::string_view::npos;
}

bool looks_unexpanded(std::string_view word) {
  const std::size_t dollar = word.find('$');
  if (dollar == std::string_view::npos || dollar + 1 >= word.size()) return false;
  const char next = word[dollar + 1];
  return next == '{' || next == '(' || is_identifier(std::string_view(&next, 1));
}

std::optional<LineLauncher> launcher_named(std::string_view word) {
  constexpr std::array<std::pair<std::string_view, LineLauncher>, 15> names{{
      {"deepspeed", LineLauncher::deepspeed},
      {"ds", LineLauncher::deepspeed},
      {"deepspeed.launcher.runner", LineLauncher::deepspeed},
      {"torchrun", LineLauncher::torchrun},
      {"torch.distributed.run", LineLauncher::torchrun},
      {"torch.distributed.launch", LineLauncher::torch_launch},
      {"accelerate", LineLauncher::accelerate},
      {"accelerate-launch", LineLauncher::accelerate},
      {"accelerate.commands.launch", LineLauncher::accelerate},
      {"accelerate.commands.accelerate_cli", LineLauncher::accelerate},
      {"mpirun", LineLauncher::mpi},
      {"mpiexec", LineLauncher::mpi},
      {"mpiexec.hydra", LineLauncher::mpi},
      {"orterun", LineLauncher::mpi},
      {"srun", LineLauncher::srun},
  }};
  const std::string_view name = file_name(word);
  const auto found =
      std::ranges::find(names, name, &std::pair<std::string_view, LineLauncher>::first);
  if (found == names.end()) return std::nullopt;
  return found->second;
}

bool is_shell(std::string_view program) {
  constexpr std::array<std::string_view, 8> shells{"bash", "sh",   "dash", "zsh",
                                                   "ksh",  "fish", "csh",  "tcsh"};
  return std::ranges::find(shells, file_name(program)) != shells.end();
}

bool is_assignment(std::string_view word) {
  const std::size_t equals = word.find('=');
  return equals != std::string_view::npos && is_identifier(word.substr(0, equals));
}

}  // namespace slurmtune
