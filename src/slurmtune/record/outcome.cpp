// SPDX-License-Identifier: MIT
#include "slurmtune/record/outcome.hpp"

#include <array>
#include <cstddef>

#include "slurmtune/base/error.hpp"

namespace slurmtune {

namespace {

using enum MemoryEvidence;

constexpr std::array<OutcomeRule, 14> rules{{
    {Outcome::ok, "ok", fits, true, true, Retry::never, "it ran and was measured"},
    {Outcome::gpu_oom, "gpu_oom", exceeds_gpu, true, false, Retry::never,
     "a GPU ran out of memory"},
    {Outcome::host_oom, "host_oom", exceeds_host, true, false, Retry::never,
     "a node ran out of memory"},
    {Outcome::nan, "nan", fits, true, false, Retry::never,
     "it ran, but the loss or another figure is no longer a number"},
    {Outcome::timeout, "timeout", none, true, false, Retry::once_elsewhere,
     "it took longer than limits.total_s"},
    {Outcome::hang, "hang", none, true, false, Retry::once_elsewhere,
     "no step ended within limits.stall_s, or none within limits.startup_s"},
    {Outcome::config_error, "config_error", none, true, false, Retry::never,
     "the trial refused its configuration; the study stops only if the baseline or every profile "
     "experiment ends so"},
    {Outcome::launch_error, "launch_error", none, false, false, Retry::twice,
     "it could not be started: port, module, container, program or library"},
    {Outcome::storage_error, "storage_error", none, false, false, Retry::stops_study,
     "the file system failed: disk full, quota or stale handle"},
    {Outcome::crashed, "crashed", none, true, false, Retry::once_elsewhere,
     "it ended by a signal, an abort or an exit code that nothing explains"},
    {Outcome::preempted, "preempted", none, false, false, Retry::while_budget_lasts,
     "its task was preempted or reached its time limit"},
    {Outcome::node_failure, "node_failure", none, false, false, Retry::while_budget_lasts,
     "a node failed under it"},
    {Outcome::cancelled, "cancelled", none, false, false, Retry::while_budget_lasts,
     "it was cancelled while it ran"},
    {Outcome::not_started, "not_started", none, false, false, Retry::while_budget_lasts,
     "it never began: no time left, no budget left, or dropped by a decision"},
}};

}  // namespace

std::span<const OutcomeRule> outcome_rules() { return rules; }

const OutcomeRule& rule_of(Outcome outcome) {
  const auto index = static_cast<std::size_t>(outcome);
  SLURMTUNE_ASSERT(index < rules.size());
  return rules[index];
}

std::string_view name_of(Outcome outcome) { return rule_of(outcome).name; }

std::optional<Outcome> outcome_named(std::string_view name) {
  for (const OutcomeRule& rule : rules) {
    if (rule.name == name) return rule.outcome;
  }
  return std::nullopt;
}

bool is_tried_again(Outcome outcome, int tries) {
  switch (rule_of(outcome).retry) {
    case Retry::never:
    case Retry::stops_study: return false;
    case Retry::once_elsewhere: return tries < 2;
    case Retry::twice: return tries < 3;
    case Retry::while_budget_lasts: return true;
  }
  return false;
}

}  // namespace slurmtune
