// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "slurmtune/base/error.hpp"
#include "slurmtune/input/study_input.hpp"
#include "slurmtune/model/history.hpp"
#include "slurmtune/space/expression.hpp"

namespace slurmtune {

/// What a study maximizes or minimizes, turned into a score that is larger for the better.
///
/// To maximize: the score is the objective. To minimize: it is 1 / objective, so that a ratio of
/// scores is a speed-up in both cases. An objective that is not positive has no score.
///
/// Expressions see step_s, throughput, flops_per_gpu, peak_gpu_bytes, peak_host_bytes,
/// global_batch, params, gpu_bytes, startup_s, wall_s, whatever the trial reported besides, and
/// every parameter with its value. What was not measured has no name there.
class Objective {
 public:
  /// Errors: invalid_input, `study.toml:line: …`, if an expression does not parse.
  [[nodiscard]] static Expected<Objective> compile(const StudyInput& input);

  /// The score of a trial; absent unless it worked, the objective was measured and every
  /// `subject_to` holds.
  [[nodiscard]] std::optional<Interval> score(const Trial& trial) const;

  /// Why a trial that worked has no score: `peak_gpu_bytes <= 0.9 * gpu_bytes does not hold`.
  /// Empty if it has one, or did not work.
  [[nodiscard]] std::string why_unranked(const Trial& trial) const;

  /// A score as people read it: the throughput where the objective is throughput, the objective's
  /// own value where it is an expression.
  [[nodiscard]] Interval readable(const Interval& score) const;

  /// Whether the step-time model predicts it: throughput or step_s.
  [[nodiscard]] bool follows_step_time() const { return kind_ != Kind::other; }
  [[nodiscard]] bool is_throughput() const { return kind_ == Kind::throughput; }
  /// The score of a step of `step_s` seconds over `samples` samples. Needs follows_step_time().
  [[nodiscard]] double score_of_step(double step_s, double samples) const;
  /// `samples/s`, `steps/s`, or the expression.
  [[nodiscard]] const std::string& unit() const { return unit_; }

 private:
  enum class Kind { throughput, step_s, other };

  explicit Objective(Expression expression) : expression_(std::move(expression)) {}
  [[nodiscard]] std::optional<Interval> value(const Verdict& verdict, const Values& values) const;

  Expression expression_;
  std::vector<Expression> subject_to_;
  Direction direction_ = Direction::maximize;
  Kind kind_ = Kind::other;
  std::string unit_;
  std::optional<double> site_gpu_bytes_;
};

}  // namespace slurmtune
