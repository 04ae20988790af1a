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
  std::optional<std::int64_t> step;     ///< its number, as the trial counts
  std::optional<double> step_s;         ///< seconds that the step took
  std::optional<double> samples;        ///< processed in the step, over all ranks
  std::optional<double> loss;           ///< NaN or infinite if the trial said so
  std::optional<std::int64_t> skipped;  ///< steps skipped so far (loss scaling)
  std::optional<double> peak_gpu_bytes;
  std::optional<double> gpu_bytes;  ///< memory that one rank may use
  std::optional<double> params;
  std::optional<double> flops_per_gpu;
  std::map<std::string, double> user;  ///< whatever else is a number

  /// True if it says that a step ended, not only facts.
  [[nodiscard]] bool ends_step() const { return step.has_value() || step_s.has_value(); }
  bool operator==(const StepReport&) const = default;
};

/// Reads the two step lines of DeepSpeed, each printed every `steps_per_print` steps:
///
///     [...] [Rank 0] step=10, skipped=0, lr=[0.001], mom=[(0.9, 0.999)]
///     [...] epoch=0/micro_step=10/global_step=10, RunningAvgSamplesPerSec=…, MaxMemAllocated=1.5GB
///
/// Step 0 is no step that ended. Memory is in GiB although DeepSpeed writes GB.
/// Source: deepspeed/runtime/engine.py (_report_progress), deepspeed/utils/timer.py
/// (ThroughputTimer.stop), 0.9 to 0.16.
[[nodiscard]] std::optional<StepReport> parse_deepspeed_line(std::string_view line);

/// Reads one line of SLURMTUNE_METRICS (formats.md, section 7): a JSON object with any of step,
/// step_s, samples, loss, peak_gpu_bytes, gpu_bytes, params, flops_per_gpu; other keys with numbers
/// go to `user`. A loss that is null, NaN or Infinity (as Python writes them) is not a number.
/// Nothing if the line is no JSON object.
[[nodiscard]] std::optional<StepReport> parse_metrics_line(std::string_view line);

}  // namespace slurmtune
