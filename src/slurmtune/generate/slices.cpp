// SPDX-License-Identifier: MIT
#include "slurmtune/generate/slices.hpp"

#include <algorithm>

#include "slurmtune/base/error.hpp"

namespace slurmtune {

namespace {

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

std::vector<Slice> evenly(std::int64_t count, std::int64_t per_task) {
  std::vector<Slice> slices;
  const std::int64_t tasks = ceil_div(count, per_task);
  for (std::int64_t task = 0; task < tasks; ++task) {
    slices.push_back({.first = count * task / tasks, .end = count * (task + 1) / tasks});
  }
  return slices;
}

/// Runs of equal repeats.
std::vector<Slice> by_repeat(const std::vector<Experiment>& experiments) {
  std::vector<Slice> slices;
  for (std::size_t i = 0; i < experiments.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    if (i == 0 || experiments[i].repeat != experiments[i - 1].repeat) slices.push_back({at, at});
    slices.back().end = at + 1;
  }
  return slices;
}

bool holds(const std::vector<Slice>& slices, const SliceLimits& limits) {
  return static_cast<std::int64_t>(slices.size()) <= limits.tasks_max &&
         std::all_of(slices.begin(), slices.end(), [&](const Slice& slice) {
           return slice.end - slice.first <= limits.per_task;
         });
}

}  // namespace

void cut_slices(Manifest& manifest, const SliceLimits& limits, Dealing dealing) {
  SLURMTUNE_ASSERT(limits.per_task >= 1 && limits.task_node_seconds >= 1);
  std::int64_t tasks = limits.tasks_max;
  if (limits.node_seconds_cap) {
    tasks = std::min(tasks, *limits.node_seconds_cap / limits.task_node_seconds);
  }
  tasks = std::max<std::int64_t>(tasks, 0);
  if (dealing == Dealing::by_repeat) {
    manifest.slices = by_repeat(manifest.experiments);
    if (!holds(manifest.slices, limits)) dealing = Dealing::evenly;
  }
  if (dealing == Dealing::evenly) {
    const auto count = static_cast<std::int64_t>(manifest.experiments.size());
    manifest.slices = evenly(std::min(count, tasks * limits.per_task), limits.per_task);
  }
  if (static_cast<std::int64_t>(manifest.slices.size()) > tasks) {
    manifest.slices.resize(static_cast<std::size_t>(tasks));
  }
  const std::int64_t kept = manifest.slices.empty() ? 0 : manifest.slices.back().end;
  manifest.experiments.resize(static_cast<std::size_t>(kept));
}

}  // namespace slurmtune
