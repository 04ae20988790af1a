// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "slurmtune/base/error.hpp"
#include "slurmtune/cli/launch_words.hpp"
#include "slurmtune/cli/launched_study.hpp"
#include "slurmtune/tune/create_study.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): the name is CLI11's
class App;
}

namespace slurmtune {

/// Whether a command stays until the study is done.
enum class Stay { in_foreground, no };

/// What a command does with the study that it understood of a launch line.
enum class Understood {
  written,  ///< into a file once the study was accepted, and told
  told,     ///< written only where --write says so
  silent,   ///< the same, and standard output is for something else
};

/// A study as it was given, and the launch line that it was made of.
struct GivenStudy {
  LoadedStudy study;
  std::optional<LaunchedStudy> launched;
  bool there = false;  ///< its file was there before

  /// For messages about trial.command.
  [[nodiscard]] std::string where() const {
    return launched ? "launch line" : study.input.spec.path + ": trial.command";
  }
};

/// The arguments of the commands that take a study.toml, or a launch line.
struct StudyArguments {
  std::string study;              ///< path of study.toml
  std::string directory;          ///< --dir, "" = the default
  std::string site;               ///< --site, "" = the study's
  std::string submit;             ///< --submit, "" = the study's
  std::string command;            ///< tune, run, submit or plan
  std::optional<StudyMode> mode;  ///< of the command itself; absent = the study's

  std::string name;   ///< --name, of the study of a launch line; "" = made from the line
  std::string write;  ///< --write, where that study goes; "" = study-<name>.toml
  std::vector<std::string> slurm;  ///< --slurm KEY=VALUE, for [slurm] of that study
  LaunchWords launch;              ///< what stands behind `--`

  void add_to(CLI::App& app, const LaunchWords& words);
  void add_directory_to(CLI::App& app);

  /// Loads the study with what the command line says over it. Of a launch line it makes a study
  /// first. Nothing is written or told yet. Errors: invalid_input, and those of load_study.
  [[nodiscard]] Expected<GivenStudy> load(Stay stay = Stay::no,
                                          Understood understood = Understood::written) const;
  /// For a study that was accepted in every respect, so that a refusal leaves nothing behind:
  /// writes and tells what its launch line was understood as, if it had one.
  [[nodiscard]] Expected<void> accept(const GivenStudy& given,
                                      Understood understood = Understood::written) const;
  [[nodiscard]] std::filesystem::path place_of(const LoadedStudy& study) const;

 private:
  [[nodiscard]] Expected<LoadedStudy> load_file(Stay stay, const std::string& path,
                                                std::optional<std::string> text) const;
  [[nodiscard]] bool writes(Understood understood) const {
    return understood == Understood::written || !write.empty();
  }
};

}  // namespace slurmtune
