// SPDX-License-Identifier: MIT
#include <nlohmann/json.hpp>

#include "slurmtune/record/json.hpp"
#include "slurmtune/runner/measure/sources/line_fields.hpp"
#include "slurmtune/runner/measure/sources/sources.hpp"

namespace slurmtune {

namespace {

std::optional<double> number_of(const Json& object, const char* key) {
  const auto at = object.find(key);
  if (at == object.end() || !at->is_number()) return std::nullopt;
  return at->get<double>();
}

}  // namespace

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

std::optional<StepReport> parse_deepspeed_model_info(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  StepReport report;
  const auto params = number_of(json, "num_params");
  if (params) take_positive(report.params, report, "params", *params);
  if (const auto flops = number_of(json, "FLOPS_per_gpu")) {
    take_positive(report.flops_per_gpu, report, "flops_per_gpu", *flops);
  }
  if (const auto bytes = number_of(json, "activation_mem_per_gpu")) {
    report.user["deepspeed_activation_bytes"] = *bytes;
  }
  if (!params && !report.flops_per_gpu && report.user.empty()) return std::nullopt;
  return report;
}

}  // namespace slurmtune
