// SPDX-License-Identifier: MIT
#pragma once

#include "slurmtune/study/state.hpp"

/// What the journal has of the arrays of one stage, for tests of who reads it.
namespace slurmtune::array_events {

inline const Instant noon = parse_instant("2026-11-30T12:00:00Z").value();
inline const StudyId study{"6b1f3c52-7c1e-4f0a-9d55-0a3b8e2f4c61"};
inline const StageName profile{"01-profile"};

inline SubmitIntended intended(int attempt) {
  return {.stage = profile,
          .kind = JobKind::array,
          .attempt = attempt,
          .name = job_name(study, profile, JobKind::array, attempt),
          .first_slice = 0,
          .tasks = 4,
          .by = "h:1"};
}

inline Submitted submitted(int attempt, std::int64_t job) {
  return {.name = job_name(study, profile, JobKind::array, attempt),
          .stage = profile,
          .kind = JobKind::array,
          .attempt = attempt,
          .job = job,
          .first_slice = 0,
          .tasks = 4};
}

}  // namespace slurmtune::array_events
