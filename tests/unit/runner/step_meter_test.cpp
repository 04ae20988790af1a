// SPDX-License-Identifier: MIT
#include "slurmtune/runner/measure/step_meter.hpp"

#include <limits>

#include "tests/support/catch.hpp"

namespace slurmtune {

namespace {

StepReport step(std::int64_t number) {
  StepReport report;
  report.step = number;
  return report;
}

StepReport timed(std::int64_t number, double step_s) {
  StepReport report = step(number);
  report.step_s = step_s;
  return report;
}

}  // namespace

TEST_CASE("StepMeter: step lines are timed by their arrival", "[runner]") {
  StepMeter meter;
  for (int i = 1; i <= 10; ++i) meter.add(step(i), StepChannel::log, 5.0 + 0.5 * i);
  CHECK(meter.first_step_at() == 5.5);
  CHECK(meter.last_step_at() == 10.0);
  const StepSummary summary = meter.summary();
  CHECK(summary.times.warmup == 2);
  CHECK(summary.times.measured == 8);
  REQUIRE(summary.step_s.has_value());
  CHECK(summary.step_s->mid == Approx(0.5));
}

TEST_CASE("StepMeter: a line for every ten steps gives a reading of ten steps", "[runner]") {
  StepMeter meter;
  for (int i = 1; i <= 6; ++i) meter.add(step(std::int64_t{10} * i), StepChannel::log, 4.0 * i);
  const StepSummary summary = meter.summary();
  CHECK(summary.times.step_s.size() == 4);
  CHECK(summary.times.measured == 40);
  CHECK(summary.times.step_s.front() == Approx(0.4));
}

TEST_CASE("StepMeter: DeepSpeed's second line of a step times nothing, but tells memory",
          "[runner]") {
  StepMeter meter;
  for (int i = 1; i <= 6; ++i) {
    meter.add(step(i), StepChannel::log, 1.0 * i);
    StepReport second = step(i);
    second.peak_gpu_bytes = 100.0 * i;
    meter.add(second, StepChannel::log, 1.0 * i + 0.2);
  }
  CHECK(meter.steps_seen() == 6);
  CHECK(meter.peak_gpu_bytes() == 600.0);
  CHECK(meter.summary().step_s->mid == Approx(1.0));
}

TEST_CASE("StepMeter: once the metrics file tells of a step, step lines time nothing", "[runner]") {
  StepMeter meter;
  for (int i = 1; i <= 8; ++i) {
    meter.add(step(i), StepChannel::log, 10.0 * i);
    StepReport report = timed(i, 0.25);
    report.samples = 32.0;
    meter.add(report, StepChannel::metrics, 10.0 * i + 0.1);
  }
  const StepSummary summary = meter.summary();
  CHECK(meter.steps_seen() == 8);
  CHECK(summary.times.warmup == 2);
  CHECK(summary.times.measured == 6);
  CHECK(summary.step_s->mid == Approx(0.25));
  CHECK(summary.samples == 32.0);
}

TEST_CASE("StepMeter: the slowest rank counts where all ranks report", "[runner]") {
  StepMeter meter;
  for (int i = 1; i <= 6; ++i) {
    meter.add(timed(i, 0.2), StepChannel::metrics, 1.0 * i);
    meter.add(timed(i, 0.3), StepChannel::metrics, 1.0 * i);
    meter.add(timed(i, 0.1), StepChannel::metrics, 1.0 * i);
  }
  CHECK(meter.summary().step_s->mid == Approx(0.3));
}

TEST_CASE("StepMeter: facts without a step are kept and end none", "[runner]") {
  StepMeter meter;
  StepReport facts;
  facts.params = 1e6;
  facts.gpu_bytes = 8e9;
  facts.user["x"] = 1.0;
  meter.add(facts, StepChannel::metrics, 0.5);
  CHECK(meter.steps_seen() == 0);
  CHECK_FALSE(meter.first_step_at().has_value());
  CHECK(meter.params() == 1e6);
  CHECK(meter.gpu_bytes() == 8e9);
  CHECK(meter.user().at("x") == 1.0);
}

TEST_CASE("StepMeter: one loss that is no number is an overflow, three are the end", "[runner]") {
  StepMeter meter;
  StepReport report;
  const double losses[] = {1.0, std::numeric_limits<double>::infinity(), 0.9};
  std::int64_t number = 0;
  for (const double loss : losses) {
    report.step = ++number;
    report.loss = loss;
    meter.add(report, StepChannel::metrics, 1.0 * static_cast<double>(number));
    CHECK_FALSE(meter.loss_is_gone());
  }
  CHECK_FALSE(meter.last_loss_is_bad());
  for (int i = 0; i < 3; ++i) {
    CHECK_FALSE(meter.loss_is_gone());
    report.step = ++number;
    report.loss = std::numeric_limits<double>::quiet_NaN();
    meter.add(report, StepChannel::metrics, 1.0 * static_cast<double>(number));
    CHECK(meter.last_loss_is_bad());
  }
  CHECK(meter.loss_is_gone());
}

TEST_CASE("StepMeter: a mean over ten steps counts as ten", "[runner]") {
  StepMeter meter;
  for (int i = 1; i <= 6; ++i) {
    StepReport report = timed(std::int64_t{10} * i, 0.4);
    report.is_mean = true;
    meter.add(report, StepChannel::log, 4.0 * i);
  }
  const StepSummary summary = meter.summary();
  CHECK(summary.times.step_s.size() == 4);
  CHECK(summary.times.measured == 40);
  CHECK(meter.arrival_step_s() == Approx(0.4));
}

TEST_CASE("StepMeter: steps that were skipped are counted and not measured", "[runner]") {
  StepMeter meter;
  for (int i = 1; i <= 20; ++i) {
    StepReport report = timed(i, i % 5 == 0 ? 0.1 : 0.5);
    report.skipped_now = i % 5 == 0 ? 1 : 0;
    report.loss = i % 5 == 0 ? std::numeric_limits<double>::infinity() : 2.0;
    meter.add(report, StepChannel::log, 0.5 * i);
    CHECK_FALSE(meter.last_loss_is_bad());
  }
  const StepSummary summary = meter.summary();
  CHECK(summary.times.skipped == 4);
  CHECK(summary.times.measured + summary.times.warmup == 16);
  CHECK(summary.step_s->mid == Approx(0.5));
  CHECK(summary.step_s->low == Approx(0.5));
  CHECK_FALSE(meter.only_overflows());
}

TEST_CASE("StepMeter: a step whose time cannot be is not measured by its arrival either",
          "[runner]") {
  StepMeter meter;
  for (int i = 1; i <= 10; ++i) {
    StepReport report = timed(i, 0.5);
    if (i % 2 == 0) {
      report.step_s.reset();
      report.refused["step_s"] = -1.0;
    }
    meter.add(report, StepChannel::metrics, 3.0 * i);
  }
  CHECK(meter.refused().at("step_s").count == 5);
  CHECK(meter.summary().step_s->high == 0.5);
  CHECK(meter.summary().times.measured == 5);
}

}  // namespace slurmtune
