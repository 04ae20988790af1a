// SPDX-License-Identifier: MIT
#include "slurmtune/search/boundary.hpp"

#include <numeric>

#include "slurmtune/model/statistics.hpp"

#include "tests/support/catch.hpp"

using namespace slurmtune;

namespace {

std::vector<std::int64_t> between(std::int64_t low, std::int64_t high) {
  std::vector<std::int64_t> found(static_cast<std::size_t>(high - low - 1));
  std::iota(found.begin(), found.end(), low + 1);
  return found;
}

/// A model that expects the boundary at `middle`, give or take `deviation`.
Boundary::FitModel expects(double middle, double deviation) {
  return [=](std::int64_t micro_batch) {
    return normal_cdf((middle - static_cast<double>(micro_batch)) / deviation);
  };
}

}  // namespace

TEST_CASE("boundary: evidence is certain, what lies between falls with the micro-batch",
          "[search]") {
  for (const auto& model : {Boundary::FitModel(), expects(20.0, 3.0)}) {
    const Boundary boundary({.smallest = 1, .fits = 8, .fails = 32}, model);
    CHECK(boundary.survival(4) == 1.0);
    CHECK(boundary.survival(8) == 1.0);
    CHECK(boundary.survival(32) == 0.0);
    CHECK(boundary.survival(64) == 0.0);
    for (std::int64_t micro_batch = 9; micro_batch <= 32; ++micro_batch) {
      CHECK(boundary.survival(micro_batch) <= boundary.survival(micro_batch - 1));
    }
  }
}

TEST_CASE("boundary: without a model the probes double geometrically", "[search]") {
  const Boundary boundary({.smallest = 1, .fits = 4, .fails = {}}, {});
  CHECK(boundary.probes(between(4, 1025), 3) == std::vector<std::int64_t>{7, 16, 64});
}

TEST_CASE("boundary: with a model the probes surround what it expects", "[search]") {
  const Boundary boundary({.smallest = 1, .fits = 4, .fails = {}}, expects(40.0, 2.0));
  const auto probes = boundary.probes(between(4, 1025), 3);
  REQUIRE(probes.size() == 3);
  CHECK(probes.front() >= 35);
  CHECK(probes.back() <= 45);
}

TEST_CASE("boundary: a sure model asks for one probe, not for many", "[search]") {
  const Boundary sure({.smallest = 1, .fits = 4, .fails = {}}, expects(1e6, 1.0));
  CHECK(sure.probes(between(4, 25), 1) == std::vector<std::int64_t>{24});
  CHECK(sure.probes(between(4, 25), 4).size() <= 2);
}

TEST_CASE("boundary: a contradicted model gives way to the tail", "[search]") {
  // It was sure of 6, and 100 fits.
  const Boundary boundary({.smallest = 1, .fits = 100, .fails = {}}, expects(6.0, 1.0));
  const auto probes = boundary.probes(between(100, 1025), 3);
  REQUIRE(probes.size() == 3);
  CHECK(probes.front() > 120);
  CHECK(probes.back() > 400);
}

TEST_CASE("boundary: probes are candidates, sorted, different, and at least one", "[search]") {
  const std::vector<std::int64_t> candidates{5, 6, 12, 24};
  for (std::size_t count = 1; count < 9; ++count) {
    const Boundary boundary({.smallest = 1, .fits = 4, .fails = 48}, {});
    const auto probes = boundary.probes(candidates, count);
    CHECK_FALSE(probes.empty());
    CHECK(probes.size() <= std::min(count, candidates.size()));
    CHECK(std::is_sorted(probes.begin(), probes.end()));
    for (const std::int64_t probe : probes) {
      CHECK(std::find(candidates.begin(), candidates.end(), probe) != candidates.end());
    }
  }
  CHECK(Boundary({.smallest = 1, .fits = 4, .fails = 5}, {}).probes({}, 3).empty());
}

TEST_CASE("boundary: probing finds every boundary in few rounds, whatever the model believes",
          "[search]") {
  for (const auto& model : {Boundary::FitModel(), expects(20.0, 2.0), expects(200.0, 5.0)}) {
    for (std::int64_t truth = 1; truth <= 256; truth += 5) {
      std::optional<std::int64_t> fits;
      std::optional<std::int64_t> fails;
      int rounds = 0;
      for (; rounds < 20; ++rounds) {
        const auto candidates = between(fits.value_or(0), fails.value_or(257));
        if (candidates.empty()) break;
        const Boundary boundary({.smallest = 1, .fits = fits, .fails = fails}, model);
        for (const std::int64_t probe : boundary.probes(candidates, 3)) {
          if (probe <= truth) fits = std::max(probe, fits.value_or(0));
          if (probe > truth) fails = std::min(probe, fails.value_or(probe));
        }
      }
      CAPTURE(truth);
      CHECK(fits == truth);
      CHECK(rounds <= 10);
    }
  }
}
