// SPDX-License-Identifier: MIT
#include "slurmtune/study/scheduler.hpp"

#include "slurmtune/record/name_table.hpp"

namespace slurmtune {

namespace {

constexpr NameTable<JobState, 15> state_names{
    {"pending", "requeued", "requeued_held", "running", "suspended", "completed", "failed",
     "cancelled", "timed_out", "deadline", "node_failed", "boot_failed", "preempted",
     "out_of_memory", "unknown"}};
constexpr NameTable<CancelledBy, 3> canceller_names{{"unknown", "owner", "other"}};

}  // namespace

bool is_over(JobState state) {
  switch (state) {
    case JobState::completed:
    case JobState::failed:
    case JobState::cancelled:
    case JobState::timed_out:
    case JobState::deadline:
    case JobState::node_failed:
    case JobState::boot_failed:
    case JobState::preempted:
    case JobState::out_of_memory: return true;
    case JobState::pending:
    case JobState::requeued:
    case JobState::requeued_held:
    case JobState::running:
    case JobState::suspended:
    case JobState::unknown: return false;  // an unknown state may still write
  }
  return false;
}

bool is_waiting(JobState state) {
  return state == JobState::pending || state == JobState::requeued ||
         state == JobState::requeued_held;
}

std::string_view name_of(JobState state) { return state_names.name_of(state); }

std::string_view name_of(CancelledBy by) { return canceller_names.name_of(by); }

bool is_held_after_launch(const JobReport& report) {
  // squeue prints with underscores what libslurm hands out with blanks.
  return !is_over(report.state) && (report.reason == "launch failed requeued held" ||
                                    report.reason == "launch_failed_requeued_held");
}

}  // namespace slurmtune
