// SPDX-License-Identifier: MIT
#include "slurmtune/runner/measure/step_interval.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "slurmtune/base/random.hpp"
#include "slurmtune/model/statistics.hpp"
#include "slurmtune/runner/measure/warmup.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/step_series.hpp"

namespace slurmtune {

namespace {

/// The share of intervals that hold the true mean of 1, over series with that autocorrelation.
double coverage(double correlation, std::size_t count, std::uint64_t seed) {
  constexpr int rounds = 1500;
  Random random(Seed{seed});
  int hits = 0;
  for (int round = 0; round < rounds; ++round) {
    std::vector<double> readings;
    double state = draw_normal(random);
    for (std::size_t i = 0; i < count; ++i) {
      readings.push_back(1.0 + 0.05 * state);
      state = correlation * state + std::sqrt(1 - correlation * correlation) * draw_normal(random);
    }
    const Interval interval = step_interval(readings).value();
    if (interval.low <= 1.0 && 1.0 <= interval.high) ++hits;
  }
  return static_cast<double>(hits) / rounds;
}

}  // namespace

TEST_CASE("step_interval: fewer than two readings have none, equal ones have width 0", "[runner]") {
  CHECK_FALSE(step_interval(std::vector<double>{}).has_value());
  CHECK_FALSE(step_interval(std::vector<double>{1.0}).has_value());
  const auto equal = step_interval(std::vector<double>(8, 0.5));
  REQUIRE(equal.has_value());
  CHECK(relative_width(*equal) == 0.0);
  CHECK(equal->mid == 0.5);
}

TEST_CASE("step_interval: of fewer than six readings it is Student's", "[runner]") {
  // 1, 2, 3, 2: mean 2, s = sqrt(2/3), t(3) = 3.182; successive ranks are opposed, so no widening.
  const auto interval = step_interval(std::vector<double>{1.0, 3.0, 2.0, 2.0});
  REQUIRE(interval.has_value());
  CHECK(interval->mid == Approx(2.0));
  CHECK(interval->high - interval->mid == Approx(3.182 * std::sqrt(2.0 / 3.0) / 2.0));
}

TEST_CASE("step_interval: of six, it is the span of the readings", "[runner]") {
  const auto interval = step_interval(std::vector<double>{1.0, 6.0, 2.0, 5.0, 3.0, 4.0});
  REQUIRE(interval.has_value());
  CHECK(interval->low == 1.0);
  CHECK(interval->mid == Approx(3.5));
  CHECK(interval->high == 6.0);
}

TEST_CASE("step_interval: covers the centre of any symmetric form", "[runner]") {
  // Uniform, two-humped and heavy-tailed (Cauchy) readings: 95 % needs no normality.
  constexpr int rounds = 2000;
  Random random(Seed{12});
  int hits[3] = {};
  for (int round = 0; round < rounds; ++round) {
    std::vector<double> readings[3];
    for (int i = 0; i < 8; ++i) {
      const double u = random.uniform() - 0.5;
      readings[0].push_back(10.0 + u);
      readings[1].push_back(10.0 + (u < 0 ? -1.0 : 1.0) + 0.1 * u);
      readings[2].push_back(10.0 + 0.1 * std::tan(3.14159265 * u));
    }
    for (int form = 0; form < 3; ++form) {
      const Interval interval = step_interval(readings[form]).value();
      if (interval.low <= 10.0 && 10.0 <= interval.high) ++hits[form];
    }
  }
  for (const int hit : hits) CHECK(hit >= 0.945 * rounds);
}

TEST_CASE("step_interval: ranks pairs that differ by 3 %, where five steps do not", "[runner]") {
  for (const StepNoise noise : {StepNoise::uniform, StepNoise::normal, StepNoise::alike}) {
    constexpr int pairs = 500;
    Random random(Seed{77});
    int right = 0;
    int right_of_five = 0;
    for (int pair = 0; pair < pairs; ++pair) {
      const auto fast = recorded_series(random, 1.00, 42, noise);
      const auto slow = recorded_series(random, 1.03, 42, noise);
      const auto centre = [](std::span<const double> series) {
        return step_interval(series.subspan(warmup_readings(series, 2))).value().mid;
      };
      if (centre(fast) < centre(slow)) ++right;
      const auto five = [](std::span<const double> series) { return mean(series.first(5)); };
      if (five(fast) < five(slow)) ++right_of_five;
    }
    CHECK(right >= 0.99 * pairs);
    CHECK(right_of_five < 0.7 * pairs);
  }
}

TEST_CASE("step_interval: covers the true mean about 95 times in 100", "[runner]") {
  CHECK(coverage(0.0, 8, 1) > 0.93);
  CHECK(coverage(0.0, 30, 2) > 0.93);
  CHECK(coverage(0.0, 30, 3) < 0.995);
}

TEST_CASE("step_interval: still covers it when steps resemble each other", "[runner]") {
  CHECK(coverage(0.5, 20, 4) > 0.85);
  CHECK(coverage(0.5, 40, 5) > 0.88);
}

TEST_CASE("step_interval: a step that was held up moves it little", "[runner]") {
  std::vector<double> readings(20);
  for (int i = 0; i < 20; ++i) readings[static_cast<std::size_t>(i)] = 1.0 + 0.01 * (i % 3 - 1);
  const auto before = step_interval(readings);
  readings[7] = 30.0;
  const auto after = step_interval(readings);
  REQUIRE((before && after));
  CHECK(after->mid == Approx(before->mid).epsilon(0.005));
  CHECK(relative_width(*after) < 0.03);
}

TEST_CASE("step_interval: is ordered and positive for any positive readings", "[runner]") {
  Random random(Seed{9});
  for (int round = 0; round < 2000; ++round) {
    std::vector<double> readings(2 + random.below(40));
    for (double& reading : readings) reading = std::exp(6.0 * (random.uniform() - 0.5));
    const auto interval = step_interval(readings);
    REQUIRE(interval.has_value());
    CHECK(interval->low > 0.0);
    CHECK(interval->low <= interval->mid);
    CHECK(interval->mid <= interval->high);
    const auto [least, most] = std::minmax_element(readings.begin(), readings.end());
    CHECK(interval->mid >= *least * (1 - 1e-12));
    CHECK(interval->mid <= *most * (1 + 1e-12));
  }
}

}  // namespace slurmtune
