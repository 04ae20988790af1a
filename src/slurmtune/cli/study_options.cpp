// SPDX-License-Identifier: MIT
#include "slurmtune/cli/study_options.hpp"

#include <array>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "slurmtune/cli/launched_study.hpp"
#include "slurmtune/cli/output.hpp"

namespace slurmtune {

namespace {

constexpr std::array<std::pair<std::string_view, SubmitMode>, 5> submit_words{
    {{"graph", SubmitMode::graph},
     {"one-job", SubmitMode::one_job},
     {"allocation", SubmitMode::allocation},
     {"scripts", SubmitMode::scripts},
     {"local", SubmitMode::local}}};

}  // namespace

void StudyArguments::add_to(CLI::App& command, const LaunchWords& words) {
  launch = words;
  CLI::Option* file = command.add_option("STUDY", study, "the study.toml, or -- LAUNCH LINE");
  if (!launch.given) file->required();
  command.add_option("--site", site, "site file, or the name of one that comes with slurmtune");
  command
      .add_option("--submit", submit,
                  "graph (Slurm), one-job (the same in one job), allocation (in the one that is "
                  "held), local (this machine) or scripts (write only)")
      ->check(CLI::IsMember({"graph", "one-job", "allocation", "scripts", "local"}));
  command.add_option("--name", name, "with a launch line: the name of its study [of the script]");
  command.add_option("--write", write,
                     "with a launch line: where its study goes [study-<name>.toml]");
}

void StudyArguments::add_directory_to(CLI::App& command) {
  command.add_option("--dir", directory,
                     "where the study goes, on a filesystem that all nodes see "
                     "[slurmtune-<name> in the current directory]");
}

Expected<LoadedStudy> StudyArguments::load(Stay stay, Understood understood) const {
  if (!launch.given) {
    if (!name.empty() || !write.empty()) {
      return invalid_input("--name and --write go with a launch line (-- deepspeed train.py …)");
    }
    return load_file(stay, study, std::nullopt);
  }
  if (!study.empty()) {
    return invalid_input(fmt::format("give a study ({}) or a launch line (-- {} …), not both",
                                     study, launch.words.empty() ? "" : launch.words.front()));
  }
  SLURMTUNE_TRY(const LaunchedStudy launched, study_of_launch_line(*this));
  const bool writes = understood == Understood::written || !write.empty();
  if (writes) SLURMTUNE_CHECK(check_free(launched));
  auto loaded = load_file(stay, launched.file, launched.study.text);
  if (!loaded) {
    if (!loaded.error().message.starts_with(launched.file + ":")) return loaded;
    return invalid_input(loaded.error().message +
                         " (a line of the study that the launch line "
                         "becomes; it was not written)");
  }
  if (writes) SLURMTUNE_CHECK(write_launched(launched));
  if (understood != Understood::silent) print(told(launched, writes));
  return loaded;
}

Expected<LoadedStudy> StudyArguments::load_file(Stay stay, const std::string& path,
                                                std::optional<std::string> text) const {
  StudyOptions options;
  options.text = std::move(text);
  options.in_foreground = stay == Stay::in_foreground;
  if (!site.empty()) options.site = site;
  for (const auto& [word, submit_mode] : submit_words) {
    if (word == submit) options.submit = submit_mode;
  }
  options.mode = mode;
  return load_study(path, options);
}

std::filesystem::path StudyArguments::place_of(const LoadedStudy& loaded) const {
  return directory.empty() ? default_directory(loaded) : std::filesystem::path(directory);
}

}  // namespace slurmtune
