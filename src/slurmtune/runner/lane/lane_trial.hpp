// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

#include "slurmtune/base/error.hpp"
#include "slurmtune/runner/judge/classify.hpp"
#include "slurmtune/runner/judge/launch_report.hpp"
#include "slurmtune/runner/judge/recent_lines.hpp"
#include "slurmtune/runner/line_splitter.hpp"
#include "slurmtune/runner/measure/trial_watch.hpp"
#include "slurmtune/runner/node/usage_meter.hpp"
#include "slurmtune/runner/start/launcher.hpp"
#include "slurmtune/runner/start/process_spec.hpp"
#include "slurmtune/runner/trial_log.hpp"

namespace slurmtune {

/// One trial, ready to run.
struct TrialRun {
  LaunchPlan launch;
  Environment environment;  ///< of every process
  /// Variables that differ from node to node: each node's own value counts there.
  std::vector<std::string> node_variables;
  std::string workdir;
  std::vector<int> cpus;           ///< that its processes may run on; empty = all
  std::vector<std::string> nodes;  ///< names, as LaunchPlan counts them
  WatchRules rules;
  std::filesystem::path log;
  std::filesystem::path metrics;     ///< SLURMTUNE_METRICS; made empty before the start
  KeepLog keep_log = KeepLog::tail;  ///< of a trial that goes well
};

/// What came of it.
struct TrialResult {
  Classified verdict;
  StepMeter meter;
  double startup_s = 0;  ///< to the first finished step, or to the end without one
  double wall_s = 0;     ///< to the end of the last process
  NodeUsage usage;       ///< over all its nodes, as far as they are watched
};

/// One trial of a lane, on the lane's leader: it has the processes started on all the lane's nodes,
/// follows their output and ends, ends the trial everywhere when it is time, and says how it
/// ended. Nothing of it waits: time passes between the calls. All processes have ended on all nodes
/// once it is done: a failing rank ends the trial, by SIGTERM, 5 seconds of grace, SIGKILL.
class LaneTrial {
 public:
  /// Sends a command to TrialHost of a node of the lane.
  using Commander = std::function<void(std::size_t node, const Words&)>;

  /// Starts it. Errors: unavailable if our own files cannot be written.
  [[nodiscard]] static Expected<LaneTrial> begin(TrialRun run, Commander command);

  /// Something happened on a node of the lane. Errors: unavailable (our own log).
  [[nodiscard]] Expected<void> on_event(std::size_t node, const NodeEvent& event);
  /// To be called every 50 ms or so, and after events; `stop` is what the task was told.
  [[nodiscard]] Expected<void> go_on(std::optional<EndReason> stop);

  [[nodiscard]] bool is_done() const { return phase_ == Phase::done; }
  /// How it ended; when it is done.
  [[nodiscard]] Expected<TrialResult> result();

 private:
  enum class Phase { running, terminating, interrupting, draining, killing, settling, done };

  /// An output of the trial: of a process that we started, or of a rank of a launcher.
  struct Output {
    std::optional<int> rank;
    LineSplitter lines;
    bool is_open = true;
  };
  struct Process {
    std::optional<int> rank;
    std::optional<ProcessEnd> end;
  };
  struct Node {
    std::vector<Process> processes;
    std::vector<Output> outputs;
    bool is_gone = false;
  };

  LaneTrial(TrialRun run, Commander command, TrialLog log, Descriptor metrics);
  void start_processes();
  [[nodiscard]] double now_s() const;
  void enter(Phase phase);
  void tell_all(const Words& command);
  Expected<void> take_output(Output& output, const std::string& bytes);
  Expected<void> finish_output(Output& output);
  Expected<void> take_line(const Output& output, std::string_view raw);
  void take_end(std::size_t node, Process& process, const ProcessEnd& end);
  void read_metrics();
  Expected<void> follow(std::optional<EndReason> stop);
  void end_by_force();
  void settle(std::optional<EndReason> stop);
  /// What a trial does after it was told to end is no measurement.
  [[nodiscard]] bool still_measures() const;
  [[nodiscard]] bool all_ended() const;
  [[nodiscard]] bool all_outputs_ended() const;
  [[nodiscard]] bool all_gone() const;
  /// A node that never said that its processes have gone is lost, and so is what was measured.
  void blame_silent_node(Classified& verdict) const;
  [[nodiscard]] bool last_words_are_over() const;
  [[nodiscard]] ProcessEnd end_of_trial() const;
  [[nodiscard]] TrialEnd trial_end(const NodeUsage& usage) const;

  TrialRun run_;
  Commander command_;
  TrialWatch watch_;
  TrialLog log_;
  Descriptor metrics_;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  Phase phase_ = Phase::running;
  double phase_since_s_ = 0;
  std::vector<Node> nodes_;
  RecentLines recent_;
  LineSplitter metrics_lines_;
  double flushed_s_ = 0;
  double last_line_s_ = 0;
  std::optional<double> rank_failed_s_;
  std::optional<RankFailure> first_failure_;  ///< of a rank that we started ourselves
  std::optional<std::string> not_started_;
  std::optional<EndReason> ended_by_us_;
  bool oom_killed_ = false;
  std::vector<NodeUsage> usages_;
  double peak_process_bytes_ = 0;
};

}  // namespace slurmtune
