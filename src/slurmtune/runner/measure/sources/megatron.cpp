// SPDX-License-Identifier: MIT
#include <limits>

#include "slurmtune/runner/measure/sources/line_fields.hpp"
#include "slurmtune/runner/measure/sources/sources.hpp"

namespace slurmtune {

namespace {

constexpr double ms_per_s = 1000.0;

std::optional<StepReport> read_megatron(std::string_view line) {
  StepReport report;
  report.step = number_after<std::int64_t>(line, "iteration");
  const auto ms = number_after<double>(line, "elapsed time per iteration (ms):");
  if (!report.step || *report.step <= 0 || !ms) return std::nullopt;
  take_positive(report.step_s, report, "step_s", *ms / ms_per_s);
  report.is_mean = true;
  if (const auto batch = number_after<double>(line, "global batch size:")) {
    take_positive(report.samples, report, "samples", *batch);
  }
  for (const std::string_view key : {"lm loss:", "loss:"}) {
    if (!report.loss) report.loss = number_after<double>(line, key);
  }
  report.skipped_now = number_after<std::int64_t>(line, "number of skipped iterations:");
  const auto nans = number_after<std::int64_t>(line, "number of nan iterations:");
  if (nans.value_or(0) > 0) report.loss = std::numeric_limits<double>::quiet_NaN();
  for (const std::string_view key : {"throughput per GPU (TFLOP/s/GPU):", "TFLOPs:"}) {
    if (const auto tflops = number_after<double>(line, key)) {
      take_positive(report.flops_per_gpu, report, "flops_per_gpu", *tflops * flops_per_tflops);
    }
  }
  return report;
}

/// NeMo 1 writes `key=value` behind a bar, NeMo 2 `key: value` between bars.
std::optional<double> nemo_number(std::string_view line, const std::string& key) {
  const auto value = number_after<double>(line, key + "=");
  return value ? value : number_after<double>(line, key + ":");
}

std::optional<StepReport> read_nemo(std::string_view line) {
  const auto step_s = nemo_number(line, "train_step_timing in s");
  const auto done = nemo_number(line, "global_step");
  if (!step_s || !done || *done < 0) return std::nullopt;
  StepReport report;
  report.step = static_cast<std::int64_t>(*done) + 1;  // NeMo counts from 0
  take_positive(report.step_s, report, "step_s", *step_s);
  report.is_mean = true;
  report.loss = nemo_number(line, "reduced_train_loss");
  if (const auto batch = nemo_number(line, "global_batch_size")) {
    take_positive(report.samples, report, "samples", *batch);
  }
  return report;
}

}  // namespace

std::optional<StepReport> parse_megatron_line(std::string_view line) {
  if (line.find("elapsed time per iteration (ms):") != std::string_view::npos) {
    return read_megatron(line);
  }
  if (line.find("train_step_timing in s") != std::string_view::npos) return read_nemo(line);
  return std::nullopt;
}

}  // namespace slurmtune
