// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include "ds_config.hpp"
#include "expected.hpp"

namespace minitrain {

/// What one optimizer step came to, over all ranks.
struct StepOutcome {
  std::uint64_t step;             ///< 1 is the first
  double step_s;                  ///< wall time of the slowest rank
  double loss;                    ///< mean over the global batch, before the update
  std::uint64_t peak_bytes;       ///< largest peak of any rank so far
  std::uint64_t allocated_bytes;  ///< rank 0's, between steps
};

/// What stays the same over the run.
struct RunFacts {
  std::size_t parameters;
  std::optional<std::uint64_t> memory_limit_bytes;  ///< or the device's memory
  std::string device;                               ///< its name; "" = the processor
};

/// Tells of the run on rank 0: DeepSpeed's lines on stdout, each flushed, and metrics to a file.
/// Source of the two step lines: DeepSpeed 0.14, runtime/engine.py (_report_progress) and
/// utils/timer.py (ThroughputTimer).
class Report {
 public:
  /// `metrics_file` may be empty: no metrics.
  [[nodiscard]] static Expected<Report> open(const DsConfig& config, const RunFacts& facts,
                                             const std::string& metrics_file);

  void begin(std::size_t ranks);
  /// Errors: the metrics file cannot be written.
  [[nodiscard]] Expected<void> step(const StepOutcome& outcome);
  void end();

 private:
  struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  Report(const DsConfig& config, const RunFacts& facts) : config_{config}, facts_{facts} {}
  void progress(std::uint64_t step);
  void throughput(const StepOutcome& outcome);
  [[nodiscard]] double average_samples_per_s() const;
  [[nodiscard]] Expected<void> append_metrics(const StepOutcome& outcome);

  DsConfig config_;
  RunFacts facts_;
  std::string metrics_name_;
  std::unique_ptr<std::FILE, CloseFile> metrics_;
  std::uint64_t timed_steps_ = 0;
  double timed_s_ = 0;
  StepOutcome last_{};
};

/// The file that DeepSpeed's autotuner reads after a model-info run. One line of JSON.
[[nodiscard]] std::string render_model_info(std::size_t parameters, std::uint64_t activation_bytes);

}  // namespace minitrain
