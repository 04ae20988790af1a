// SPDX-License-Identifier: MIT
#include "slurmtune/runner/measure/speed.hpp"

#include <limits>

#include "tests/support/catch.hpp"

namespace slurmtune {

namespace {

/// 8 GPUs, 64 samples of 2,048 tokens a step: 7.86e14 / step_s FLOP/s each, by the count.
SpeedInput on_h100(double step_s) {
  SpeedInput input;
  input.step_s = step_s;
  input.arrival_step_s = step_s;
  input.samples = 64.0;
  input.gpus = 8.0;
  input.shape = {.params = 8e9, .sequence_length = 2048.0};
  input.gpu = "NVIDIA H100 80GB HBM3";
  return input;
}

}  // namespace

TEST_CASE("judge_speed: the count wins over what the trial told", "[runner]") {
  SpeedInput input = on_h100(2.0);
  input.told_flops_per_gpu = 1e14;
  const Speed speed = judge_speed(input);
  CHECK(speed.flops_per_gpu == Approx(64 * 2048 * 6 * 8e9 / 2.0 / 8.0));
  CHECK(speed.note.empty());
  CHECK_FALSE(speed.impossible_times);
  input.shape = {};
  CHECK(judge_speed(input).flops_per_gpu == 1e14);
  input.told_flops_per_gpu.reset();
  CHECK_FALSE(judge_speed(input).flops_per_gpu.has_value());
}

TEST_CASE("judge_speed: what is above the device's peak is refused and said", "[runner]") {
  SpeedInput input = on_h100(0.5);
  input.told_flops_per_gpu = 4e14;
  const Speed counted = judge_speed(input);
  CHECK(counted.flops_per_gpu == 4e14);
  CHECK(counted.note.find("above the peak of 9.89e+14 of NVIDIA H100 80GB HBM3") !=
        std::string::npos);
  CHECK_FALSE(counted.impossible_times);  // the clock agrees: the shape may be wrong
  input.told_flops_per_gpu = 5e15;
  CHECK_FALSE(judge_speed(input).flops_per_gpu.has_value());
  input.gpu = "unknown";
  CHECK(judge_speed(input).flops_per_gpu.has_value());
  CHECK(judge_speed(input).note.empty());
}

TEST_CASE("judge_speed: told times that only the clock contradicts cannot be", "[runner]") {
  SpeedInput input = on_h100(0.5);
  input.arrival_step_s = 2.0;
  CHECK(judge_speed(input).impossible_times);
  input.arrival_step_s = 0.4;
  CHECK_FALSE(judge_speed(input).impossible_times);
}

TEST_CASE("shape_of: what the study says wins, the trial fills the rest", "[runner]") {
  ModelSpec model;
  model.params = 1e9;
  const ModelShape shape = shape_of(model, {.params = 2e9, .layers = 24.0});
  CHECK(shape.params == 1e9);
  CHECK(shape.layers == 24.0);
  CHECK_FALSE(shape.hidden.has_value());
}

TEST_CASE("describe_refused: counts each name and shows the last value", "[runner]") {
  StepMeter meter;
  CHECK(describe_refused(meter).empty());
  StepReport report;
  report.step = 1;
  report.refused["step_s"] = -1.0;
  meter.add(report, StepChannel::metrics, 1.0);
  CHECK(describe_refused(meter) == "step_s once (-1)");
  report.step = 2;
  report.refused["step_s"] = 0.0;
  report.refused["samples"] = std::numeric_limits<double>::infinity();
  meter.add(report, StepChannel::metrics, 2.0);
  CHECK(describe_refused(meter) == "samples once (inf), step_s 2 times (last 0)");
}

}  // namespace slurmtune
