// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <vector>

#include "slurmtune/search/surrogate/expected_improvement.hpp"
#include "slurmtune/search/surrogate/gaussian_process.hpp"
#include "slurmtune/search/surrogate/level_coordinates.hpp"
#include "slurmtune/search/surrogate/random_trees.hpp"
#include "slurmtune/search/surrogate/value_scale.hpp"

#include "tests/support/catch.hpp"
#include "tests/unit/search/tables.hpp"

using namespace slurmtune;
using namespace slurmtune::tests;

TEST_CASE("Powers of two are evenly apart, words all 1", "[search]") {
  const std::vector<LevelParameter> parameters{numbers("x", {1, 2, 4, 8, 16}),
                                               words("c", {"a", "b", "c"})};
  const LevelCoordinates coordinates(parameters);
  const auto bins = [&](std::int32_t x, std::int32_t c) {
    return coordinates.bins_of(Levels{x, c});
  };
  CHECK(coordinates.distance2(bins(0, 0), bins(4, 0)) == Approx(1.0));
  CHECK(coordinates.distance2(bins(1, 0), bins(2, 0)) == Approx(1.0 / 16.0));
  CHECK(coordinates.distance2(bins(1, 0), bins(1, 2)) == Approx(1.0));
  CHECK(coordinates.distance2(bins(-1, 1), bins(4, 1)) == Approx(1.0));
}

TEST_CASE("Levels beyond the number of bins share them in order", "[search]") {
  std::vector<std::int64_t> many;
  for (std::int64_t i = 0; i < 1000; ++i) many.push_back(i);
  const std::vector<LevelParameter> parameters{numbers("x", many)};
  const LevelCoordinates coordinates(parameters);
  CHECK(coordinates.bin_count(0) == 1 + LevelCoordinates::bins_max);
  CHECK(coordinates.bins_of(Levels{0})[0] == 1);
  CHECK(coordinates.bins_of(Levels{999})[0] == LevelCoordinates::bins_max);
}

TEST_CASE("A Gaussian process goes through what it saw and is unsure elsewhere", "[search]") {
  const std::vector<LevelParameter> parameters{numbers("x", {1, 2, 4, 8, 16, 32, 64, 128, 256}),
                                               numbers("y", {1, 2, 4, 8, 16, 32, 64, 128, 256})};
  const LevelCoordinates coordinates(parameters);
  GaussianProcess process(coordinates);
  std::vector<Bins> points;
  std::vector<double> values;
  const auto value = [](int x, int y) { return std::sin(0.5 * x) + 0.1 * y - 1.0; };
  for (int x = 0; x < 9; x += 2) {
    for (int y = 0; y < 5; y += 2) {
      points.push_back(coordinates.bins_of(Levels{x, y}));
      values.push_back(value(x, y));
    }
  }
  process.fit(points, values, 100, 30);
  const auto seen = process.believe(points[4]);
  CHECK(seen.mean == Approx(values[4]).margin(0.05));
  const auto between = process.believe(coordinates.bins_of(Levels{3, 1}));
  CHECK(between.mean == Approx(value(3, 1)).margin(0.15));
  const auto far = process.believe(coordinates.bins_of(Levels{3, 8}));
  CHECK(far.variance > 3.0 * seen.variance);

  SECTION("a condition takes doubt away near it and leaves means as they are") {
    std::vector<Bins> asked{coordinates.bins_of(Levels{3, 8}), coordinates.bins_of(Levels{4, 8}),
                            coordinates.bins_of(Levels{3, 0})};
    std::vector<GaussianProcess::Belief> beliefs;
    for (const Bins& point : asked) beliefs.push_back(process.believe(point));
    const auto before = beliefs;
    process.condition_on(asked[0], beliefs[0], asked, beliefs);
    CHECK(beliefs[0].variance < 0.5 * before[0].variance);
    CHECK(beliefs[1].variance < before[1].variance);
    CHECK(beliefs[1].mean == before[1].mean);
  }
}

TEST_CASE("A condition is worth as much as a measurement of the same point", "[search]") {
  const std::vector<LevelParameter> parameters{numbers("x", {1, 2, 4, 8, 16, 32})};
  const LevelCoordinates coordinates(parameters);
  const auto at = [&](int x) { return coordinates.bins_of(Levels{x}); };
  // No step of teaching: both have the same covariance.
  GaussianProcess process(coordinates);
  process.fit({at(0), at(3)}, {0.5, -0.5}, 2, 0);
  std::vector<Bins> asked{at(5), at(4)};
  std::vector<GaussianProcess::Belief> beliefs{process.believe(asked[0]),
                                               process.believe(asked[1])};
  const double mean = beliefs[0].mean;
  process.condition_on(asked[0], beliefs[0], asked, beliefs);
  GaussianProcess measured(coordinates);
  measured.fit({at(0), at(3), at(5)}, {0.5, -0.5, mean}, 3, 0);
  const auto expected = measured.believe(at(4));
  CHECK(beliefs[1].mean == Approx(expected.mean).margin(1e-5));
  CHECK(beliefs[1].variance == Approx(expected.variance).margin(1e-5));
}

TEST_CASE("Equal points with different values are noise, not an error", "[search]") {
  const std::vector<LevelParameter> parameters{numbers("x", {1, 2, 4})};
  const LevelCoordinates coordinates(parameters);
  GaussianProcess process(coordinates);
  const Bins point = coordinates.bins_of(Levels{1});
  process.fit({point, point, point, point}, {1.0, -1.0, 0.5, -0.5}, 4, 15);
  CHECK(std::abs(process.believe(point).mean) < 0.2);
  CHECK(process.noise_variance() > 0.05);
}

TEST_CASE("Random trees learn an interaction of two features", "[search]") {
  std::vector<RandomTrees::Features> features;
  std::vector<double> targets;
  for (int x = 0; x < 10; ++x) {
    for (int y = 0; y < 10; ++y) {
      features.push_back({static_cast<float>(x), static_cast<float>(y)});
      targets.push_back(x > 4 && y > 4 ? 1.0 : 0.0);
    }
  }
  Random random(Seed{1});
  RandomTrees trees;
  CHECK(trees.predict({1.0F, 1.0F}) == 0.0);
  trees.fit(features, targets, 50, random);
  CHECK(trees.predict({7.5F, 8.5F}) > 0.9);
  CHECK(trees.predict({1.5F, 8.5F}) < 0.1);
}

TEST_CASE("Expected improvement is right where it is large and finite where it is not",
          "[search]") {
  // s (z Phi(z) + phi(z)) at z = 0: 0.39894 s
  CHECK(std::exp(log_expected_improvement(1.0, 2.0, 1.0)) == Approx(2.0 * 0.39894).epsilon(1e-4));
  CHECK(std::exp(log_expected_improvement(5.0, 0.01, 1.0)) == Approx(4.0));
  const double above = log_expected_improvement(-5.99, 1.0, 0.0);
  const double below = log_expected_improvement(-6.01, 1.0, 0.0);
  CHECK(above - below == Approx(0.126).margin(0.02));
  CHECK(std::isfinite(log_expected_improvement(-1e4, 1e-3, 0.0)));
}

TEST_CASE("Scaled values keep their order and draw what is bad nearer", "[search]") {
  const auto scaled = scaled_values({-100.0, -10.0, -12.0, -11.0, -1e6});
  CHECK(scaled[1] > scaled[3]);
  CHECK(scaled[3] > scaled[2]);
  CHECK(scaled[2] > scaled[0]);
  CHECK(scaled[0] > scaled[4]);
  CHECK(scaled[2] - scaled[4] < 10.0 * (scaled[1] - scaled[2]));
  CHECK(scaled_values({3.0, 3.0}) == std::vector<double>{0.0, 0.0});
}
