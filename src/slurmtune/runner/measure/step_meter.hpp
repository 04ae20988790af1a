// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "slurmtune/model/step_flops.hpp"
#include "slurmtune/record/interval.hpp"
#include "slurmtune/record/verdict.hpp"
#include "slurmtune/runner/measure/step_report.hpp"

namespace slurmtune {

/// Where a report came from. Once the metrics file tells of a step, step lines time nothing more.
enum class StepChannel { log, metrics };

/// Values of one name that cannot be.
struct Refused {
  int count = 0;
  double last = 0.0;

  bool operator==(const Refused&) const = default;
};

/// What the steps of a trial say so far.
struct StepSummary {
  StepTimes times;                 ///< one entry of step_s a reading; counts are steps
  std::optional<Interval> step_s;  ///< absent for fewer than 2 measured readings
  std::optional<double> samples;   ///< a step, over all ranks, if the trial told
};

/// Collects the steps of one trial and times them end to end.
///
/// A report without step_s is timed by its arrival: the time since the report before it, shared
/// among the steps between them (steps_per_print = 10 gives one reading of ten steps); the first
/// then starts the clock and counts as warm-up. Reports of a step that was told already (another
/// rank, DeepSpeed's second line) only raise step_s, so that the slowest rank counts.
/// Steps that loss scaling skipped are no optimizer steps: what held one is counted apart, and
/// times nothing. Neither does a report whose step_s cannot be (see StepReport::refused).
/// What is measured begins after the warm-up: at least two steps, see warmup.hpp.
class StepMeter {
 public:
  /// `arrival_s`: monotonic seconds, any origin, not falling.
  void add(const StepReport& report, StepChannel channel, double arrival_s);

  /// When steps ended; absent before the first. Seconds as in `add`.
  [[nodiscard]] std::optional<double> first_step_at() const { return first_at_; }
  [[nodiscard]] std::optional<double> last_step_at() const { return last_at_; }
  [[nodiscard]] int steps_seen() const { return seen_; }

  /// True once the last three losses were no numbers. A single one may be an overflow that loss
  /// scaling skips.
  [[nodiscard]] bool loss_is_gone() const { return bad_losses_ >= bad_losses_max; }
  /// True if the last loss was no number.
  [[nodiscard]] bool last_loss_is_bad() const { return bad_losses_ > 0; }

  /// True once more steps in a row were skipped than it takes to halve the largest initial loss
  /// scale in use (2^32) to 1: it will not recover.
  [[nodiscard]] bool only_overflows() const { return skipped_in_a_row_ >= skipped_in_a_row_max; }

  [[nodiscard]] StepSummary summary() const;

  /// Which of the two the steps were timed by.
  [[nodiscard]] StepChannel channel() const { return channel_; }
  /// Largest rank; the metrics' figure where they have one: step lines round theirs.
  [[nodiscard]] std::optional<double> peak_gpu_bytes() const {
    return metrics_peak_bytes_ ? metrics_peak_bytes_ : log_peak_bytes_;
  }
  [[nodiscard]] std::optional<double> gpu_bytes() const { return gpu_bytes_; }
  [[nodiscard]] std::optional<double> params() const { return shape_.params; }
  [[nodiscard]] std::optional<double> flops_per_gpu() const { return flops_per_gpu_; }
  /// What the trial told of its model.
  [[nodiscard]] const ModelShape& shape() const { return shape_; }
  /// What was refused, by name: how often, and the last value.
  [[nodiscard]] const std::map<std::string, Refused>& refused() const { return refused_; }
  /// Mean seconds a step by the arrival of reports, from the first to the last; absent for fewer
  /// than two.
  [[nodiscard]] std::optional<double> arrival_step_s() const;
  [[nodiscard]] const std::map<std::string, double>& user() const { return user_; }

 private:
  static constexpr int bad_losses_max = 3;
  static constexpr std::int64_t skipped_in_a_row_max = 40;

  struct Reading {
    double step_s = 0;
    int steps = 1;
    std::optional<double> samples;
  };

  void keep_facts(const StepReport& report, StepChannel channel);
  void count_loss(const StepReport& report);
  void end_step(const StepReport& report, double arrival_s);
  void take_reading(const StepReport& report, double arrival_s, std::int64_t steps);
  bool count_skipped(const StepReport& report, std::int64_t steps);

  std::vector<Reading> readings_;
  StepChannel channel_ = StepChannel::log;
  std::optional<std::int64_t> last_number_;
  bool last_was_timed_ = false;
  int untimed_ = 0;
  int seen_ = 0;
  std::optional<double> first_at_;
  std::optional<double> last_at_;
  std::int64_t steps_counted_ = 0;      ///< since the first report of the channel
  std::optional<double> counted_from_;  ///< its arrival
  std::int64_t skipped_ = 0;
  std::int64_t skipped_in_a_row_ = 0;
  int bad_losses_ = 0;
  std::optional<double> log_peak_bytes_;
  std::optional<double> metrics_peak_bytes_;
  std::optional<double> gpu_bytes_;
  ModelShape shape_;
  std::optional<double> flops_per_gpu_;
  std::map<std::string, double> user_;
  std::map<std::string, Refused> refused_;
};

}  // namespace slurmtune
