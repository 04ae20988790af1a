// SPDX-License-Identifier: MIT
#include "slurmtune/runner/measure/warmup.hpp"

#include <vector>

#include "slurmtune/base/random.hpp"

#include "tests/support/catch.hpp"

namespace slurmtune {

TEST_CASE("warmup_readings: slow first steps are dropped, and no others", "[runner]") {
  const std::vector<double> readings{9.0, 3.0,  2.0,  1.01, 0.99, 1.0,  1.02, 0.98,
                                     1.0, 1.01, 0.99, 1.0,  1.0,  1.01, 0.99};
  CHECK(warmup_readings(readings, 1) == 3);
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
