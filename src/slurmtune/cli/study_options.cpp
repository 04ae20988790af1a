// SPDX-License-Identifier: MIT
#include "slurmtune/cli/study_options.hpp"

#include <array>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "slurmtune/cli/output.hpp"
#include "slurmtune/cli/trial_script.hpp"

namespace slurmtune {

namespace {

constexpr std::array<std::pair<std::string_view, SubmitMode>, 7> submit_words{
    {{"auto", SubmitMode::automatic},
     {"graph", SubmitMode::graph},
     {"step", SubmitMode::step},
     {"one-job", SubmitMode::one_job},
     {"allocation", SubmitMode::allocation},
     {"scripts", SubmitMode::scripts},
     {"local", SubmitMode::local}}};

}  // namespace

void StudyArguments::add_to(CLI::App& app, const LaunchWords& words) {
  launch = words;
  command = app.get_name();
  CLI::Option* file = app.add_option("STUDY", study, "the study.toml, or -- LAUNCH LINE");
  if (!launch.given) file->required();
  app.add_option("--site", site, "site file, or the name of one that comes with slurmtune");
  app.add_option("--submit", submit,
                 "graph (Slurm, all at once), step (each stage submits the next), one-job (all "
                 "in one job, or a chain of them), allocation (in the one that is held), local "
                 "(this machine), scripts (write only) or auto")
      ->check(
          CLI::IsMember({"auto", "graph", "step", "one-job", "allocation", "scripts", "local"}));
  app.add_option("--name", name, "with a launch line: the name of its study [of the script]");
  app.add_option("--write", write, "with a launch line: where its study goes [study-<name>.toml]");
  app.add_option("--slurm", slurm,
                 "with a launch line: KEY=VALUE for [slurm] of its study, e.g. account=m1234; as "
                 "often as wanted")
      ->allow_extra_args(false);
}

void StudyArguments::add_directory_to(CLI::App& app) {
  app.add_option("--dir", directory,
                 "where the study goes, on a filesystem that all nodes see "
                 "[slurmtune-<name> in the current directory]");
}

Expected<GivenStudy> StudyArguments::load(Stay stay, Understood understood) const {
  GivenStudy given;
  if (!launch.given) {
    if (!name.empty() || !write.empty() || !slurm.empty()) {
      return invalid_input(
          "--name, --write and --slurm go with a launch line (-- deepspeed train.py …)");
    }
    SLURMTUNE_TRY(given.study, load_file(stay, study, std::nullopt));
    return given;
  }
  if (!study.empty()) {
    return invalid_input(fmt::format("give a study ({}) or a launch line (-- {} …), not both",
                                     study, launch.words.empty() ? "" : launch.words.front()));
  }
  SLURMTUNE_TRY(LaunchedStudy launched, study_of_launch_line(*this));
  std::string text = launched.study.text;
  if (writes(understood)) {
    SLURMTUNE_TRY(auto there, text_there(launched));
    given.there = there.has_value();
    if (there) text = *std::move(there);
  }
  auto loaded = load_file(stay, launched.file, text);
  if (!loaded) {
    if (!loaded.error().message.starts_with(launched.file + ":")) {
      return tl::unexpected<Error>(loaded.error());
    }
    const bool slurm_lacks = loaded.error().message.ends_with("in [slurm]");
    return invalid_input(loaded.error().message +
                         " (a line of the study that the launch line "
                         "becomes; it was not written)" +
                         (slurm_lacks ? ": give it by --slurm KEY=VALUE" : ""));
  }
  given.study = *std::move(loaded);
  if (const auto missing = missing_script(given.study)) launched.study.notes.push_back(*missing);
  given.launched = std::move(launched);
  return given;
}

Expected<void> StudyArguments::accept(const GivenStudy& given, Understood understood) const {
  if (!given.launched) return {};
  if (writes(understood)) SLURMTUNE_CHECK(write_launched(*given.launched));
  if (understood == Understood::silent) return {};
  const Written written = !writes(understood) ? Written::no
                          : given.there       ? Written::before
                                              : Written::yes;
  print(told(*given.launched, written));
  return {};
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
  // The command's word counts, whatever the file of its launch line says.
  if (launch.given && !mode) options.mode = StudyMode::tune;
  return load_study(path, options);
}

std::filesystem::path StudyArguments::place_of(const LoadedStudy& loaded) const {
  return directory.empty() ? default_directory(loaded) : std::filesystem::path(directory);
}

}  // namespace slurmtune
