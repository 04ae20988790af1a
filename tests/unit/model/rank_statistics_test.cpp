// SPDX-License-Identifier: MIT
#include "slurmtune/model/rank_statistics.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "slurmtune/base/random.hpp"
#include "slurmtune/model/statistics.hpp"

#include "tests/support/catch.hpp"

namespace slurmtune {

namespace {

std::vector<double> all_walsh_averages(const std::vector<double>& values) {
  std::vector<double> all;
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (std::size_t j = i; j < values.size(); ++j) all.push_back((values[i] + values[j]) / 2);
  }
  std::sort(all.begin(), all.end());
  return all;
}

}  // namespace

TEST_CASE("walsh_average: is the k-th of the list of all of them", "[model]") {
  Random random(Seed{3});
  for (int round = 0; round < 200; ++round) {
    std::vector<double> values(1 + random.below(20));
    for (double& value : values) value = std::floor(20.0 * random.uniform()) / 4.0 + 0.3;
    std::sort(values.begin(), values.end());
    const auto all = all_walsh_averages(values);
    REQUIRE(all.size() == walsh_count(values.size()));
    for (std::size_t k = 1; k <= all.size(); ++k) {
      CHECK(walsh_average(values, k) == Approx(all[k - 1]).epsilon(1e-14));
    }
    const std::size_t half = all.size() / 2;
    const double median = all.size() % 2 == 1 ? all[half] : (all[half - 1] + all[half]) / 2;
    CHECK(hodges_lehmann(values) == Approx(median).epsilon(1e-14));
  }
}

TEST_CASE("signed_rank_limit: agrees with the published table", "[model]") {
  // Wilcoxon's table, two-sided 5 %: the critical value is the limit less one.
  CHECK(signed_rank_limit(0) == 0);
  CHECK(signed_rank_limit(5) == 0);
  CHECK(signed_rank_limit(6) == 1);
  CHECK(signed_rank_limit(8) == 4);
  CHECK(signed_rank_limit(10) == 9);
  CHECK(signed_rank_limit(20) == 53);
  CHECK(signed_rank_limit(50) == 435);
  CHECK(signed_rank_limit(51) >= 435);
  CHECK(signed_rank_limit(51) <= 460);
}

TEST_CASE("signed_rank_coverage: at least 95 % at the limit, less beyond it", "[model]") {
  CHECK(signed_rank_coverage(2, 1) == Approx(0.5));
  CHECK(signed_rank_coverage(5, 1) == Approx(0.9375));
  CHECK(signed_rank_coverage(6, 1) == Approx(0.96875));
  for (std::size_t n = 6; n <= 50; ++n) {
    const std::size_t limit = signed_rank_limit(n);
    CHECK(signed_rank_coverage(n, limit) >= 0.95);
    CHECK(signed_rank_coverage(n, limit + 1) < 0.95);
  }
}

TEST_CASE("rank_autocorrelation: 0 for few or equal values, near the truth for many", "[model]") {
  CHECK(rank_autocorrelation(std::vector<double>{}) == 0.0);
  CHECK(rank_autocorrelation(std::vector<double>{1.0, 2.0}) == 0.0);
  CHECK(rank_autocorrelation(std::vector<double>(9, 1.0)) == 0.0);
  Random random(Seed{8});
  std::vector<double> values;
  double state = 0.0;
  for (int i = 0; i < 4000; ++i) {
    values.push_back(state);
    state = 0.6 * state + 0.8 * draw_normal(random);
  }
  CHECK(rank_autocorrelation(values) == Approx(0.58).margin(0.05));
  std::vector<double> rising(50);
  for (std::size_t i = 0; i < rising.size(); ++i) rising[i] = static_cast<double>(i);
  CHECK(rank_autocorrelation(rising) > 0.9);
}

}  // namespace slurmtune
