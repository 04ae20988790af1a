// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "slurmtune/base/error.hpp"
#include "slurmtune/input/study_spec.hpp"
#include "slurmtune/record/configuration.hpp"
#include "slurmtune/space/expression.hpp"

namespace slurmtune {

/// The bounds of a parameter that has no list of values; both belong to it.
struct ParameterRange {
  double low = 0.0;
  double high = 0.0;
  Scale scale = Scale::linear;

  bool operator==(const ParameterRange&) const = default;
};

/// One thing that varies.
struct Parameter {
  std::string name;
  ParameterType type = ParameterType::integer;
  std::vector<Value> choices;           ///< in the given order; empty if `range` is there
  std::optional<ParameterRange> range;  ///< integer and real only
  std::optional<Expression> when;       ///< absent = always; where it is false, there is no value
  std::string role;                     ///< "" = none
  std::string target;                   ///< as in ParameterSpec
  int line = 0;                         ///< in study.toml; 0 = ours (zero_stage, micro_batch, …)

  /// Whether `value` is of the type and one of the choices, or within the range.
  [[nodiscard]] bool admits(const Value& value) const;
};

/// All that may vary, and what must hold.
///
/// A DeepSpeed study has zero_stage, micro_batch and gradient_accumulation before its own
/// [[parameter]]s; gradient_accumulation is never free but follows from the batch rule:
///
/// - a constant global batch G (batch.global, or train_batch_size): only micro-batches with
///   G % (micro_batch * ranks) == 0; gradient_accumulation = G / (micro_batch * ranks), where ranks
///   are the data-parallel ones;
/// - free, with max_global: the same with one G for all candidates, the largest multiple of the
///   ranks, and of every listed micro-batch times the ranks, that is not above max_global;
/// - free, without: gradient_accumulation stays the user's (DeepSpeedSpec::gradient_accumulation).
///
/// Expressions see every parameter that has a value, and nodes, processes_per_node, processes,
/// data_parallel (processes / [parallel]) and global_batch (G; if free, what the configuration
/// makes).
class Space {
 public:
  /// Of study.toml, for messages.
  [[nodiscard]] const std::string& path() const { return path_; }

  /// Every parameter in the order of enumeration: ours first, then as in study.toml.
  [[nodiscard]] const std::vector<Parameter>& parameters() const { return parameters_; }
  /// The parameter of that name, or null.
  [[nodiscard]] const Parameter* find(std::string_view name) const;

  /// The one global batch of all candidates, if there is one.
  [[nodiscard]] std::optional<std::int64_t> global_batch() const { return global_batch_; }

  /// Whether all values are admitted, conditional ones are there exactly when they should be, the
  /// batch rule and every constraint hold. Knobs (is_knob_name) are passed over where the study
  /// tunes them: which there are, KnobSpace knows. A constraint that speaks of a parameter that is
  /// not there says nothing; one that cannot be evaluated (a division by zero) does not hold.
  [[nodiscard]] bool contains(const Configuration& configuration) const;

  /// Every valid configuration, sorted by the order of the parameters and of their choices.
  /// Errors: invalid_input if there are more than `limit`, or a real range (not enumerable), or
  /// none at all: then the constraint or batch rule that removed the last ones is named by line.
  [[nodiscard]] Expected<std::vector<Configuration>> enumerate(std::size_t limit) const;

  /// The ZeRO stages, sorted; empty if the study is not a DeepSpeed study.
  [[nodiscard]] std::vector<int> zero_stages() const;

  /// The micro-batches that are open for a ZeRO stage, sorted: the batch rule and those constraints
  /// hold that speak of nothing but ZeRO stage and batch. Empty if not a DeepSpeed study.
  [[nodiscard]] std::vector<std::int64_t> micro_batches(int zero_stage) const;

  /// Makes a configuration of some values: what is missing is as in the baseline,
  /// gradient_accumulation follows the batch rule, conditional parameters that do not apply go.
  /// Does not check constraints or choices (`contains` does). Errors: invalid_input if a name is
  /// unknown or the batch rule has no accumulation for the micro-batch.
  [[nodiscard]] Expected<Configuration> complete(Values partial) const;

  /// The user's own configuration: always worth measuring, even if `contains` refuses it.
  [[nodiscard]] const Configuration& baseline() const { return baseline_; }

 private:
  friend class SpaceBuilder;
  friend class SpaceWalk;
  friend class SpaceRules;

  /// What expressions see without any parameter.
  [[nodiscard]] std::map<std::string, double> constants() const;
  /// Adds what a value makes visible.
  void see(const std::string& name, const Value& value,
           std::map<std::string, double>& variables) const;
  [[nodiscard]] bool is_accumulation(const Parameter& parameter) const;
  [[nodiscard]] std::optional<std::int64_t> accumulation_for(std::int64_t micro_batch) const;
  [[nodiscard]] std::string no_accumulation(std::int64_t micro_batch) const;

  std::string path_;  ///< of study.toml, for messages
  std::vector<Parameter> parameters_;
  std::vector<Expression> constraints_;
  Configuration baseline_;
  Values defaults_;  ///< the user's own value of every parameter, conditions aside
  std::optional<std::int64_t> global_batch_;
  std::string batch_where_;  ///< `path:line` of what fixed the global batch
  std::int64_t ranks_ = 1;
  std::int64_t data_parallel_ = 1;
  int nodes_ = 1;
  int processes_per_node_ = 1;
  bool deepspeed_ = false;
  bool has_knobs_ = false;  ///< a DeepSpeed study that is not fast
  std::int64_t user_accumulation_ = 1;
};

/// Errors: invalid_input, `study.toml:line: …`: an expression that does not parse or uses unknown
/// names, a name that expressions cannot use, a condition on a later parameter, a max_global that
/// is too small, a value of the config or command that its parameter cannot have.
[[nodiscard]] Expected<Space> make_space(const StudySpec& spec);

}  // namespace slurmtune
