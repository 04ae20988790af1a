// SPDX-License-Identifier: MIT
#include "slurmtune/report/submit_text.hpp"

#include <fmt/format.h>

#include "slurmtune/base/units.hpp"
#include "slurmtune/plan/shape.hpp"
#include "slurmtune/report/table.hpp"

namespace slurmtune {

namespace {

using Align = Table::Align;

const Expected<std::chrono::seconds>& wait_of(const SubmitCost& cost, const QueueWaits& waits) {
  return cost.mode == SubmitMode::one_job ? waits.whole : waits.task;
}

/// How long all jobs that hold nodes wait, one after another: each for the queue, and for a window
/// that it ends in, as long as it may last.
std::chrono::seconds waited(const SubmitCost& cost, std::chrono::seconds wait,
                            const QueueWaits& waits) {
  if (!waits.window) return cost.long_waits * wait;
  const std::chrono::seconds lasts(cost.walltime_s);
  Instant at = waits.now;
  Instant::duration total{};
  for (std::int64_t job = 0; job < cost.long_waits; ++job) {
    const Instant begins = waits.window->begin_for(at + wait, lasts);
    total += begins - at;
    at = begins + lasts;
  }
  return std::chrono::ceil<std::chrono::seconds>(total);
}

std::string expected(const SubmitCost& cost, const QueueWaits& waits) {
  const auto& wait = wait_of(cost, waits);
  return wait ? format_duration(waited(cost, *wait, waits)) : "unknown";
}

/// What stands behind a way: that it is the plan's, what it has to do without.
std::string remark(const SubmitCost& cost, bool is_chosen) {
  std::string text = is_chosen ? "this plan" : "";
  if (cost.stages_left_out > 0) {
    text += fmt::format("{}without {} stage{} (submit_jobs_max)", text.empty() ? "" : ", ",
                        cost.stages_left_out, cost.stages_left_out == 1 ? "" : "s");
  }
  if (cost.mode == SubmitMode::one_job && cost.jobs > 1) {
    text += fmt::format("{}a chain: {} job{} likely", text.empty() ? "" : ", ", cost.waits,
                        cost.waits == 1 ? "" : "s");
  }
  return text;
}

/// `2 nodes for 0:30:00 in 12 min`
std::string job_and_wait(const SubmitCost& cost, const QueueWaits& waits) {
  const auto& wait = wait_of(cost, waits);
  return fmt::format("{} node{} for {} {}", cost.nodes, cost.nodes == 1 ? "" : "s",
                     walltime_text(cost.walltime_s),
                     wait ? "in " + format_duration(*wait) : std::string("unknown"));
}

/// What the expected waits are made of: a task's, and the whole study's.
std::string waits_line(std::span<const SubmitCost> costs, const QueueWaits& waits) {
  std::string line;
  std::string unknown;
  for (const SubmitCost& cost : costs) {
    const bool is_task = cost.mode != SubmitMode::one_job;
    if (!cost.why_not.empty() || (is_task && !line.empty())) continue;
    line += fmt::format(
        "{}{}", line.empty() ? "  by Slurm's estimate would start, if submitted now: " : ", ",
        job_and_wait(cost, waits));
    const auto& wait = wait_of(cost, waits);
    if (!wait && unknown.empty()) unknown = wait.error().message;
  }
  if (!unknown.empty()) return fmt::format("  waits: unknown: {}\n", one_line(unknown, 300));
  return line.empty() ? "" : line + "\n";
}

}  // namespace

std::string submit_text(std::span<const SubmitCost> costs, const Plan& plan,
                        const QueueWaits& waits, Colour colour) {
  Table table({{"way", Align::left},
               {"jobs", Align::right},
               {"waits", Align::right},
               {"expected wait", Align::right},
               {"likely node-h", Align::right},
               {"worst node-h", Align::right},
               {"", Align::left}});
  // Scripts that are submitted by hand are the graph.
  const std::string chosen = plan.submit == "scripts" ? "graph" : plan.submit;
  std::string refusals;
  for (const SubmitCost& cost : costs) {
    const std::string name(name_of(cost.mode));
    if (!cost.why_not.empty()) {
      table.add({name, "-", "-", "-", "-", "-", "not possible"});
      refusals += fmt::format("  {}: {}\n", name, one_line(cost.why_not, 400));
      continue;
    }
    table.add({name, fmt::to_string(cost.jobs), fmt::to_string(cost.waits), expected(cost, waits),
               node_hours(cost.likely_node_seconds), node_hours(cost.worst_node_seconds),
               remark(cost, name == chosen)});
  }
  std::string text = "\n" + paint("Ways to submit ([slurm] submit)", Paint::bold, colour) + "\n";
  text += table.render(colour) + waits_line(costs, waits) + refusals;
  if (!plan.submit_why.empty()) {
    text += fmt::format("  {} is chosen: {}\n", plan.submit, one_line(plan.submit_why, 400));
  }
  return text;
}

}  // namespace slurmtune
