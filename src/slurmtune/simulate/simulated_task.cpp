// SPDX-License-Identifier: MIT
#include "slurmtune/simulate/simulated_task.hpp"

#include <algorithm>
#include <cmath>

namespace slurmtune {

namespace {

/// From the start of a task to its first trial.
constexpr std::chrono::seconds runner_start{2};

/// The nodes of one lane; all of them if there are too few to split.
std::vector<std::string> lane_nodes(const Manifest& manifest, const RunnerPlace& place, int lane) {
  const auto per_lane = static_cast<std::size_t>(manifest.nodes_per_lane);
  const std::size_t first = static_cast<std::size_t>(lane) * per_lane;
  if (first + per_lane > place.nodes.size()) return place.nodes;
  const auto begin = place.nodes.begin() + static_cast<std::ptrdiff_t>(first);
  return {begin, begin + static_cast<std::ptrdiff_t>(per_lane)};
}

Verdict not_started(const Experiment& experiment, const RunPlace& place) {
  Verdict verdict;
  verdict.experiment = experiment.id;
  verdict.configuration = experiment.configuration_id;
  verdict.attempt = experiment.attempt;
  verdict.outcome = Outcome::not_started;
  verdict.reason = "no_time";
  verdict.lane = place.lane;
  verdict.nodes = place.nodes;
  verdict.started = place.started;
  verdict.ended = place.started;
  verdict.source = "metrics_file";
  return verdict;
}

}  // namespace

SimulatedTask::SimulatedTask(const Manifest& manifest, const RunnerPlace& place,
                             const PerformanceSurface& surface) {
  start_.study = manifest.study;
  start_.stage = manifest.stage;
  start_.slice = place.slice;
  start_.array_job = place.array_job;
  start_.task = place.task;
  start_.restart = place.restart;
  start_.nodes = place.nodes;
  start_.allocated_nodes = static_cast<int>(place.nodes.size());
  start_.at = place.started;
  start_.ends_by = place.ends_by;
  start_.runner = "simulated";
  ended_ = place.started + runner_start;
  if (place.slice < 0 || place.slice >= std::ssize(manifest.slices)) return;
  const Slice& slice = manifest.slices[static_cast<std::size_t>(place.slice)];

  std::vector<Instant> idle_from(static_cast<std::size_t>(manifest.lanes), ended_);
  for (std::int64_t i = slice.first; i < slice.end; ++i) {
    const Experiment& experiment = manifest.experiments[static_cast<std::size_t>(i)];
    if (place.judged.contains({experiment.id, experiment.attempt})) continue;
    const auto lane = std::min_element(idle_from.begin(), idle_from.end());
    const auto number = static_cast<int>(lane - idle_from.begin());
    const RunPlace here{lane_nodes(manifest, place, number), number, *lane};
    const auto longest =
        std::chrono::milliseconds(std::llround(experiment.limits.total_s * 1000.0));
    const bool in_time = !place.ends_by || *lane + longest <= *place.ends_by;
    verdicts_.push_back(in_time ? surface.run(experiment, here) : not_started(experiment, here));
    *lane = verdicts_.back().ended;
  }
  std::stable_sort(verdicts_.begin(), verdicts_.end(),
                   [](const Verdict& a, const Verdict& b) { return a.ended < b.ended; });
  ended_ = *std::max_element(idle_from.begin(), idle_from.end());
}

TaskEnd SimulatedTask::end_line(Instant at, std::string reason) const {
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(at - start_.at).count();
  return {.at = at, .reason = std::move(reason), .node_seconds = seconds * start_.allocated_nodes};
}

std::vector<ShardLine> SimulatedTask::shard(JobState state, Instant at) const {
  std::vector<ShardLine> lines{start_};
  if (state == JobState::completed) {
    lines.insert(lines.end(), verdicts_.begin(), verdicts_.end());
    lines.emplace_back(end_line(at, "done"));
    return lines;
  }
  for (const Verdict& verdict : verdicts_) {
    if (verdict.ended <= at) lines.emplace_back(verdict);
  }
  if (state == JobState::node_failed || state == JobState::failed) return lines;
  for (const Verdict& verdict : verdicts_) {
    if (verdict.ended <= at || verdict.started > at) continue;
    Verdict cut = verdict;
    cut.outcome = Outcome::preempted;
    cut.reason = std::string(name_of(state));
    cut.evidence.reset();
    cut.ended = at;
    cut.wall_s = std::chrono::duration<double>(at - verdict.started).count();
    cut.steps = {};
    cut.metrics = {};
    lines.emplace_back(std::move(cut));
  }
  const bool out_of_time = state == JobState::timed_out;
  lines.emplace_back(end_line(at, out_of_time ? "no_time" : std::string(name_of(state))));
  return lines;
}

Expected<std::string> render_shard(const std::vector<ShardLine>& lines) {
  std::string text;
  for (const ShardLine& line : lines) {
    SLURMTUNE_TRY(const std::string rendered, render_shard_line(line));
    text += rendered + "\n";
  }
  return text;
}

}  // namespace slurmtune
