// SPDX-License-Identifier: MIT
#include "slurmtune/runner/lane/dispatcher.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <utility>

#include <fmt/format.h>

#include "slurmtune/model/slow_nodes.hpp"
#include "slurmtune/runner/experiment_verdict.hpp"
#include "slurmtune/runner/task_loop.hpp"
#include "slurmtune/runner/wall_clock.hpp"

namespace slurmtune {

namespace {

constexpr std::chrono::seconds heartbeat_every{30};

void say(const std::string& text) {
  fmt::print("slurmtune-runner: {}\n", text);
  std::fflush(stdout);
}

}  // namespace

Dispatcher::Dispatcher(const TrialFrame& frame, std::vector<Experiment> open,
                       std::vector<LanePlace> places, ShardWriter& shard, PacketLink& link)
    : frame_(frame),
      open_(open.begin(), open.end()),
      places_(std::move(places)),
      shard_(shard),
      link_(link),
      lanes_running_(places_.size()),
      lane_ended_(places_.size(), false),
      last_beat_(wall_clock()) {}

void Dispatcher::write(const Expected<void>& written) {
  if (written || failure_) return;
  failure_ = written.error();
  reason_ = "storage_error";
}

void Dispatcher::write(const Verdict& verdict) {
  write(shard_.write(verdict));
  say(fmt::format("{} {} {}", verdict.experiment.text, name_of(verdict.outcome), verdict.reason));
}

bool Dispatcher::has_time_for(const Experiment& experiment) const {
  const auto left_s = trial_seconds_left(frame_.setting, wall_clock());
  return !left_s || *left_s >= likely_trial_s(experiment, longest_trial_s_);
}

void Dispatcher::drop_the_rest(std::string reason) {
  if (reason_ == "done") reason_ = std::move(reason);
  for (const Experiment& experiment : std::exchange(open_, {})) {
    write(verdict_without_trial(frame_, experiment, Outcome::not_started, "no_time", "",
                                wall_clock()));
  }
}

void Dispatcher::node(int rank, WordReader& words) {
  nodes_[rank] = read_node_report(words);
  if (static_cast<int>(nodes_.size()) == link_.size()) begin_lanes();
}

void Dispatcher::begin_lanes() {
  std::vector<NodeRecord> records;
  for (const auto& [rank, report] : nodes_) records.push_back(report.record);
  judge_nodes(records);
  for (std::size_t i = 0; i < records.size(); ++i) {
    write(shard_.write(records[i]));
    if (!records[i].slow.empty()) {
      say(fmt::format("node {} is slow: {}", records[i].facts.node, records[i].slow));
    }
    nodes_.at(static_cast<int>(i)).record = std::move(records[i]);
  }
  for (const auto& [rank, report] : nodes_) {
    if (!report.problem.empty()) say(report.problem);
  }
  for (const int lane : std::exchange(early_, {})) next(lane);
}

std::string Dispatcher::problem_of(int lane) const {
  for (const int rank : places_.at(static_cast<std::size_t>(lane)).ranks) {
    if (!nodes_.at(rank).problem.empty()) return nodes_.at(rank).problem;
  }
  return {};
}

bool Dispatcher::any_lane_fits() const {
  for (std::size_t lane = 0; lane < places_.size(); ++lane) {
    if (problem_of(static_cast<int>(lane)).empty()) return true;
  }
  return false;
}

void Dispatcher::give(int lane, const Experiment& experiment) {
  const LanePlace& place = places_.at(static_cast<std::size_t>(lane));
  Words words{"run", std::to_string(lane), experiment.id.text, std::to_string(experiment.attempt)};
  for (const int rank : place.ranks) {
    for (std::string& word : to_words(nodes_.at(rank))) words.push_back(std::move(word));
  }
  link_.send(place.ranks.front(), words);
}

bool Dispatcher::avoids(const Experiment& experiment, std::size_t lane) const {
  const auto avoided = avoided_.find(experiment.id);
  if (avoided == avoided_.end()) return false;
  const auto& ranks = places_.at(lane).ranks;
  return std::any_of(ranks.begin(), ranks.end(), [&](int rank) {
    return avoided->second.contains(nodes_.at(rank).record.facts.node);
  });
}

std::deque<Experiment>::iterator Dispatcher::choice_of(std::size_t lane) {
  const auto free = std::find_if(open_.begin(), open_.end(), [&](const Experiment& experiment) {
    return !avoids(experiment, lane);
  });
  if (free != open_.end()) return free;
  return std::find_if(open_.begin(), open_.end(), [&](const Experiment& experiment) {
    for (std::size_t other = 0; other < places_.size(); ++other) {
      const bool takes = other != lane && !lane_ended_[other] && !avoids(experiment, other) &&
                         problem_of(static_cast<int>(other)).empty();
      if (takes) return false;
    }
    return true;
  });
}

void Dispatcher::next(int lane) {
  if (static_cast<int>(nodes_.size()) < link_.size()) {
    early_.push_back(lane);
    return;
  }
  const std::string problem = problem_of(lane);
  // Lanes on nodes that fit do the work of one that does not.
  const bool others_can = !problem.empty() && any_lane_fits();
  while (!open_.empty() && !failure_ && !others_can) {
    if (!has_time_for(open_.front())) {
      drop_the_rest(std::string(frame_.setting.end_reason));
      break;
    }
    const auto chosen = choice_of(static_cast<std::size_t>(lane));
    if (chosen == open_.end()) break;
    const Experiment experiment = std::move(*chosen);
    open_.erase(chosen);
    if (problem.empty()) return give(lane, experiment);
    write(verdict_without_trial(frame_, experiment, Outcome::launch_error, "node", problem,
                                wall_clock()));
  }
  --lanes_running_;
  lane_ended_.at(static_cast<std::size_t>(lane)) = true;
}

void Dispatcher::verdict(WordReader& words) {
  const auto outcome = static_cast<Outcome>(words.integer());
  const double wall_s = words.real();
  const std::string summary = words.text();
  const std::string line = words.text();
  say(fmt::format("{} ({:.1f} s)", summary, wall_s));
  write(shard_.write_rendered(words.text()));
  longest_trial_s_ = std::max(longest_trial_s_.value_or(0.0), wall_s);
  if (outcome == Outcome::preempted) {
    const auto left_s = trial_seconds_left(frame_.setting, wall_clock());
    const bool time_is_over = left_s && *left_s <= 0.0;
    drop_the_rest(time_is_over ? std::string(frame_.setting.end_reason) : "preempted");
  }
  if (outcome == Outcome::cancelled) drop_the_rest("cancelled");
  if (outcome != Outcome::storage_error || failure_) return;
  failure_ = Error{ErrorKind::unavailable, "the file system failed under a trial: " + line};
  reason_ = "storage_error";
}

void Dispatcher::error(WordReader& words) {
  --lanes_running_;
  if (failure_) return;
  const auto kind = static_cast<ErrorKind>(words.integer());
  failure_ = Error{kind, words.text()};
  reason_ = "storage_error";
}

void Dispatcher::go_on(std::optional<EndReason> stop) {
  if (stop && !open_.empty()) drop_the_rest(std::string(name_of(*stop)));
  const Instant now = wall_clock();
  if (now - last_beat_ < heartbeat_every) return;
  last_beat_ = now;
  write(shard_.write(Heartbeat{now}));
}

Expected<void> Dispatcher::end() {
  const Instant now = wall_clock();
  TaskEnd task_end;
  task_end.at = now;
  task_end.reason = reason_;
  const auto lasted = std::chrono::ceil<std::chrono::seconds>(now - frame_.setting.started).count();
  task_end.node_seconds = lasted * frame_.setting.allocated_nodes;
  write(shard_.write(task_end));
  if (failure_) return tl::unexpected<Error>(*failure_);
  return {};
}

}  // namespace slurmtune
