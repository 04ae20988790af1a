// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "slurmtune/base/error.hpp"
#include "slurmtune/study/study_directory.hpp"
#include "slurmtune/study/view.hpp"

namespace slurmtune {

/// What of a study may go: its result, journal, decisions, manifests and verdicts stay.
struct Removal {
  std::filesystem::path path;  ///< absolute; below the study, or beside it
  std::string what;            ///< `work of trials`, `logs of trials that worked`, …
  std::uint64_t bytes = 0;     ///< on disk, links not followed

  bool operator==(const Removal&) const = default;
};

enum class CleanScope {
  leftovers,  ///< work of trials but the winner's, logs of those that worked, proposals
  all,        ///< the directory itself
};

/// True if nothing of a study runs or will run. Without an answer of the queue (`live_jobs`
/// absent) that is not known of a study that the batch system runs.
/// Errors: unavailable, saying what runs and how to end it.
[[nodiscard]] Expected<void> check_over(const StudyView& view, const std::string& directory);

/// A link in the place of a study is not it: removed, the study would stand where it stood.
/// Errors: invalid_input, naming what the link points to.
[[nodiscard]] Expected<void> check_removable(const StudyDirectory& directory);

/// What would be removed, of each kind sorted by path; `drafts` of the study (draft.hpp) first.
/// Directories on the way to it that are links are left alone, with what is behind them.
[[nodiscard]] std::vector<Removal> plan_clean(const StudyDirectory& directory,
                                              const StudyView& view, CleanScope scope,
                                              std::span<const std::filesystem::path> drafts = {});

/// Removes it; what is gone already is no error. Errors: unavailable, with the path.
[[nodiscard]] Expected<void> remove_planned(const std::vector<Removal>& removals);

}  // namespace slurmtune
