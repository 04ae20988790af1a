// SPDX-License-Identifier: MIT
#include "slurmtune/runner/measure/step_report.hpp"

#include <cmath>

#include "slurmtune/runner/measure/sources/sources.hpp"
#include "slurmtune/runner/measure/step_pattern.hpp"

#include "tests/support/catch.hpp"

namespace slurmtune {

TEST_CASE("parse_deepspeed_line: the progress line tells the step and what was skipped",
          "[runner]") {
  const auto report = parse_deepspeed_line(
      "[2026-11-30 08:53:14,058] [INFO] [logging.py:96:log_dist] [Rank 0] step=10, skipped=2, "
      "lr=[0.001], mom=[(0.9, 0.999)]");
  REQUIRE(report.has_value());
  CHECK(report->step == 10);
  CHECK(report->skipped == 2);
  CHECK_FALSE(report->step_s.has_value());
}

TEST_CASE("parse_deepspeed_line: the throughput line tells the step and the peak memory in GiB",
          "[runner]") {
  const auto report = parse_deepspeed_line(
      "[2026-11-30 08:53:14,058] [INFO] [timer.py:260:stop] epoch=0/micro_step=20/global_step=10, "
      "RunningAvgSamplesPerSec=94.1, CurrSamplesPerSec=95.2, MemAllocated=0.5GB, "
      "MaxMemAllocated=1.5GB");
  REQUIRE(report.has_value());
  CHECK(report->step == 10);
  CHECK(report->peak_gpu_bytes == 1.5 * 1024 * 1024 * 1024);
}

TEST_CASE("parse_deepspeed_line: step 0, memory of 0 and other lines say nothing", "[runner]") {
  CHECK_FALSE(parse_deepspeed_line("[Rank 0] step=0, skipped=0, lr=[0.001]").has_value());
  CHECK_FALSE(parse_deepspeed_line("").has_value());
  CHECK_FALSE(parse_deepspeed_line("    \"steps_per_print\": 10,").has_value());
  CHECK_FALSE(parse_deepspeed_line("my_step=3, skipped=0").has_value());
  CHECK_FALSE(parse_deepspeed_line("step=, skipped=").has_value());
  CHECK_FALSE(parse_deepspeed_line("time (ms) | fwd: 399.10 | bwd: 717.64 | step: 8.50"));
  const auto no_gpu = parse_deepspeed_line(
      "global_step=3, CurrSamplesPerSec=9, MemAllocated=0.0GB, MaxMemAllocated=0.0GB");
  REQUIRE(no_gpu.has_value());
  CHECK_FALSE(no_gpu->peak_gpu_bytes.has_value());
}

TEST_CASE("parse_metrics_line: known keys have their place, other numbers are the user's",
          "[runner]") {
  const auto report = parse_metrics_line(
      R"({"step":7,"step_s":0.25,"samples":64,"loss":3.5,"peak_gpu_bytes":100,"gpu_bytes":200,)"
      R"("params":12,"flops_per_gpu":1e12,"bubble":0.1,"host":"n1","list":[1]})");
  REQUIRE(report.has_value());
  CHECK(report->step == 7);
  CHECK(report->step_s == 0.25);
  CHECK(report->samples == 64.0);
  CHECK(report->loss == 3.5);
  CHECK(report->peak_gpu_bytes == 100.0);
  CHECK(report->gpu_bytes == 200.0);
  CHECK(report->params == 12.0);
  CHECK(report->flops_per_gpu == 1e12);
  CHECK(report->user == std::map<std::string, double>{{"bubble", 0.1}});
}

TEST_CASE("parse_metrics_line: a loss that is no number is kept as such", "[runner]") {
  for (const char* loss : {"null", "NaN", "Infinity", "-Infinity"}) {
    const auto report = parse_metrics_line(
        std::string(R"({"step":1,"note":"NaN \" Infinity","loss":)") + loss + "}");
    REQUIRE(report.has_value());
    REQUIRE(report->loss.has_value());
    CHECK_FALSE(std::isfinite(*report->loss));
    CHECK(report->step == 1);
  }
}

TEST_CASE("parse_metrics_line: what is no JSON object says nothing", "[runner]") {
  for (const char* line : {"", "hello", "[1]", "3", "{\"step\":", "{\"step\":1} x"}) {
    CHECK_FALSE(parse_metrics_line(line).has_value());
  }
  const auto odd = parse_metrics_line(R"({"step":"3","step_s":-1,"samples":0})");
  REQUIRE(odd.has_value());
  CHECK_FALSE(odd->ends_step());
  CHECK_FALSE(odd->samples.has_value());
}

TEST_CASE("parse_metrics_line: what cannot be is refused, each by its name", "[runner]") {
  const auto report = parse_metrics_line(
      R"({"step":-3,"step_s":0,"samples":-8,"peak_gpu_bytes":NaN,"params":Infinity,"bubble":NaN,)"
      R"("flops_per_gpu":-1,"layers":24})");
  REQUIRE(report.has_value());
  CHECK_FALSE(report->ends_step());
  CHECK(report->refused.size() == 6);
  CHECK(report->refused.at("step_s") == 0.0);
  CHECK(report->refused.at("samples") == -8.0);
  CHECK(report->refused.count("peak_gpu_bytes") == 1);
  CHECK(report->user.empty());
  CHECK(report->layers == 24.0);
  CHECK(parse_metrics_line(R"({"step":1,"peak_gpu_bytes":0})")->refused.empty());
}

TEST_CASE("StepPattern: named groups become the step, its time, its loss and metrics", "[runner]") {
  const auto pattern = StepPattern::compile(
      R"(iter (?<step>\d+)/(\d+) .*time (?P<step_s>[\d.]+)s loss (?<loss>\S+) )"
      R"(n=(?<samples>[\d,]+) \((?<gap>\d+)%\))");
  REQUIRE(pattern.has_value());
  const auto report = pattern->match("rank0 iter 12/500 | time 0.50s loss nan n=1,024 (7%) end");
  REQUIRE(report.has_value());
  CHECK(report->step == 12);
  CHECK(report->step_s == 0.5);
  CHECK(report->samples == 1024.0);
  CHECK(std::isnan(report->loss.value()));
  CHECK(report->user.at("gap") == 7.0);
  CHECK_FALSE(pattern->match("iter 12").has_value());
}

TEST_CASE("StepPattern: parentheses that are no groups do not shift the others", "[runner]") {
  const auto pattern = StepPattern::compile(R"(\((?:a|b)[(](?=x)x (x)?(?<step>\d+))");
  REQUIRE(pattern.has_value());
  CHECK(pattern->match("(a(x 41")->step == 41);
}

TEST_CASE("StepPattern: a broken expression, or one without names, is refused", "[runner]") {
  for (const char* text : {"step (\\d+)", "(?<step>\\d+", "(?<step\\d+)", ""}) {
    const auto pattern = StepPattern::compile(text);
    REQUIRE_FALSE(pattern.has_value());
    CHECK(pattern.error().kind == ErrorKind::invalid_input);
    CHECK(pattern.error().message.find("measure.pattern") == 0);
  }
}

TEST_CASE("StepPattern: a line of a megabyte does not exhaust the stack", "[runner]") {
  const auto pattern = StepPattern::compile(".*step (?<step>\\d+)");
  REQUIRE(pattern.has_value());
  CHECK_FALSE(pattern->match(std::string(1'000'000, 'x')).has_value());
}

}  // namespace slurmtune
