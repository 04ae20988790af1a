// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "slurmtune/base/error.hpp"
#include "slurmtune/study/event.hpp"
#include "slurmtune/study/study_directory.hpp"

namespace slurmtune {

/// Adds `submitted` to the journal unless the job is in it already. Whoever knows a job may do
/// this: the process that submitted it, and the job itself. A name that stands in the journal with
/// another job (it was submitted by hand a second time) gets the next free attempt.
/// Errors: those of the journal; unavailable if the number is lost too often to others.
[[nodiscard]] Expected<void> register_job(const Journal& journal,
                                          const std::function<Instant()>& now,
                                          const Submitted& event);

/// What a job of a study knows of itself.
struct OwnJob {
  StageName stage;  ///< empty for guard and final
  JobKind kind = JobKind::array;
  std::int64_t job = 0;  ///< of an array the number that its tasks share
  std::int64_t first_slice = 0;
  std::optional<std::int64_t> tasks;
};

/// Registers the job that this process runs in, so that the journal knows jobs that were submitted
/// by hand, too. Errors as above.
[[nodiscard]] Expected<void> register_own_job(const StudyDirectory& directory,
                                              const std::function<Instant()>& now,
                                              const OwnJob& own);

}  // namespace slurmtune
