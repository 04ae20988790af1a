// SPDX-License-Identifier: MIT
#include <string>

#include "slurmtune/runner/measure/sources/line_fields.hpp"
#include "slurmtune/runner/measure/sources/sources.hpp"

namespace slurmtune {

namespace {

/// `66.91GiB(37.51%)`: the peak, and from its share the memory of the device.
void read_memory(std::string_view text, StepReport& report) {
  const auto gib = leading_number<double>(text);
  if (!gib || *gib == 0) return;
  take_positive(report.peak_gpu_bytes, report, "peak_gpu_bytes", *gib * bytes_per_gib);
  const std::size_t open = text.find('(');
  if (open == std::string_view::npos) return;
  constexpr double percent_min = 5.0;  // two digits behind the point say too little of less
  const auto percent = leading_number<double>(text.substr(open + 1));
  if (percent && *percent >= percent_min && *percent <= 100.0) {
    report.gpu_bytes = *gib * bytes_per_gib * 100.0 / *percent;
  }
}

}  // namespace

std::optional<StepReport> parse_torchtitan_line(std::string_view coloured) {
  if (coloured.find("step:") == std::string_view::npos) return std::nullopt;
  const std::string line = without_colours(coloured);
  const auto speed = text_after(line, "tps:");
  StepReport report;
  report.step = number_after<std::int64_t>(line, "step:");
  if (!speed || !report.step || *report.step <= 0) return std::nullopt;
  report.loss = number_after<double>(line, "loss:");
  if (const auto memory = text_after(line, "memory:")) read_memory(*memory, report);
  if (const auto tokens = human_number(*speed)) {
    if (*tokens > 0) report.user["tokens_per_s_per_gpu"] = *tokens;
  }
  if (const auto text = text_after(line, "tflops:")) {
    const auto tflops = human_number(*text);
    if (tflops) {
      take_positive(report.flops_per_gpu, report, "flops_per_gpu", *tflops * flops_per_tflops);
    }
  }
  return report;
}

}  // namespace slurmtune
