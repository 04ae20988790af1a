// SPDX-License-Identifier: MIT
#include "slurmtune/study/scheduler.hpp"

namespace slurmtune {

bool is_over(JobState state) {
  switch (state) {
    case JobState::completed:
    case JobState::failed:
    case JobState::cancelled:
    case JobState::timed_out:
    case JobState::node_failed:
    case JobState::preempted:
    case JobState::out_of_memory: return true;
    case JobState::pending:
    case JobState::running:
    case JobState::unknown: return false;  // an unknown state may still write
  }
  return false;
}

std::string_view name_of(JobState state) {
  switch (state) {
    case JobState::pending: return "pending";
    case JobState::running: return "running";
    case JobState::completed: return "completed";
    case JobState::failed: return "failed";
    case JobState::cancelled: return "cancelled";
    case JobState::timed_out: return "timed_out";
    case JobState::node_failed: return "node_failed";
    case JobState::preempted: return "preempted";
    case JobState::out_of_memory: return "out_of_memory";
    case JobState::unknown: break;
  }
  return "unknown";
}

}  // namespace slurmtune
