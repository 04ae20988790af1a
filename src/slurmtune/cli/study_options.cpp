// SPDX-License-Identifier: MIT
#include "slurmtune/cli/study_options.hpp"

#include <array>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

namespace slurmtune {

namespace {

constexpr std::array<std::pair<std::string_view, SubmitMode>, 5> submit_words{
    {{"graph", SubmitMode::graph},
     {"one-job", SubmitMode::one_job},
     {"allocation", SubmitMode::allocation},
     {"scripts", SubmitMode::scripts},
     {"local", SubmitMode::local}}};

}  // namespace

void StudyArguments::add_to(CLI::App& command) {
  command.add_option("STUDY", study, "the study.toml")->required();
  command.add_option("--site", site, "site file, or the name of one that comes with slurmtune");
  command
      .add_option("--submit", submit,
                  "graph (Slurm), one-job (the same in one job), allocation (in the one that is "
                  "held), local (this machine) or scripts (write only)")
      ->check(CLI::IsMember({"graph", "one-job", "allocation", "scripts", "local"}));
}

void StudyArguments::add_directory_to(CLI::App& command) {
  command.add_option("--dir", directory,
                     "where the study goes, on a filesystem that all nodes see "
                     "[slurmtune-<name> in the current directory]");
}

Expected<LoadedStudy> StudyArguments::load(Stay stay) const {
  StudyOptions options;
  options.in_foreground = stay == Stay::in_foreground;
  if (!site.empty()) options.site = site;
  for (const auto& [word, submit_mode] : submit_words) {
    if (word == submit) options.submit = submit_mode;
  }
  options.mode = mode;
  return load_study(study, options);
}

std::filesystem::path StudyArguments::place_of(const LoadedStudy& loaded) const {
  return directory.empty() ? default_directory(loaded) : std::filesystem::path(directory);
}

}  // namespace slurmtune
