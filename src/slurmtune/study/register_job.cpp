// SPDX-License-Identifier: MIT
#include "slurmtune/study/register_job.hpp"

#include <algorithm>

#include <fmt/core.h>

namespace slurmtune {

namespace {

/// All tasks of an array may register it at once; each round one of them wins.
constexpr int appends_max = 10'000;

/// The number alone does not say so: a controller that was killed may give it to another job.
bool is_known(const JobRecord& record, const Submitted& event) {
  return record.job == event.job && !record.lost && record.stage == event.stage &&
         record.kind == event.kind;
}

/// Whether the journal has this very job, of whatever name.
bool knows(const StudyState& state, const Submitted& event) {
  return std::any_of(state.jobs.begin(), state.jobs.end(),
                     [&](const JobRecord& record) { return is_known(record, event); });
}

/// Whether there is nothing left to write about it: an intent that waits for its number gets it,
/// also if an earlier job of this stage had the same.
bool is_settled(const StudyState& state, const Submitted& event) {
  const JobRecord* intent = state.open_intent();
  return (intent == nullptr || intent->name != event.name) && knows(state, event);
}

/// The event under a name that no other job has.
Submitted named_apart(const StudyState& state, Submitted event) {
  const bool taken =
      std::any_of(state.jobs.begin(), state.jobs.end(), [&](const JobRecord& record) {
        return record.name == event.name && record.job && record.job != event.job;
      });
  if (!taken) return event;
  event.attempt = state.next_attempt(event.stage, event.kind);
  event.name = job_name(state.created.study, event.stage, event.kind, event.attempt);
  return event;
}

}  // namespace

Expected<void> register_job(const Journal& journal, const std::function<Instant()>& now,
                            const Submitted& event) {
  for (int i = 0; i < appends_max; ++i) {
    SLURMTUNE_TRY(const auto events, journal.read());
    SLURMTUNE_TRY(const StudyState state, fold(events));
    if (is_settled(state, event)) return {};
    SLURMTUNE_TRY(const auto appended,
                  journal.append(state.last_event + 1, now(), named_apart(state, event)));
    if (appended == Journal::Append::won) return {};
  }
  return unavailable(fmt::format("job {} of {} could not be journalled: too many others write",
                                 event.job, event.name));
}

Expected<void> register_own_job(const StudyDirectory& directory,
                                const std::function<Instant()>& now, const OwnJob& own) {
  const Journal journal(directory.journal());
  SLURMTUNE_TRY(const auto events, journal.read());
  SLURMTUNE_TRY(const StudyState state, fold(events));
  Submitted event{.name = {},
                  .stage = own.stage,
                  .kind = own.kind,
                  .attempt = 0,
                  .job = own.job,
                  .first_slice = own.first_slice,
                  .tasks = own.tasks};
  if (knows(state, event)) return {};
  // A job may start before its submitter has written down that it exists: then it is that one.
  const JobRecord* intent = state.open_intent();
  const bool intended = intent != nullptr && intent->stage == own.stage &&
                        intent->kind == own.kind && intent->first_slice == own.first_slice;
  event.attempt = intended ? intent->attempt : state.next_attempt(own.stage, own.kind);
  event.name = job_name(state.created.study, own.stage, own.kind, event.attempt);
  return register_job(journal, now, event);
}

}  // namespace slurmtune
