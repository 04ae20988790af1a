// SPDX-License-Identifier: MIT
#include "slurmtune/runner/lane/lane_trial.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <string>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "slurmtune/runner/judge/failure_rules.hpp"
#include "slurmtune/runner/judge/launch_report.hpp"

namespace slurmtune {

namespace {

constexpr double grace_s = 5.0;
constexpr double remote_grace_s = 5.0;  ///< for srun to kill its ranks on other nodes
/// A rank failed while others run: when its last words have surely come.
constexpr double last_words_s = 0.5;
constexpr double last_words_max_s = 3.0;
constexpr double drain_s = 1.0;  ///< for output that is still under way
/// Keepers give up after 10 seconds; a node that says nothing by then is lost.
constexpr double killing_max_s = 15.0;
constexpr double settle_s = 0.5;
constexpr double flush_every_s = 2.0;
constexpr int exit_of_signal = 128;

}  // namespace

LaneTrial::LaneTrial(TrialRun run, Commander command, TrialLog log, Descriptor metrics)
    : run_(std::move(run)),
      command_(std::move(command)),
      watch_(run_.rules),
      log_(std::move(log)),
      metrics_(std::move(metrics)),
      nodes_(run_.nodes.size()) {}

Expected<LaneTrial> LaneTrial::begin(TrialRun run, Commander command) {
  SLURMTUNE_TRY(TrialLog log, TrialLog::create(run.log));
  SLURMTUNE_TRY(Descriptor metrics, open_file(run.metrics.string(), O_RDONLY | O_CREAT | O_TRUNC));
  LaneTrial trial(std::move(run), std::move(command), std::move(log), std::move(metrics));
  trial.start_processes();
  return trial;
}

void LaneTrial::start_processes() {
  tell_all({"begin"});
  for (const PlacedProcess& placed : run_.launch.processes) {
    Node& node = nodes_[placed.node];
    node.processes.push_back({placed.rank, std::nullopt});
    node.outputs.push_back({placed.rank, {}, true});
  }
  if (run_.launch.rank_outputs > 0) {
    Node& node = nodes_.front();
    command_(0, {"outputs", std::to_string(node.processes.size()),
                 std::to_string(run_.launch.rank_outputs)});
    for (int rank = 0; rank < run_.launch.rank_outputs; ++rank) {
      node.outputs.push_back({rank, {}, true});
    }
  }
  std::vector<int> next(nodes_.size(), 0);
  for (const PlacedProcess& placed : run_.launch.processes) {
    ProcessSpec spec{placed.argv, run_.environment, run_.workdir, run_.launch.remote, run_.cpus};
    for (const auto& [name, value] : placed.environment) spec.environment[name] = value;
    Words words{"start", std::to_string(next[placed.node]++)};
    append_list(words, run_.node_variables);
    for (std::string& word : to_words(spec)) words.push_back(std::move(word));
    command_(placed.node, words);
  }
}

double LaneTrial::now_s() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
}

void LaneTrial::enter(Phase phase) {
  phase_ = phase;
  phase_since_s_ = now_s();
}

void LaneTrial::tell_all(const Words& command) {
  for (std::size_t node = 0; node < nodes_.size(); ++node) {
    if (!nodes_[node].is_gone) command_(node, command);
  }
}

Expected<void> LaneTrial::take_line(const Output& output, std::string_view raw) {
  const double arrival_s = now_s();
  OutputLine line = strip_prefix(raw);
  if (output.rank) line.rank = output.rank;
  if (still_measures()) watch_.output_line(line.text, arrival_s);
  recent_.add(line.text, line.rank, watch_.meter().steps_seen());
  last_line_s_ = arrival_s;
  if (!output.rank && !rank_failed_s_ && is_launcher_line(line.text)) {
    const std::array<std::string, 1> alone{std::string(line.text)};
    const RankFailure failure = read_launch_report(alone);
    if (failure.rank && (failure.exit_code || failure.signal)) rank_failed_s_ = arrival_s;
  }
  if (output.rank) SLURMTUNE_CHECK(log_.add(fmt::format("{}: ", *output.rank)));
  SLURMTUNE_CHECK(log_.add(raw));
  return log_.add("\n");
}

Expected<void> LaneTrial::take_output(Output& output, const std::string& bytes) {
  read_metrics();  // the steps that were told before this was written
  Expected<void> done;
  output.lines.add(bytes, [&](std::string_view raw) {
    if (done) done = take_line(output, raw);
  });
  return done;
}

Expected<void> LaneTrial::finish_output(Output& output) {
  Expected<void> done;
  output.is_open = false;
  output.lines.finish([&](std::string_view raw) { done = take_line(output, raw); });
  return done;
}

void LaneTrial::take_end(std::size_t node, Process& process, const ProcessEnd& end) {
  process.end = end;
  peak_process_bytes_ = std::max(peak_process_bytes_, end.peak_bytes);
  if (!process.rank || !end.failed() || phase_ != Phase::running || first_failure_) return;
  first_failure_ = RankFailure{process.rank, run_.nodes[node], end.exit_code, end.signal};
  rank_failed_s_ = now_s();
}

Expected<void> LaneTrial::on_event(std::size_t node, const NodeEvent& event) {
  Node& place = nodes_[node];
  const auto index = static_cast<std::size_t>(event.index);
  switch (event.kind) {
    case NodeEvent::Kind::output:
      if (index < place.outputs.size()) return take_output(place.outputs[index], event.text);
      break;
    case NodeEvent::Kind::output_ended:
      if (index < place.outputs.size()) return finish_output(place.outputs[index]);
      break;
    case NodeEvent::Kind::ended:
      if (index < place.processes.size()) take_end(node, place.processes[index], event.end);
      break;
    case NodeEvent::Kind::start_failed:
      if (!not_started_) not_started_ = event.text;
      SLURMTUNE_CHECK(log_.add(event.text + "\n"));
      if (phase_ == Phase::running) end_by_force();
      break;
    case NodeEvent::Kind::gone:
    case NodeEvent::Kind::stuck:
      // A keeper that was killed takes its processes with it, and tells of none.
      for (Process& process : place.processes) {
        if (!process.end) take_end(node, process, ProcessEnd{std::nullopt, SIGKILL, 0});
      }
      place.is_gone = true;
      if (auto usage = parse_usage(event.text)) usages_.push_back(*std::move(usage));
      oom_killed_ = oom_killed_ || event.oom_kills > 0;
      break;
  }
  return {};
}

void LaneTrial::read_metrics() {
  constexpr int reads_max = 64;
  std::array<char, 65'536> buffer;
  for (int i = 0; i < reads_max; ++i) {
    const ssize_t count = ::read(metrics_.get(), buffer.data(), buffer.size());
    if (count <= 0) break;
    const double arrival_s = now_s();
    metrics_lines_.add(std::string_view(buffer.data(), static_cast<std::size_t>(count)),
                       [&](std::string_view line) {
                         if (still_measures()) watch_.metrics_line(line, arrival_s);
                       });
  }
}

bool LaneTrial::still_measures() const {
  return phase_ == Phase::running || phase_ == Phase::draining;
}

bool LaneTrial::all_ended() const {
  return std::all_of(nodes_.begin(), nodes_.end(), [](const Node& node) {
    return node.is_gone ||
           std::all_of(node.processes.begin(), node.processes.end(),
                       [](const Process& process) { return process.end.has_value(); });
  });
}

bool LaneTrial::all_outputs_ended() const {
  return std::all_of(nodes_.begin(), nodes_.end(), [](const Node& node) {
    return node.is_gone || std::none_of(node.outputs.begin(), node.outputs.end(),
                                        [](const Output& output) { return output.is_open; });
  });
}

bool LaneTrial::all_gone() const {
  return std::all_of(nodes_.begin(), nodes_.end(), [](const Node& node) { return node.is_gone; });
}

bool LaneTrial::last_words_are_over() const {
  if (!rank_failed_s_) return false;
  const double now = now_s();
  const bool is_quiet = now - *rank_failed_s_ >= last_words_s && now - last_line_s_ >= last_words_s;
  return is_quiet || now - *rank_failed_s_ >= last_words_max_s;
}

/// Until the trial ends by itself or has to end.
Expected<void> LaneTrial::follow(std::optional<EndReason> stop) {
  const double now = now_s();
  if (now - flushed_s_ > flush_every_s) {
    SLURMTUNE_CHECK(log_.flush());
    flushed_s_ = now;
  }
  if (all_ended()) {
    enter(Phase::draining);
    return {};
  }
  if (!last_words_are_over()) {
    ended_by_us_ = stop;
    if (!ended_by_us_ && !rank_failed_s_) ended_by_us_ = watch_.due(now);
    if (!ended_by_us_) return {};
  }
  tell_all({"signal", std::to_string(SIGTERM)});
  enter(Phase::terminating);
  return {};
}

void LaneTrial::end_by_force() {
  tell_all({"kill"});
  enter(Phase::killing);
}

/// Slurm tells all processes of a task at once: the trial may hear of its end before we do.
void LaneTrial::settle(std::optional<EndReason> stop) {
  const ProcessEnd end = end_of_trial();
  const bool may_be_told =
      !ended_by_us_ && (end.signal == SIGTERM || end.exit_code == exit_of_signal + SIGTERM);
  if (stop && !ended_by_us_ && end.failed()) ended_by_us_ = stop;
  if (may_be_told && !stop && now_s() - phase_since_s_ < settle_s) return;
  enter(Phase::done);
}

Expected<void> LaneTrial::go_on(std::optional<EndReason> stop) {
  read_metrics();
  if (phase_ == Phase::running) SLURMTUNE_CHECK(follow(stop));
  const double lasted = now_s() - phase_since_s_;
  switch (phase_) {
    case Phase::running: break;
    case Phase::terminating:
      if (all_ended()) {
        end_by_force();
      } else if (lasted >= grace_s && run_.launch.remote == RemoteEnding::interrupt) {
        tell_all({"signal-leaders", std::to_string(SIGINT)});
        enter(Phase::interrupting);
      } else if (lasted >= grace_s) {
        end_by_force();
      }
      break;
    case Phase::interrupting:
      if (all_ended() || lasted >= remote_grace_s) end_by_force();
      break;
    case Phase::draining:
      if (all_outputs_ended() || lasted >= drain_s) end_by_force();
      break;
    case Phase::killing:
      if (all_gone() || lasted >= killing_max_s) enter(Phase::settling);
      break;
    case Phase::settling:
    case Phase::done: break;
  }
  if (phase_ == Phase::settling) settle(stop);
  return {};
}

ProcessEnd LaneTrial::end_of_trial() const {
  ProcessEnd last;
  last.exit_code = 0;
  for (const Node& node : nodes_) {
    for (const Process& process : node.processes) {
      // A node that does not answer any more has told of no end.
      const ProcessEnd end = process.end.value_or(ProcessEnd{std::nullopt, SIGKILL, 0});
      if (!last.failed() && end.failed()) last = end;
    }
  }
  if (first_failure_) {
    last.exit_code = first_failure_->exit_code;
    last.signal = first_failure_->signal;
  }
  return last;
}

TrialEnd LaneTrial::trial_end(const NodeUsage& usage) const {
  const StepMeter& meter = watch_.meter();
  const StepSummary summary = meter.summary();
  TrialEnd end;
  end.not_started = not_started_;
  end.ended_by_us = ended_by_us_;
  const ProcessEnd process = end_of_trial();
  end.exit_code = process.exit_code;
  end.signal = process.signal;
  end.first_failure = first_failure_;
  end.rank_failed = rank_failed_s_.has_value();
  end.peak_host_fraction = usage.memory_limit_fraction;
  end.out_of_memory_kill = oom_killed_;
  end.steps_seen = meter.steps_seen();
  end.measured_steps = summary.times.measured;
  end.has_interval = summary.step_s.has_value();
  end.last_loss_is_bad = meter.last_loss_is_bad();
  end.min_steps = run_.rules.min_steps;
  end.lines = recent_.texts();
  end.line_ranks = recent_.ranks();
  return end;
}

void LaneTrial::blame_silent_node(Classified& verdict) const {
  // A speed, too, means little if one of the nodes was lost on the way.
  if (!rule_of(verdict.outcome).counts_as_tried) return;
  for (std::size_t node = 0; node < nodes_.size(); ++node) {
    if (nodes_[node].is_gone) continue;
    verdict = {Outcome::node_failure, "node_silent", Evidence{}};
    verdict.evidence->node = run_.nodes[node];
    verdict.evidence->line =
        fmt::format("{} has not said for {:.0f} s that the trial's processes are gone",
                    run_.nodes[node], killing_max_s);
    return;
  }
}

Expected<TrialResult> LaneTrial::result() {
  TrialResult result;
  result.wall_s = now_s();
  for (Node& node : nodes_) {
    for (Output& output : node.outputs) {
      if (output.is_open) SLURMTUNE_CHECK(finish_output(output));
    }
  }
  result.usage = usage_over_nodes(usages_);
  // What a short trial used may have been missed between two looks; its end tells of one process.
  result.usage.peak_host_bytes =
      std::max(result.usage.peak_host_bytes.value_or(0.0), peak_process_bytes_);
  result.verdict = classify(trial_end(result.usage));
  blame_silent_node(result.verdict);
  result.meter = watch_.meter();
  result.startup_s = result.meter.first_step_at().value_or(result.wall_s);
  const bool failed = result.verdict.outcome != Outcome::ok;
  SLURMTUNE_CHECK(log_.close(failed ? KeepLog::whole : run_.keep_log));
  return result;
}

}  // namespace slurmtune
