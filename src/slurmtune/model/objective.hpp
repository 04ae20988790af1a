// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "slurmtune/base/error.hpp"
#include "slurmtune/input/study_input.hpp"
#include "slurmtune/model/history.hpp"
#include "slurmtune/space/expression.hpp"

namespace slurmtune {

/// What a verdict may hold of itself, apart from what a trial reports and from parameters.
inline constexpr std::array<std::string_view, 10> metric_names{
    "step_s",       "throughput", "flops_per_gpu", "peak_gpu_bytes", "peak_host_bytes",
    "global_batch", "params",     "gpu_bytes",     "startup_s",      "wall_s"};

/// What a study maximizes or minimizes, turned into a score that is larger for the better.
///
/// To maximize: the score is the objective. To minimize: it is 1 / objective, so that a ratio of
/// scores is a speed-up in both cases. An objective that is not positive, or not
/// comparable (statistics.hpp), has no score.
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

  /// Names that the objective and its conditions speak of and a trial that worked did not report,
  /// sorted.
  [[nodiscard]] std::vector<std::string> unreported(const Trial& trial) const;

  /// What the objective was in a trial that worked, whether or not that is a score.
  [[nodiscard]] std::optional<double> measured(const Verdict& verdict, const Values& values) const;

  /// A score as people read it: the objective's own value, smaller for the better if minimized.
  [[nodiscard]] Interval readable(const Interval& score) const;
  /// What stands over readable values: `samples/s` of throughput, else the expression.
  [[nodiscard]] const std::string& label() const { return label_; }
  /// `98.5 samples/s (95 % interval 98 to 99)`, `step_s = 0.25 s (95 % interval 0.24 to 0.26)`,
  /// `cost = 6 (95 % interval 5.9 to 6.1)`; of one value, without the interval.
  [[nodiscard]] std::string in_words(const Interval& readable) const;
  [[nodiscard]] std::string in_words(double readable) const;
  /// How a ratio of scores reads as a ratio of readable values: itself, or its inverse.
  [[nodiscard]] Interval readable_ratio(const Interval& ratio) const { return readable(ratio); }

  /// Whether the step-time model predicts it: throughput or step_s.
  [[nodiscard]] bool follows_step_time() const { return kind_ != Kind::other; }
  [[nodiscard]] bool is_throughput() const { return kind_ == Kind::throughput; }
  /// The score of a step of `step_s` seconds over `samples` samples. Needs follows_step_time().
  [[nodiscard]] double score_of_step(double step_s, double samples) const;
  /// Of such a score: `samples/s`, `steps/s`. Needs follows_step_time().
  [[nodiscard]] std::string_view score_unit() const {
    return kind_ == Kind::throughput ? "samples/s" : "steps/s";
  }

 private:
  enum class Kind { throughput, step_s, other };

  explicit Objective(Expression expression) : expression_(std::move(expression)) {}
  [[nodiscard]] std::optional<Interval> value(const Verdict& verdict, const Values& values) const;

  Expression expression_;
  std::vector<Expression> subject_to_;
  Direction direction_ = Direction::maximize;
  Kind kind_ = Kind::other;
  std::string label_;
  std::optional<double> site_gpu_bytes_;
};

}  // namespace slurmtune
