// SPDX-License-Identifier: MIT
#include "slurmtune/base/random.hpp"

#include <array>
#include <cstdint>

#include "tests/support/catch.hpp"

using namespace slurmtune;

TEST_CASE("Random: gives the published sequences of SplitMix64", "[base]") {
  Random zero(Seed{0});
  CHECK(zero.next() == 0xe220a8397b1dcdafULL);
  CHECK(zero.next() == 0x6e789e6aa1b965f4ULL);
  CHECK(zero.next() == 0x06c45d188009454fULL);
  Random other(Seed{1234567});
  CHECK(other.next() == 6457827717110365317ULL);
  CHECK(other.next() == 3203168211198807973ULL);
  CHECK(other.next() == 9817491932198370423ULL);
}

TEST_CASE("Random: uniform stays in [0, 1) and has the mean of it", "[base]") {
  Random random(Seed{3});
  double sum = 0.0;
  constexpr int draws = 20'000;
  for (int i = 0; i < draws; ++i) {
    const double value = random.uniform();
    REQUIRE(value >= 0.0);
    REQUIRE(value < 1.0);
    sum += value;
  }
  CHECK(sum / draws == Approx(0.5).margin(0.01));  // five standard errors
}

TEST_CASE("Random: below reaches every value, equally often", "[base]") {
  Random random(Seed{5});
  std::array<int, 7> counts{};
  for (int i = 0; i < 70'000; ++i) ++counts.at(random.below(counts.size()));
  for (const int count : counts) CHECK(count == Approx(10'000).margin(500));  // five std. errors
  for (int i = 0; i < 100; ++i) CHECK(random.below(1) == 0);
  for (int i = 0; i < 100; ++i) CHECK(random.below(UINT64_MAX) < UINT64_MAX);
}
