// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "slurmtune/base/error.hpp"
#include "slurmtune/input/study_input.hpp"
#include "slurmtune/record/manifest.hpp"
#include "slurmtune/runner/start/environment.hpp"
#include "slurmtune/study/study_directory.hpp"

namespace slurmtune {

/// What a task reads before it begins.
struct StudyFiles {
  StudyDirectory directory{std::filesystem::path()};
  StageName stage;
  StudyInput input;
  std::optional<Manifest> manifest;  ///< absent: the stage was not released, or dropped
  std::string workdir;               ///< absolute: where trials run
};

/// Reads the frozen input of the study at `path` and the manifest of a stage. Trials run in
/// `<study>/inputs/snapshot` if code was frozen into it, else in trial.workdir below the directory
/// of the user's study.toml: SLURMTUNE_ORIGIN, or the journal's first event.
/// Errors: invalid_input if there is no such study, stage or directory; as read_study and
/// parse_manifest.
[[nodiscard]] Expected<StudyFiles> read_study_files(const std::filesystem::path& path,
                                                    const StageName& stage,
                                                    const Environment& environment);

}  // namespace slurmtune
