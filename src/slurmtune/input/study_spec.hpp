// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "slurmtune/base/time_window.hpp"
#include "slurmtune/record/configuration.hpp"

namespace slurmtune {

enum class StudyMode { tune, run };
/// automatic: srun under Slurm, mpirun where the runner is an MPI process by itself.
enum class Launcher { automatic, torch, srun, mpirun, command };
enum class SubmitMode { automatic, graph, step, one_job, allocation, scripts, local };
enum class ParameterType { integer, real, ordinal, categorical, boolean };
enum class Scale { linear, log };
enum class Direction { maximize, minimize };
enum class MeasureSource { deepspeed, hf, megatron, nanotron, torchtitan, metrics_file, pattern };
/// What becomes of a plan whose worst case is above the budget: what can be left out is, or nothing
/// is submitted.
enum class OverBudget { trim, refuse };
enum class StrategyKind { automatic, deepspeed, grid, random, halving, model };

/// How ONE experiment runs: [trial].
struct TrialSpec {
  int nodes = 1;
  int processes_per_node = 1;
  Launcher launcher = Launcher::automatic;
  std::vector<std::string> command;     ///< argv with placeholders (formats.md, section 7)
  std::vector<std::string> trial_args;  ///< after the command, in experiments only
  std::string workdir = ".";            ///< relative to the directory of study.toml
  int workdir_line = 1;                 ///< for messages that come later
  std::vector<std::string> setup;       ///< shell lines, sourced once a task
  std::map<std::string, std::string> env;
  std::vector<std::string> container;  ///< argv prefix
  std::vector<std::string> snapshot;   ///< globs below workdir, frozen into the study
  std::vector<std::string> dry_start;  ///< arguments with which the command only tells what it read
};

/// [parallel]: how many ranks share a model, a layer pipeline, a sequence. What is left of the
/// ranks is data-parallel.
struct ParallelSpec {
  std::int64_t tensor = 1;
  std::int64_t pipeline = 1;
  std::int64_t sequence = 1;

  [[nodiscard]] std::int64_t product() const { return tensor * pipeline * sequence; }
};

/// A DeepSpeed study: [deepspeed] and the "autotuning" section of its config, merged.
struct DeepSpeedSpec {
  std::string config_path;         ///< as written in study.toml
  std::string config_json;         ///< the user's ds_config, canonical JSON, without "autotuning"
  std::string resolved_json;       ///< the same with every "auto" that the trainer would fill in
  bool hugging_face = false;       ///< the command is one of the Hugging Face Trainer
  bool fast = true;                ///< stop before the knobs
  std::vector<int> zero_stages;    ///< sorted, each 0 to 3; never empty
  bool zero_stages_given = false;  ///< by study.toml or by the config: then they are law
  std::map<std::string, std::string> arg_mappings;  ///< ds key -> script flag, both trimmed

  // The user's own values, which the baseline has: from the config, else (an "auto" with a mapped
  // flag) from trial.command, else by DeepSpeed's batch arithmetic.
  int zero_stage = 0;
  std::int64_t micro_batch = 1;
  std::int64_t gradient_accumulation = 1;
};

/// [batch]. The global batch is micro_batch x gradient_accumulation x data-parallel ranks.
struct BatchSpec {
  std::optional<std::int64_t> global;       ///< constant; absent = free
  std::optional<std::int64_t> max_global;   ///< free only: the largest multiple under it is used
  std::vector<std::int64_t> micro_batches;  ///< exactly these; empty = "auto"
  std::int64_t micro_batch_cap = 1024;      ///< for "auto"; max_train_micro_batch_size_per_gpu
  std::int64_t micro_batch_floor = 1;       ///< for "auto"; min_train_micro_batch_size_per_gpu
  std::string where;  ///< `path:line` of what gave `global` or `max_global`; "" = neither
};

/// [model]; absent values are profiled.
struct ModelSpec {
  std::optional<double> params;
  std::optional<double> trainable_params;  ///< absent = all
  std::optional<double> hidden;
  std::optional<double> layers;
  std::optional<double> heads;
  std::optional<double> kv_heads;      ///< grouped-query attention; absent = heads
  std::optional<double> intermediate;  ///< width of the MLP
  std::optional<double> vocabulary;
  std::optional<double> sequence_length;  ///< tokens of a sample
  std::optional<bool> gated_mlp;          ///< three matrices, not two; absent = by its figures
};

/// One [[parameter]].
struct ParameterSpec {
  std::string name;
  ParameterType type = ParameterType::integer;
  std::vector<Value> values;  ///< given ones; empty if `low` and `high` are
  std::optional<double> low;
  std::optional<double> high;
  Scale scale = Scale::linear;
  std::string role;    ///< "" = none
  std::string when;    ///< expression, "" = always
  std::string target;  ///< `json:PATH`, `arg:--flag`, `env:NAME`, `file:PATH#{placeholder}`, "" =
                       ///< only `{p:NAME}`
  int line = 0;        ///< in study.toml
  int when_line = 0;   ///< of `when`
};

/// An expression that must hold, and the line it stands on.
struct ConstraintSpec {
  std::string expression;
  int line = 0;
};

struct ObjectiveSpec {
  Direction direction = Direction::maximize;
  std::string metric = "throughput";  ///< metric name or expression over metrics
  int line = 1;                       ///< of the metric, for messages that come later
  std::vector<ConstraintSpec> subject_to;
};

struct MeasureSpec {
  MeasureSource source = MeasureSource::metrics_file;
  std::string pattern;  ///< regular expression with named groups, for `pattern` only
  int min_steps = 8;
  int max_steps = 40;
  double interval = 0.04;  ///< wanted relative width of the 95 % interval of step_s
  double startup_s = 900.0;
  double stall_s = 180.0;
  double total_s = 0.0;  ///< 0 = derived from the others by the planner
  int limit_line = 0;    ///< of what bounds an experiment, for messages; 0 = nothing is written
};

struct SearchSpec {
  StrategyKind strategy = StrategyKind::automatic;
  int rounds = 4;
  int width = 8;
  double stop_gain = 0.01;
  std::int64_t knob_experiments = 50;  ///< of the knobs stage, at most (tuner_num_trials)
  std::int64_t knob_patience = 0;      ///< ends it after so many without a new best; 0 = never
};

struct BudgetSpec {
  std::optional<double> max_node_hours;
  std::optional<double> max_gpu_hours;
  std::optional<std::int64_t> max_experiments;
  std::optional<int> max_concurrent_nodes;
  std::string finish_by;             ///< as written: `07:30` or RFC 3339; "" = none
  int finish_by_line = 1;            ///< for messages that come later
  std::optional<DailyHours> window;  ///< on the clock of the submitting host
  int window_line = 1;
  OverBudget if_over = OverBudget::trim;
  // For messages that come later; 0 = not written.
  int max_node_hours_line = 0;
  int max_gpu_hours_line = 0;
  int max_experiments_line = 0;
  int max_concurrent_nodes_line = 0;
};

/// [training]: the user's own training, launched with the winner where mode is `run`.
struct TrainingSpec {
  std::optional<std::int64_t> walltime_s;  ///< absent = the longest of the site
  int line = 1;                            ///< for messages that come later
};

/// A validated study.toml, merged with the ds_config beside it. Every field is within its bounds;
/// what contradicts itself was refused. [slurm] is merged into the Site (site.hpp).
struct StudySpec {
  std::string path = "study.toml";  ///< for messages that come later
  std::string name;
  StudyMode mode = StudyMode::tune;
  std::uint64_t seed = 1;
  TrialSpec trial;
  std::optional<DeepSpeedSpec> deepspeed;  ///< absent = a generic study
  ParallelSpec parallel;
  BatchSpec batch;
  ModelSpec model;
  std::vector<ParameterSpec> parameters;
  std::vector<ConstraintSpec> constraints;
  ObjectiveSpec objective;
  MeasureSpec measure;
  SearchSpec search;
  BudgetSpec budget;
  TrainingSpec training;
  SubmitMode submit = SubmitMode::automatic;
  int lanes = 1;                   ///< experiments that a task runs at once
  int lanes_per_node = 1;          ///< more than 1 only where a trial takes one node
  std::vector<std::string> notes;  ///< what was merged or assumed, one sentence each, to be shown

  /// `study.toml:12`, for messages; the path alone where `line` is 0.
  [[nodiscard]] std::string where(int line) const {
    return line > 0 ? path + ":" + std::to_string(line) : path;
  }
  /// Ranks of one experiment.
  [[nodiscard]] std::int64_t ranks() const {
    return std::int64_t{trial.nodes} * trial.processes_per_node;
  }
  /// Ranks that work on different samples: the batch is divided among them.
  [[nodiscard]] std::int64_t data_parallel() const { return ranks() / parallel.product(); }
  /// Ranks that ZeRO shards over: those of one sequence hold the same model, and share it too.
  /// Source: DeepSpeed's engine gives its ZeRO optimizers the sequence-data-parallel group.
  [[nodiscard]] std::int64_t sharding_ranks() const {
    return ranks() / (parallel.tensor * parallel.pipeline);
  }
  /// Nodes that an array task holds.
  [[nodiscard]] int nodes_per_task() const {
    return (lanes * trial.nodes + lanes_per_node - 1) / lanes_per_node;
  }
};

}  // namespace slurmtune
