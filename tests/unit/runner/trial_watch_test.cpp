// SPDX-License-Identifier: MIT
#include "slurmtune/runner/measure/trial_watch.hpp"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "tests/support/catch.hpp"

namespace slurmtune {

namespace {

WatchRules rules() {
  WatchRules rules;
  rules.source = MeasureSource::metrics_file;
  rules.min_steps = 6;
  rules.max_steps = 12;
  rules.interval = 0.02;
  rules.limits = {100.0, 10.0, 200.0};
  return rules;
}

std::string metrics(int step, double step_s) {
  return fmt::format(R"({{"step":{},"step_s":{}}})", step, step_s);
}

}  // namespace

TEST_CASE("TrialWatch: a trial ends once its interval is tight, not before min_steps", "[runner]") {
  TrialWatch watch(rules());
  int step = 0;
  while (!watch.due(step) && step < 50) {
    ++step;
    watch.metrics_line(metrics(step, 0.5 + 0.001 * (step % 2)), step);
  }
  CHECK(watch.due(step) == EndReason::interval_reached);
  CHECK(watch.meter().summary().times.measured == 6);
  CHECK(step == 8);
}

TEST_CASE("TrialWatch: a noisy trial ends at max_steps", "[runner]") {
  TrialWatch watch(rules());
  int step = 0;
  while (!watch.due(step) && step < 50) {
    ++step;
    watch.metrics_line(metrics(step, 0.5 + 0.3 * (step % 2)), step);
  }
  CHECK(watch.due(step) == EndReason::max_steps);
  CHECK(watch.meter().summary().times.measured >= 12);
}

TEST_CASE("TrialWatch: steps are timed no longer than the start took, nor less than min_steps",
          "[runner]") {
  WatchRules long_enough = rules();
  long_enough.max_steps = 1000;
  long_enough.interval = 1e-6;
  long_enough.timed_for_starts = 1.0;
  const auto ends_after = [&](double start_s, double step_s) {
    TrialWatch watch(long_enough);
    double now = start_s;
    for (int step = 1; step < 1000; ++step, now += step_s) {
      watch.metrics_line(metrics(step, step_s * (1.0 + 0.1 * (7 * step % 10))), now);
      if (watch.due(now)) break;
    }
    REQUIRE(watch.due(now));
    CHECK(name_of(*watch.due(now)) == "long_enough");
    CHECK(watch.meter().summary().times.measured >= long_enough.min_steps);
    return now - start_s;
  };
  CHECK(ends_after(20.0, 0.5) == Approx(20.0));
  CHECK(ends_after(0.5, 0.5) == Approx(5.0));
  CHECK(ends_after(2.0, 2.5) > 5.0);
}

TEST_CASE("TrialWatch: a trial that cannot win ends early, one that may goes on", "[runner]") {
  WatchRules hopeless = rules();
  hopeless.hopeless_step_s = 0.2;
  TrialWatch slow(hopeless);
  hopeless.hopeless_step_s = 0.9;
  TrialWatch fair(hopeless);
  for (int step = 1; step <= 9; ++step) {
    slow.metrics_line(metrics(step, 0.5 + 0.05 * (step % 2)), step);
    fair.metrics_line(metrics(step, 0.5 + 0.05 * (step % 2)), step);
  }
  CHECK(slow.due(9) == EndReason::cannot_win);
  CHECK_FALSE(fair.due(9).has_value());
}

TEST_CASE("TrialWatch: silence ends a trial, before the first step and after it", "[runner]") {
  TrialWatch watch(rules());
  CHECK_FALSE(watch.due(99.9).has_value());
  CHECK(watch.due(100.0) == EndReason::no_step_in_startup);
  watch.metrics_line(metrics(1, 1.0), 50.0);
  CHECK_FALSE(watch.due(59.9).has_value());
  CHECK(watch.due(60.0) == EndReason::no_step_in_stall);
  watch.output_line("still alive", 55.0);
  CHECK(watch.due(60.0) == EndReason::no_step_in_stall);
}

TEST_CASE("TrialWatch: the total limit and the end of the task win over slow steps", "[runner]") {
  WatchRules limited = rules();
  limited.limits.stall_s = 1000.0;
  TrialWatch watch(limited);
  watch.metrics_line(metrics(1, 1.0), 50.0);
  CHECK(watch.due(200.0) == EndReason::total);
  limited.ends_by_s = 150.0;
  TrialWatch bounded(limited);
  bounded.metrics_line(metrics(1, 1.0), 50.0);
  CHECK_FALSE(bounded.due(149.0).has_value());
  CHECK(bounded.due(150.0) == EndReason::preempted);
}

TEST_CASE("TrialWatch: three losses that are no numbers end a trial", "[runner]") {
  TrialWatch watch(rules());
  for (int step = 1; step <= 3; ++step) {
    CHECK_FALSE(watch.due(step).has_value());
    watch.metrics_line(fmt::format(R"({{"step":{},"step_s":1,"loss":NaN}})", step), step);
  }
  CHECK(watch.due(3) == EndReason::nan);
}

TEST_CASE("TrialWatch: DeepSpeed's lines count only for the source deepspeed", "[runner]") {
  const std::string line = "[Rank 0] step=1, skipped=0, lr=[0.1], mom=[0]";
  TrialWatch metrics_only(rules());
  CHECK_FALSE(metrics_only.output_line(line, 1.0));
  WatchRules deepspeed = rules();
  deepspeed.source = MeasureSource::deepspeed;
  TrialWatch watch(deepspeed);
  CHECK(watch.output_line(line, 1.0));
  CHECK_FALSE(watch.output_line(line, 1.5));
  CHECK(watch.meter().steps_seen() == 1);
}

TEST_CASE("TrialWatch: a pattern without a step number counts its lines", "[runner]") {
  WatchRules patterned = rules();
  patterned.source = MeasureSource::pattern;
  patterned.pattern = StepPattern::compile("tokens (?<tokens>\\d+)").value();
  TrialWatch watch(patterned);
  for (int i = 1; i <= 9; ++i) CHECK(watch.output_line("tokens 512", 0.5 * i));
  CHECK(watch.meter().steps_seen() == 9);
  CHECK(watch.meter().summary().step_s->mid == Approx(0.5));
  CHECK(watch.meter().user().at("tokens") == 512.0);
}

TEST_CASE("TrialWatch: a bar of another length is no training step", "[runner]") {
  WatchRules hf = rules();
  hf.source = MeasureSource::hf;
  TrialWatch watch(hf);
  CHECK_FALSE(watch.output_line("  0%|          | 0/100 [00:00<?, ?it/s]", 0.0));
  CHECK(watch.output_line("  1%|          | 1/100 [00:01<01:40,  1.0s/it]", 1.0));
  CHECK_FALSE(watch.output_line(" 12%|#         | 1/8 [00:01<00:07,  1.0s/it]", 1.5));
  CHECK(watch.output_line("  2%|          | 2/100 [00:02<01:40,  1.0s/it]", 2.0));
  CHECK_FALSE(watch.output_line("{'loss': nan, 'learning_rate': 0.0, 'epoch': 0.1}", 2.0));
  CHECK(watch.meter().last_loss_is_bad());
  CHECK(watch.meter().steps_seen() == 2);
}

TEST_CASE("TrialWatch: every source times its own lines", "[runner]") {
  struct Sample {
    MeasureSource source;
    const char* line;  ///< with {0} for the number of the step
  };
  const Sample samples[] = {
      {MeasureSource::deepspeed, "[Rank 0] step={0}, skipped=0, lr=[0.1], mom=[0]"},
      {MeasureSource::hf, "  1%|          | {0}/100 [00:01<01:40,  1.0s/it]"},
      {MeasureSource::megatron,
       " iteration {0}/ 100 | elapsed time per iteration (ms): 500.0 | global batch size: 8 |"},
      {MeasureSource::nanotron,
       "iteration: {0} / 100 | consumed_tokens: 1K | elapsed_time_per_iteration_ms: 500 | lr: 1"},
      {MeasureSource::torchtitan, "step: {0}  loss: 7.6  memory: 1.0GiB(9.9%)  tps: 1,050"}};
  for (const Sample& sample : samples) {
    INFO(sample.line);
    WatchRules one = rules();
    one.source = sample.source;
    TrialWatch watch(one);
    int step = 0;
    while (!watch.due(0.5 * step) && step < 50) {
      ++step;
      watch.output_line(fmt::format(fmt::runtime(sample.line), step), 0.5 * step);
    }
    CHECK(watch.due(0.5 * step) == EndReason::interval_reached);
    CHECK(watch.meter().summary().step_s->mid == Approx(0.5));
  }
}

TEST_CASE("TrialWatch: a storm of overflows ends a trial, a start with some does not", "[runner]") {
  WatchRules deepspeed = rules();
  deepspeed.source = MeasureSource::deepspeed;
  deepspeed.min_steps = 8;
  TrialWatch storm(deepspeed);
  TrialWatch start(deepspeed);
  for (int step = 1; step <= 40; ++step) {
    const double now_s = 0.5 * step;
    CHECK_FALSE(storm.due(now_s).has_value());
    storm.output_line(fmt::format("[Rank 0] step={0}, skipped={0}, lr=[0.1]", step), now_s);
    if (start.due(now_s)) continue;
    start.output_line(
        fmt::format("[Rank 0] step={}, skipped={}, lr=[0.1]", step, std::min(step, 12)),
        step <= 12 ? 0.1 * step : 1.2 + 0.5 * (step - 12));
  }
  CHECK(storm.due(20.5) == EndReason::overflow_storm);
  CHECK(start.due(20.5) == EndReason::interval_reached);
  CHECK(start.meter().summary().times.skipped == 12);
  CHECK(start.meter().summary().step_s->mid == Approx(0.5));
}

TEST_CASE("watch_rules: only confirm is measured as tightly as the study says", "[runner]") {
  MeasureSpec measure;
  measure.interval = 0.02;
  Experiment experiment;
  experiment.purpose = Purpose::frontier;
  CHECK(watch_rules(measure, experiment)->interval == 0.1);
  experiment.purpose = Purpose::confirm;
  CHECK(watch_rules(measure, experiment)->interval == 0.02);
  measure.interval = 0.3;
  experiment.purpose = Purpose::curve;
  CHECK(watch_rules(measure, experiment)->interval == 0.3);
}

TEST_CASE("watch_rules: only rungs are timed for all of their steps", "[runner]") {
  Experiment experiment;
  experiment.purpose = Purpose::profile;
  CHECK(watch_rules({}, experiment)->timed_for_starts == 1.0);
  experiment.purpose = Purpose::confirm;
  CHECK(watch_rules({}, experiment)->timed_for_starts == 2.0);
  experiment.purpose = Purpose::knobs;
  CHECK_FALSE(watch_rules({}, experiment)->timed_for_starts);
}

}  // namespace slurmtune
