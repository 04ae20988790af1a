// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "slurmtune/base/error.hpp"
#include "slurmtune/tune/create_study.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): the name is CLI11's
class App;
}

namespace slurmtune {

/// Whether a command stays until the study is done.
enum class Stay { in_foreground, no };

/// The arguments of the commands that take a study.toml.
struct StudyArguments {
  std::string study;              ///< path of study.toml
  std::string directory;          ///< --dir, "" = the default
  std::string site;               ///< --site, "" = the study's
  std::string submit;             ///< --submit, "" = the study's
  std::optional<StudyMode> mode;  ///< of the command itself; absent = the study's

  void add_to(CLI::App& command);
  void add_directory_to(CLI::App& command);

  /// Loads the study with what the command line says over it.
  /// Errors: those of load_study.
  [[nodiscard]] Expected<LoadedStudy> load(Stay stay = Stay::no) const;
  [[nodiscard]] std::filesystem::path place_of(const LoadedStudy& study) const;
};

}  // namespace slurmtune
