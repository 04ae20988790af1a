// SPDX-License-Identifier: MIT
#include "slurmtune/runner/measure/sources/line_fields.hpp"
#include "slurmtune/runner/measure/sources/sources.hpp"

namespace slurmtune {

namespace {

std::optional<double> human_after(std::string_view line, std::string_view key) {
  const auto rest = text_after(line, key);
  return rest ? human_number(*rest) : std::nullopt;
}

}  // namespace

std::optional<StepReport> parse_nanotron_line(std::string_view line) {
  if (line.find("elapsed_time_per_iteration_ms:") == std::string_view::npos) return std::nullopt;
  StepReport report;
  report.step = number_after<std::int64_t>(line, "iteration:");
  if (!report.step || *report.step <= 0) return std::nullopt;
  report.loss = number_after<double>(line, "lm_loss:");
  if (const auto batch = human_after(line, "global_batch_size:")) {
    take_positive(report.samples, report, "samples", *batch);
  }
  if (const auto tflops = human_after(line, "model_tflops_per_gpu:")) {
    take_positive(report.flops_per_gpu, report, "flops_per_gpu", *tflops * flops_per_tflops);
  }
  for (const std::string_view key : {"cuda_max_memory_reserved:", "cuda_memory_allocated:"}) {
    if (report.peak_gpu_bytes) break;
    if (const auto bytes = human_after(line, key)) {
      take_positive(report.peak_gpu_bytes, report, "peak_gpu_bytes", *bytes);
    }
  }
  if (const auto tokens = human_after(line, "tokens_per_sec_per_gpu:")) {
    if (*tokens > 0) report.user["tokens_per_s_per_gpu"] = *tokens;
  }
  return report;
}

}  // namespace slurmtune
