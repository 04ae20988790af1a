// SPDX-License-Identifier: MIT
#include "slurmtune/model/linear_belief.hpp"

#include <cmath>

#include "slurmtune/base/random.hpp"
#include "slurmtune/model/cholesky.hpp"
#include "slurmtune/model/statistics.hpp"

#include "tests/support/catch.hpp"

namespace slurmtune {

TEST_CASE("Cholesky: solves, and knows the determinant", "[model]") {
  // A = L L^T with L = (2 0 0; 1 3 0; -1 2 1).
  const std::vector<double> matrix{4, 2, -2, 2, 10, 5, -2, 5, 6};
  const Cholesky factor(matrix, 3);
  const auto x = factor.solve(std::vector<double>{4.0, 17.0, 9.0});
  CHECK(4 * x[0] + 2 * x[1] - 2 * x[2] == Approx(4.0));
  CHECK(2 * x[0] + 10 * x[1] + 5 * x[2] == Approx(17.0));
  CHECK(-2 * x[0] + 5 * x[1] + 6 * x[2] == Approx(9.0));
  CHECK(factor.log_determinant() == Approx(2.0 * std::log(2.0 * 3.0 * 1.0)));
  CHECK(factor.inverse_form(std::vector<double>{4.0, 17.0, 9.0}) ==
        Approx(4.0 * x[0] + 17.0 * x[1] + 9.0 * x[2]));
}

TEST_CASE("Cholesky: a singular matrix has a factor too", "[model]") {
  const Cholesky factor(std::vector<double>{1, 1, 1, 1}, 2);
  for (const double x : factor.solve(std::vector<double>{1.0, 1.0})) CHECK(std::isfinite(x));
}

TEST_CASE("RidgeBelief: finds weights, and knows where it has not looked", "[model]") {
  WeightPrior level{0.0, 10.0};
  level.is_level = true;
  RidgeBelief belief({level, {0.0, 0.3}, {0.0, 0.3}}, 0.05);
  CHECK(belief.at(std::vector<double>{1.0, 0.0, 0.0}).deviation == Approx(10.0).epsilon(0.01));
  Random random(Seed{3});
  FeatureRows rows{3, {}};
  std::vector<double> y;
  for (int i = 0; i < 60; ++i) {
    const double a = draw_normal(random);
    rows.values.insert(rows.values.end(), {1.0, a, 0.0});
    y.push_back(7.0 + 0.4 * a + 0.05 * draw_normal(random));
  }
  belief.fit(rows, y);
  const Belief seen = belief.at(std::vector<double>{1.0, 1.0, 0.0});
  CHECK(seen.mean == Approx(7.4).margin(0.05));
  CHECK(seen.deviation < 0.12);
  CHECK(belief.at(std::vector<double>{1.0, 1.0, 1.0}).deviation > 2.0 * seen.deviation);
}

TEST_CASE("RidgeBelief: one value sets the level, and nothing else", "[model]") {
  WeightPrior level{0.0, 10.0};
  level.is_level = true;
  RidgeBelief belief({level, {0.0, 0.1}}, 0.05);
  belief.fit({2, {1.0, 0.0}}, std::vector<double>{5.0});
  const Belief elsewhere = belief.at(std::vector<double>{1.0, 1.0});
  CHECK(elsewhere.mean == Approx(5.0).epsilon(0.01));
  CHECK(elsewhere.deviation < 0.3);
}

TEST_CASE("LogisticBelief: keeps the sign that is known, whatever the data say", "[model]") {
  LogisticBelief belief({{0.0, 2.0}, {0.0, 1.0, 0.0}});
  // The data say that more of the feature fails more.
  FeatureRows rows{2, {}};
  std::vector<double> success;
  for (int i = 0; i < 20; ++i) {
    const double x = i < 10 ? -1.0 : 1.0;
    rows.values.insert(rows.values.end(), {1.0, x});
    success.push_back(x < 0.0 ? 1.0 : 0.0);
  }
  belief.fit(rows, success);
  const double low = belief.at(std::vector<double>{1.0, -1.0});
  const double high = belief.at(std::vector<double>{1.0, 1.0});
  CHECK(low == Approx(high).margin(1e-6));
  CHECK(low == Approx(0.5).margin(0.05));
}

TEST_CASE("LogisticBelief: separates outcomes, and stays moderate", "[model]") {
  LogisticBelief belief({{0.0, 2.0}, {0.0, 1.0, 0.0}});
  FeatureRows rows{2, {}};
  std::vector<double> success;
  for (int i = 0; i < 20; ++i) {
    const double x = (i - 9.5) / 5.0;
    rows.values.insert(rows.values.end(), {1.0, x});
    success.push_back(x > 0.0 ? 1.0 : 0.0);
  }
  belief.fit(rows, success);
  CHECK(belief.at(std::vector<double>{1.0, -1.5}) < 0.2);
  CHECK(belief.at(std::vector<double>{1.0, 1.5}) > 0.8);
  CHECK(belief.at(std::vector<double>{1.0, 1.5}) < 0.999);
  CHECK(belief.at(std::vector<double>{1.0, 0.0}) == Approx(0.5).margin(0.1));
}

}  // namespace slurmtune
