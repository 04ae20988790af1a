// SPDX-License-Identifier: MIT
//
// statistic_ranks_pairs [PAIRS [SEED]]: how often a statistic of step times ranks two programs that
// truly differ by 3 % the right way round, on series of the published shapes. Prints one line a
// form of noise; exits with 1 if ours is below 99 %, or not better than a mean of five steps.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "slurmtune/runner/measure/step_interval.hpp"
#include "slurmtune/runner/measure/trial_watch.hpp"

#include "tests/support/step_series.hpp"

namespace slurmtune {

namespace {

using Series = std::vector<double>;

constexpr std::size_t series_steps = 60;
constexpr double difference = 0.03;

/// The steps that our watch measures until it ends the trial, by the defaults of [measure].
Series measured(const Series& series) {
  WatchRules rules;
  rules.limits = {1e9, 1e9, 1e9};
  TrialWatch watch(rules);
  double now_s = 0.0;
  for (std::size_t i = 0; i < series.size() && !watch.due(now_s); ++i) {
    now_s += series[i];
    watch.metrics_line(fmt::format(R"({{"step":{},"step_s":{}}})", i + 1, series[i]), now_s);
  }
  return watch.meter().summary().times.step_s;
}

/// A series, and what of it is measured.
struct Run {
  Series all;
  Series measured;
};

double ours(const Run& run) { return step_interval(run.measured).value().mid; }

double median(const Run& run) {
  Series sorted = run.measured;
  std::sort(sorted.begin(), sorted.end());
  const std::size_t half = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

/// What slurmtune had before: docs/adr/0011.
double trimmed_mean(const Run& run) {
  Series sorted = run.measured;
  std::sort(sorted.begin(), sorted.end());
  const std::size_t cut = sorted.size() / 5;
  return mean(std::span(sorted).subspan(cut, sorted.size() - 2 * cut));
}

double mean_after_warmup(const Run& run) { return mean(run.measured); }

double mean_of_first_five(const Run& run) { return mean(std::span(run.all).first(5)); }

struct Statistic {
  const char* name;
  double (*of)(const Run&);
};

constexpr std::array<Statistic, 5> statistics{{{"ours", ours},
                                               {"median", median},
                                               {"trimmed mean", trimmed_mean},
                                               {"mean after warm-up", mean_after_warmup},
                                               {"mean of first five", mean_of_first_five}}};

Run draw_run(Random& random, double step_s, StepNoise noise) {
  Run run;
  run.all = recorded_series(random, step_s, series_steps, noise);
  run.measured = measured(run.all);
  return run;
}

struct Named {
  const char* name;
  StepNoise noise;
};

bool compare(const Named& noise, int pairs, Seed seed) {
  Random random(seed);
  std::array<int, statistics.size()> right{};
  double steps = 0.0;
  for (int pair = 0; pair < pairs; ++pair) {
    const Run fast = draw_run(random, 1.0, noise.noise);
    const Run slow = draw_run(random, 1.0 + difference, noise.noise);
    for (std::size_t i = 0; i < statistics.size(); ++i) {
      if (statistics[i].of(fast) < statistics[i].of(slow)) ++right[i];
    }
    steps += static_cast<double>(fast.measured.size()) / pairs;
  }
  std::string line = fmt::format("{:8} {:4.1f} steps", noise.name, steps);
  std::array<double, statistics.size()> percent{};
  for (std::size_t i = 0; i < statistics.size(); ++i) {
    percent[i] = 100.0 * right[i] / pairs;
    line += fmt::format("  {} {:.2f} %", statistics[i].name, percent[i]);
  }
  fmt::print("{}\n", line);
  return percent.front() >= 99.0 && percent.back() < percent.front();
}

}  // namespace

}  // namespace slurmtune

int main(int argc, char** argv) {
  using namespace slurmtune;
  const int pairs = argc > 1 ? std::atoi(argv[1]) : 4000;
  const Seed seed{argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 20'261'130};
  if (pairs < 1) {
    fmt::print(stderr, "usage: statistic_ranks_pairs [PAIRS [SEED]]\n");
    return 2;
  }
  fmt::print("{} pairs that differ by {} %, seed {}: ranked the right way round\n", pairs,
             100 * difference, seed.value);
  bool holds = true;
  for (const Named& noise :
       {Named{"uniform", StepNoise::uniform}, Named{"normal", StepNoise::normal},
        Named{"alike", StepNoise::alike}}) {
    holds = compare(noise, pairs, seed) && holds;
  }
  return holds ? 0 : 1;
}
