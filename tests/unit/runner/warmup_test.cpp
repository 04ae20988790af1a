// SPDX-License-Identifier: MIT
#include "slurmtune/runner/measure/warmup.hpp"

#include <vector>

#include "slurmtune/base/random.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/step_series.hpp"

namespace slurmtune {

TEST_CASE("warmup_readings: slow first steps are dropped, and hardly others", "[runner]") {
  const std::vector<double> readings{9.0, 3.0,  2.0,  1.01, 0.99, 1.0,  1.02, 0.98,
                                     1.0, 1.01, 0.99, 1.0,  1.0,  1.01, 0.99};
  CHECK(warmup_readings(readings, 1) >= 3);
  CHECK(warmup_readings(readings, 1) <= 4);
}

TEST_CASE("warmup_readings: steady readings lose the least that is asked", "[runner]") {
  const std::vector<double> readings(20, 0.5);
  CHECK(warmup_readings(readings, 0) == 0);
  CHECK(warmup_readings(readings, 2) == 2);
}

TEST_CASE("warmup_readings: a lone slow step in the middle is not warm-up", "[runner]") {
  std::vector<double> readings(30, 1.0);
  readings[20] = 10.0;
  CHECK(warmup_readings(readings, 1) == 1);
}

TEST_CASE("warmup_readings: a stalling start is found, and a stall soon after it is not",
          "[runner]") {
  // As recorded: compilation, then the allocator and the file cache, then a save to a slow disk.
  const std::vector<double> readings{24.1, 9.3,  1.61, 0.47, 0.412, 0.405, 0.398, 0.410, 0.402,
                                     3.97, 0.40, 0.41, 0.40, 0.395, 0.407, 0.401, 0.409, 0.404,
                                     0.40, 0.72, 0.40, 0.41, 0.40,  0.396, 0.403, 0.408, 0.400};
  CHECK(warmup_readings(readings, 2) >= 4);
  CHECK(warmup_readings(readings, 2) <= 5);
}

TEST_CASE("warmup_readings: finds the slow steps of most recorded series, and few more",
          "[runner]") {
  constexpr int rounds = 400;
  Random random(Seed{21});
  int left = 0;
  int dropped = 0;
  for (int round = 0; round < rounds; ++round) {
    const auto series = recorded_series(random, 1.0, 42, StepNoise::normal);
    const std::size_t drop = warmup_readings(series, 2);
    dropped += static_cast<int>(drop);
    // The slowest of the start, still 1.5 times too slow after what was dropped?
    if (drop < 5 && series[drop] > 1.5 && series[drop + 1] > 1.2) ++left;
  }
  CHECK(left <= 0.02 * rounds);
  CHECK(dropped <= 6 * rounds);
}

TEST_CASE("warmup_readings: steady readings after a slow start leave it out", "[runner]") {
  std::vector<double> readings(12, 1.0);
  readings[0] = 9.0;
  readings[1] = 4.0;
  readings[2] = 1.5;
  CHECK(warmup_readings(readings, 1) == 3);
}

TEST_CASE("warmup_readings: never fewer than asked, never more than a third or what is there",
          "[runner]") {
  Random random(Seed{4});
  for (int round = 0; round < 500; ++round) {
    std::vector<double> readings(random.below(60));
    for (double& reading : readings) reading = 0.01 + random.uniform() * (round % 7);
    const std::size_t at_least = random.below(4);
    const std::size_t dropped = warmup_readings(readings, at_least);
    if (readings.size() <= at_least) {
      CHECK(dropped == readings.size());
    } else {
      CHECK(dropped >= at_least);
      CHECK(dropped <= std::max(at_least, readings.size() / 3));
    }
  }
}

}  // namespace slurmtune
