// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace slurmtune {

/// What a trial said about one step: a step line of its output, or a line of SLURMTUNE_METRICS.
/// Absent = not said.
struct StepReport {
  std::optional<std::int64_t> step;          ///< its number, as the trial counts
  std::optional<std::int64_t> steps_in_all;  ///< that the run will have
  std::optional<double> step_s;              ///< seconds that the step took
  bool is_mean = false;                      ///< step_s is the mean since the report before
  std::optional<double> samples;             ///< processed in the step, over all ranks
  std::optional<double> loss;                ///< NaN or infinite if the trial said so
  std::optional<std::int64_t> skipped;       ///< steps skipped so far (loss scaling)
  std::optional<std::int64_t> skipped_now;   ///< steps skipped since the report before
  std::optional<double> peak_gpu_bytes;
  std::optional<double> gpu_bytes;  ///< memory that one rank may use
  std::optional<double> params;
  std::optional<double> layers;
  std::optional<double> hidden;
  std::optional<double> sequence_length;  ///< tokens of a sample
  std::optional<double> flops_per_gpu;
  std::map<std::string, double> user;  ///< whatever else is a number
  /// What cannot be (not positive, no number, infinite), by the name of what it should be.
  std::map<std::string, double> refused;

  /// True if it says that a step ended, not only facts.
  [[nodiscard]] bool ends_step() const { return step.has_value() || step_s.has_value(); }
  bool operator==(const StepReport&) const = default;
};

/// Puts a value that must be positive and finite where it belongs, or among those refused.
void take_positive(std::optional<double>& place, StepReport& report, std::string_view name,
                   double value);

/// Reads one line of SLURMTUNE_METRICS (docs/user/trials.md): a JSON object with any of step,
/// step_s, samples, loss, skipped, peak_gpu_bytes, gpu_bytes, params, layers, hidden,
/// sequence_length, flops_per_gpu; other keys with numbers go to `user`. A loss that is null, NaN
/// or Infinity (as Python writes them) is not a number; any other of these that is null or NaN is
/// refused. Nothing if the line is no JSON object.
[[nodiscard]] std::optional<StepReport> parse_metrics_line(std::string_view line);

}  // namespace slurmtune
