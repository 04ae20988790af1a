// SPDX-License-Identifier: MIT
#include "slurmtune/runner/measure/sources/line_fields.hpp"
#include "slurmtune/runner/measure/sources/sources.hpp"

namespace slurmtune {

std::optional<StepReport> parse_deepspeed_line(std::string_view line) {
  StepReport report;
  if (line.find("SamplesPerSec=") != std::string_view::npos) {
    report.step = number_after<std::int64_t>(line, "global_step=");
    if (const auto gib = number_after<double>(line, "MaxMemAllocated=")) {
      // 0 where there is no GPU.
      if (*gib != 0)
        take_positive(report.peak_gpu_bytes, report, "peak_gpu_bytes", *gib * bytes_per_gib);
    }
    if (const auto speed = number_after<double>(line, "CurrSamplesPerSec=")) {
      if (*speed > 0) report.user["deepspeed_samples_per_s"] = *speed;
    }
  } else if (line.find(", skipped=") != std::string_view::npos) {
    report.step = number_after<std::int64_t>(line, "step=");
    report.skipped = number_after<std::int64_t>(line, "skipped=");
  } else if (line.find("iter time (s):") != std::string_view::npos) {
    report.step = number_after<std::int64_t>(line, "steps:");
    report.loss = number_after<double>(line, "loss:");
  }
  if (!report.step || *report.step <= 0) return std::nullopt;
  return report;
}

}  // namespace slurmtune
