// SPDX-License-Identifier: MIT
#include "slurmtune/runner/lane/dispatcher.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <utility>

#include <fmt/format.h>

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

Dispatcher::Dispatcher(const TrialFrame& frame, std::vector<Experiment> open, int lanes,
                       ShardWriter& shard, PacketLink& link)
    : frame_(frame),
      open_(open.begin(), open.end()),
      lanes_running_(lanes),
      shard_(shard),
      link_(link),
      last_beat_(wall_clock()) {}

void Dispatcher::write(const Expected<void>& written) {
  if (written || failure_) return;
  failure_ = written.error();
  reason_ = "storage_error";
}

bool Dispatcher::has_time_for(const Experiment& experiment) const {
  const auto left_s = trial_seconds_left(frame_.setting, wall_clock());
  return !left_s || *left_s >= likely_trial_s(experiment, longest_trial_s_);
}

void Dispatcher::drop_the_rest(std::string reason) {
  if (reason_ == "done") reason_ = std::move(reason);
  for (const Experiment& experiment : std::exchange(open_, {})) {
    write(shard_.write(verdict_without_trial(frame_, experiment, Outcome::not_started, "no_time",
                                             "", wall_clock())));
    say(fmt::format("{} not_started no_time", experiment.id.text));
  }
}

void Dispatcher::next(int lane, int leader) {
  if (!open_.empty() && !has_time_for(open_.front())) drop_the_rest("no_time");
  if (open_.empty() || failure_) {
    --lanes_running_;
    return;
  }
  const Experiment experiment = std::move(open_.front());
  open_.pop_front();
  link_.send(leader,
             {"run", std::to_string(lane), experiment.id.text, std::to_string(experiment.attempt)});
}

void Dispatcher::verdict(WordReader& words) {
  const auto outcome = static_cast<Outcome>(words.integer());
  const double wall_s = words.real();
  const std::string summary = words.text();
  const std::string line = words.text();
  say(fmt::format("{} ({:.1f} s)", summary, wall_s));
  write(shard_.write_rendered(words.text()));
  longest_trial_s_ = std::max(longest_trial_s_.value_or(0.0), wall_s);
  if (outcome == Outcome::preempted) drop_the_rest("preempted");
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
