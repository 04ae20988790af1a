// SPDX-License-Identifier: MIT
#include "slurmtune/runner/study_files.hpp"

#include <optional>
#include <system_error>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "slurmtune/study/event.hpp"
#include "slurmtune/study/files.hpp"

namespace slurmtune {

namespace {

/// The directory that the user's study.toml was in.
Expected<std::filesystem::path> origin_of(const StudyDirectory& directory,
                                          const Environment& environment) {
  if (const auto origin = variable(environment, "SLURMTUNE_ORIGIN"); origin && !origin->empty()) {
    return std::filesystem::path(*origin);
  }
  const std::filesystem::path first = directory.journal() / "000001.json";
  SLURMTUNE_TRY(const std::string text, read_file(first));
  SLURMTUNE_TRY(const Event event, parse_event(text, first.string()));
  const auto* created = std::get_if<StudyCreated>(&event.body);
  if (created == nullptr || created->origin.empty()) {
    return corrupt_data(
        fmt::format("{}: does not say where the study came from; set "
                    "SLURMTUNE_ORIGIN to the directory of its study.toml",
                    first.string()));
  }
  return std::filesystem::path(created->origin);
}

Expected<std::string> workdir_of(const StudyDirectory& directory, const TrialSpec& trial,
                                 const Environment& environment) {
  std::error_code failure;
  const std::filesystem::path snapshot = directory.inputs() / "snapshot";
  if (std::filesystem::is_directory(snapshot, failure)) return snapshot.string();
  std::filesystem::path workdir = trial.workdir;
  if (workdir.is_relative()) {
    SLURMTUNE_TRY(const std::filesystem::path origin, origin_of(directory, environment));
    workdir = (origin / workdir).lexically_normal();
  }
  if (!std::filesystem::is_directory(workdir, failure)) {
    return invalid_input(
        fmt::format("trial.workdir: {} is not a directory on this node", workdir.string()));
  }
  return workdir.string();
}

}  // namespace

Expected<StudyFiles> read_study_files(const std::filesystem::path& path, const StageName& stage,
                                      const Environment& environment) {
  StudyFiles files;
  std::error_code failure;
  const std::filesystem::path root = std::filesystem::canonical(path, failure);
  if (failure) {
    return invalid_input(fmt::format("--study {}: {}", path.string(), failure.message()));
  }
  files.directory = StudyDirectory(root);
  files.stage = stage;
  SLURMTUNE_TRY(files.input, files.directory.read_input());
  if (!std::filesystem::is_directory(files.directory.stage(stage), failure)) {
    return invalid_input(fmt::format("--stage {}: the study has no such stage: {} is not there",
                                     stage.text, files.directory.stage(stage).string()));
  }
  SLURMTUNE_TRY(files.manifest, files.directory.read_manifest(stage));
  SLURMTUNE_TRY(files.workdir, workdir_of(files.directory, files.input.spec.trial, environment));
  return files;
}

}  // namespace slurmtune
