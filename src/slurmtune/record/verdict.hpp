// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "slurmtune/base/instant.hpp"
#include "slurmtune/record/experiment.hpp"
#include "slurmtune/record/interval.hpp"
#include "slurmtune/record/node.hpp"
#include "slurmtune/record/outcome.hpp"

namespace slurmtune {

/// The fact that decided an outcome, in the trial's own words.
struct Evidence {
  std::optional<int> rank;  ///< of the trial, the first that failed
  std::string node;
  std::optional<int> exit_code;
  std::optional<int> signal;
  std::string log;   ///< path below the stage's directory
  std::string line;  ///< the line of output that tells the cause

  bool operator==(const Evidence&) const = default;
};

/// The steps of a trial, end to end, slowest rank.
struct StepTimes {
  int warmup = 0;
  int measured = 0;
  int skipped = 0;
  std::vector<double> step_s;  ///< seconds of each measured step, in order

  bool operator==(const StepTimes&) const = default;
};

/// What an experiment measured. Absent = not measured.
struct Metrics {
  std::optional<Interval> step_s;
  std::optional<Interval> throughput;  ///< samples/s over all ranks
  std::optional<double> flops_per_gpu;
  std::optional<double> peak_gpu_bytes;   ///< largest rank
  std::optional<double> peak_host_bytes;  ///< of all processes, on the node where it is largest
  std::optional<std::int64_t> global_batch;
  std::optional<double> params;        ///< of the model, if the trial told
  std::map<std::string, double> user;  ///< whatever else the trial reported, last value

  bool operator==(const Metrics&) const = default;
};

/// What an experiment ran on. Over several nodes: of the node that has or does least.
struct Hardware {
  std::string gpu{};
  std::optional<double> gpu_bytes{};  ///< memory that one rank may use
  std::string driver{};
  std::optional<double> host_bytes{};   ///< of one node, or its control group's limit
  std::optional<std::int64_t> cores{};  ///< that the trial may use on one node
  /// Matrix product in single precision: one GPU's, or one node's cores' where there is none.
  std::optional<double> matrix_flops{};
  std::optional<double> memory_bytes_per_s{};  ///< of the same
  std::vector<std::string> slow_nodes{};       ///< those that are slow against their peers

  bool operator==(const Hardware&) const = default;
};

/// The hardware of a trial on these nodes.
[[nodiscard]] Hardware hardware_of(std::span<const NodeRecord> nodes);

/// How one experiment ended: an outcome, metrics, where and when it ran.
struct Verdict {
  ExperimentId experiment;
  ConfigurationId configuration;
  int attempt = 0;
  Outcome outcome = Outcome::not_started;
  std::string reason;  ///< `interval_reached`, `max_steps`, `rule:…`, `no_time`, …
  std::optional<Evidence> evidence;
  int lane = 0;
  std::vector<std::string> nodes;
  Instant started;
  Instant ended;
  double startup_s = 0.0;
  double wall_s = 0.0;
  StepTimes steps;
  Metrics metrics;
  Hardware hardware;
  std::string source;  ///< what measured it: `deepspeed`, `metrics_file`, `pattern`
  std::string note;    ///< what was refused of what it reported; "" = nothing

  bool operator==(const Verdict&) const = default;
};

struct TaskStart {
  StudyId study;
  StageName stage;
  std::int64_t slice = 0;
  std::int64_t array_job = 0;
  std::int64_t task = 0;
  int restart = 0;
  std::vector<std::string> nodes;
  int allocated_nodes = 1;
  int gpus = 0;
  Instant at;
  std::optional<Instant> ends_by;
  std::string runner;  ///< version of slurmtune-runner

  bool operator==(const TaskStart&) const = default;
};

struct Heartbeat {
  Instant at;

  bool operator==(const Heartbeat&) const = default;
};

struct TaskEnd {
  Instant at;
  std::string reason;  ///< done, no_time, preempted, cancelled, storage_error, node_failure
  std::int64_t node_seconds = 0;

  bool operator==(const TaskEnd&) const = default;
};

/// A NodeRecord is what the task found on one of its nodes.
using ShardLine = std::variant<TaskStart, NodeRecord, Verdict, Heartbeat, TaskEnd>;

/// One line of a verdict shard, without the newline; canonical JSON.
[[nodiscard]] Expected<std::string> render_shard_line(const ShardLine& line);

/// The reason of a `not_started` that nobody wrote: its task ended without a word about it.
inline constexpr std::string_view lost_task = "lost_task";

/// The verdict as it can be written. One with a figure that JSON cannot hold (a throughput that
/// overflowed) loses its figures, so that it costs no other experiment; if it was `ok`, it becomes
/// `nan` with the reason `figure_out_of_range` and the figure's name as evidence.
[[nodiscard]] Verdict writable(Verdict verdict);

/// A verdict shard as it was found. A last line that is torn (its writer died) is left out.
struct Shard {
  TaskStart start;
  std::vector<NodeRecord> nodes;
  std::vector<Verdict> verdicts;
  std::optional<Heartbeat> last_heartbeat;
  std::optional<TaskEnd> end;

  bool operator==(const Shard&) const = default;
};

/// Errors: corrupt_data if a line before the last is not JSON, the first is not a task_start, or
/// the version is newer; unavailable if its first line is not whole yet. Lines of unknown `type`
/// are left out.
[[nodiscard]] Expected<Shard> parse_shard(std::string_view text, std::string_view where);

}  // namespace slurmtune
