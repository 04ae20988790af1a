// SPDX-License-Identifier: MIT
#include "slurmtune/model/statistics.hpp"

#include <array>
#include <cmath>
#include <vector>

#include "tests/support/catch.hpp"

using namespace slurmtune;

TEST_CASE("statistics: the normal distribution has its textbook values", "[model]") {
  CHECK(normal_cdf(0.0) == Approx(0.5));
  CHECK(normal_cdf(1.959964) == Approx(0.975).epsilon(1e-6));
  CHECK(normal_cdf(-1.0) == Approx(0.158655).epsilon(1e-5));
}

TEST_CASE("statistics: Student's t has its textbook values and comes near the normal", "[model]") {
  CHECK(student_t_975(1) == Approx(12.706));
  CHECK(student_t_975(2) == Approx(4.303));
  CHECK(student_t_975(30) == Approx(2.042));
  CHECK(student_t_975(40) == Approx(2.021).epsilon(1e-3));
  CHECK(student_t_975(120) == Approx(1.980).epsilon(1e-3));
  for (int degrees = 1; degrees < 60; ++degrees) {
    CHECK(student_t_975(degrees + 1) <= student_t_975(degrees));
  }
}

TEST_CASE("statistics: the interval of a mean is Student's", "[model]") {
  const std::array values{9.0, 10.0, 11.0};
  const Interval interval = mean_interval(values);
  CHECK(interval.mid == Approx(10.0));
  CHECK(interval.high - interval.mid == Approx(4.303 / std::sqrt(3.0)));
  CHECK(interval.mid - interval.low == Approx(interval.high - interval.mid));
}

TEST_CASE("statistics: draws have the moments of their distributions", "[model]") {
  Random chance(Seed{7});
  double sum = 0.0;
  double squares = 0.0;
  int beyond = 0;
  constexpr int count = 20'000;
  for (int i = 0; i < count; ++i) {
    const double normal = draw_normal(chance);
    sum += normal;
    squares += normal * normal;
    if (std::abs(draw_student_t(chance, 3)) > student_t_975(3)) ++beyond;
  }
  CHECK(sum / count == Approx(0.0).margin(0.03));
  CHECK(squares / count == Approx(1.0).epsilon(0.03));
  CHECK(static_cast<double>(beyond) / count == Approx(0.05).margin(0.006));
}

TEST_CASE("fit_affine: recovers a line, and what points leave of it", "[model]") {
  const std::array line{Point{1, 5}, Point{2, 7}, Point{4, 11}};
  const auto fit = fit_affine(line);
  REQUIRE(fit);
  CHECK(fit->intercept == Approx(3.0));
  CHECK(fit->slope == Approx(2.0));
  CHECK(fit->residual == Approx(0.0).margin(1e-9));
  CHECK(fit->at(10) == Approx(23.0));

  const std::array bent{Point{1, 5}, Point{2, 8}, Point{3, 9}};
  const auto left = fit_affine(bent);
  REQUIRE(left);
  CHECK(left->residual == Approx(std::sqrt(2.0 / 9.0)));
}

TEST_CASE("fit_affine: one x is no line", "[model]") {
  CHECK_FALSE(fit_affine(std::array{Point{4, 1}}));
  CHECK_FALSE(fit_affine(std::array{Point{4, 1}, Point{4, 2}, Point{4, 3}}));
  CHECK_FALSE(fit_affine(std::vector<Point>{}));
}
