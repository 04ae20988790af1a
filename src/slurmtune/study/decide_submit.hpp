// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "slurmtune/base/error.hpp"
#include "slurmtune/study/decide.hpp"
#include "slurmtune/study/view.hpp"

// The part of `decide` that submits jobs and cancels those that are not needed; for decide.cpp.

namespace slurmtune {

/// One look's answer of a part of `decide`: an action, or nothing to do.
using Step = Expected<std::optional<Action>>;

inline Step act(Action action) { return std::optional<Action>(std::move(action)); }
inline Step nothing() { return std::optional<Action>(); }

[[nodiscard]] bool any_live(const StudyView& view, const std::vector<const JobRecord*>& jobs);

/// What a process does while another one may still be at its submission.
enum class Meanwhile { leave, wait };

/// An intent without an answer is completed before anything else is submitted.
/// Errors: unavailable while another process may still be at it, with `Meanwhile::leave`.
[[nodiscard]] Step settle_intent(const StudyView& view, Instant now, Meanwhile meanwhile);

/// Tasks of a released stage beyond its slices, and whole arrays of stages that were skipped.
/// `decided`: the stage whose decision names `next`.
[[nodiscard]] Step trim(const StudyView& view, std::size_t decided, std::size_t next);

/// The next job that is neither there nor over with its work done. Of a graph, in order: guard,
/// then arrays and reducer of each stage from the current one, then final. By steps: guard, then
/// of the current stage its arrays, the reducer after them, and after that one a second reducer,
/// which goes on where the first dies; then those that it leaves behind are cancelled.
[[nodiscard]] Step submit_missing(const StudyView& view);

/// The slices of a stage that no array will run and that one should: of the open ones those that
/// have been run less than three times, of a stage that is not released yet all. Attempts that
/// ended only because their time window closed do not count.
[[nodiscard]] std::vector<std::int64_t> missing_slices(const StudyView& view, std::size_t stage);

/// True if a task of a stage left work only because its time was over.
[[nodiscard]] bool is_cut_short(const StudyView& view, std::size_t stage);

/// True if no task of a stage runs or will run, and none will be submitted again.
[[nodiscard]] bool is_given_up(const StudyView& view, std::size_t stage);

/// The training's job where it is lost before it began: of a study that is finished.
[[nodiscard]] Step submit_training(const StudyView& view, Instant now, Meanwhile meanwhile);

}  // namespace slurmtune
