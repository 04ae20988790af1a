// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "slurmtune/base/error.hpp"
#include "slurmtune/input/study_spec.hpp"
#include "slurmtune/record/experiment.hpp"
#include "slurmtune/runner/measure/step_meter.hpp"
#include "slurmtune/runner/measure/step_pattern.hpp"

namespace slurmtune {

/// Why the runner ended a trial. The first four are what a trial is for.
enum class EndReason {
  interval_reached,
  max_steps,
  long_enough,  ///< more steps would cost more than they tell: WatchRules::timed_for_starts
  cannot_win,   ///< even the upper end of its interval is below the incumbent's lower end
  nan,
  no_step_in_startup,
  no_step_in_stall,
  total,
  preempted,       ///< the task was told to end (SIGTERM, SIGUSR1), or its time is over
  cancelled,       ///< SIGINT
  overflow_storm,  ///< loss scaling skips every step
};

[[nodiscard]] std::string_view name_of(EndReason reason);

/// What a trial is watched for.
struct WatchRules {
  MeasureSource source = MeasureSource::metrics_file;
  std::optional<StepPattern> pattern;  ///< with `pattern` only
  int min_steps = 8;
  int max_steps = 40;
  double interval = 0.01;  ///< wanted relative width of step_s
  /// Steps are timed for so many times as long as the trial took to its first step, 5 s at least;
  /// absent = as long as the other rules let it.
  std::optional<double> timed_for_starts;
  TrialLimits limits;
  /// Seconds a step above which the trial cannot win; absent = never ended for that.
  std::optional<double> hopeless_step_s;
  std::optional<double> ends_by_s;  ///< when the task's own time is over, since the trial's start
};

/// Errors: invalid_input if the study's pattern is broken.
[[nodiscard]] Expected<WatchRules> watch_rules(const MeasureSpec& measure,
                                               const Experiment& experiment);

/// Follows one trial by what it writes and by the clock that is passed in; decides when it has to
/// end. Times are monotonic seconds since the trial's start.
class TrialWatch {
 public:
  explicit TrialWatch(WatchRules rules) : rules_(std::move(rules)) {}

  /// A line of the trial's output, without launcher prefixes; true if a step ended by it.
  bool output_line(std::string_view line, double now_s);
  /// A line of SLURMTUNE_METRICS.
  void metrics_line(std::string_view line, double now_s);

  /// Whether the trial has to end now, and why.
  [[nodiscard]] std::optional<EndReason> due(double now_s) const;

  [[nodiscard]] const StepMeter& meter() const { return meter_; }
  [[nodiscard]] const WatchRules& rules() const { return rules_; }

 private:
  void add(const StepReport& report, StepChannel channel, double now_s);
  [[nodiscard]] std::optional<StepReport> parse(std::string_view line);
  [[nodiscard]] std::optional<EndReason> measured_enough(double now_s) const;

  WatchRules rules_;
  StepMeter meter_;
  std::optional<std::int64_t> steps_in_all_;  ///< of the training's progress bar
  std::optional<EndReason> enough_;           ///< kept: computed once a step, asked for often
};

}  // namespace slurmtune
