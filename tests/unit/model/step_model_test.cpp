// SPDX-License-Identifier: MIT
#include "slurmtune/model/step_model.hpp"

#include <array>
#include <vector>

#include "tests/support/catch.hpp"

using namespace slurmtune;

TEST_CASE("step model: recovers the law with constant accumulation", "[model]") {
  const auto law = [](std::int64_t micro_batch) {
    return 2.0 * (0.02 + 0.01 * static_cast<double>(micro_batch));
  };
  const std::array points{StepPoint{1, 2, law(1)}, StepPoint{4, 2, law(4)}};
  const auto model = StepModel::fit(points);
  REQUIRE(model);
  CHECK(model->fixed_s() == Approx(0.02));
  CHECK(model->per_sample_s() == Approx(0.01));
  CHECK(model->step_s(16, 2) == Approx(law(16)));
  CHECK(model->spread(16) > model->spread(5));
  CHECK(model->spread(4) == Approx(0.01));  // half of the prior's 2 %
}

TEST_CASE("step model: with a constant global batch the cost of a whole step is no other law",
          "[model]") {
  // t = 0.3 once a step + accumulation * (0.02 + 0.01 micro_batch), micro_batch * accumulation = 32
  const auto law = [](std::int64_t micro_batch) {
    const double accumulation = 32.0 / static_cast<double>(micro_batch);
    return 0.3 + accumulation * (0.02 + 0.01 * static_cast<double>(micro_batch));
  };
  const std::array points{StepPoint{1, 32, law(1)}, StepPoint{4, 8, law(4)}};
  const auto model = StepModel::fit(points);
  REQUIRE(model);
  CHECK(model->step_s(2, 16) == Approx(law(2)));
  CHECK(model->step_s(32, 1) == Approx(law(32)));
}

TEST_CASE("step model: costs are never negative", "[model]") {
  const std::array shrinking{StepPoint{1, 1, 0.5}, StepPoint{4, 1, 0.4}};
  const auto flat = StepModel::fit(shrinking);
  REQUIRE(flat);
  CHECK(flat->per_sample_s() == 0.0);
  CHECK(flat->step_s(64, 1) > 0.0);
  const std::array steep{StepPoint{1, 1, 0.1}, StepPoint{4, 1, 0.5}};
  const auto proportional = StepModel::fit(steep);
  REQUIRE(proportional);
  CHECK(proportional->fixed_s() == 0.0);
  CHECK(proportional->per_sample_s() > 0.0);
}

TEST_CASE("step model: points on the law make it surer, points off it less sure", "[model]") {
  std::vector<StepPoint> points;
  for (const std::int64_t micro_batch : {1, 2, 3, 4, 6, 8}) {
    points.push_back({micro_batch, 1, 0.02 + 0.01 * static_cast<double>(micro_batch)});
  }
  const auto on = StepModel::fit(points);
  points[2].step_s *= 1.2;
  points[4].step_s *= 0.85;
  const auto off = StepModel::fit(points);
  REQUIRE(on);
  REQUIRE(off);
  CHECK(on->spread(16) < 0.02);
  CHECK(off->spread(16) > 0.05);
}

TEST_CASE("step model: one micro-batch is no law, and a step without a time no point", "[model]") {
  CHECK_FALSE(StepModel::fit(std::array{StepPoint{4, 1, 0.1}, StepPoint{4, 2, 0.2}}));
  CHECK_FALSE(StepModel::fit(std::array{StepPoint{4, 1, 0.1}, StepPoint{8, 1, 0.0}}));
}

TEST_CASE("step model: beyond the largest two micro-batches their slope goes on", "[model]") {
  const std::vector<StepPoint> points{{1, 1, 0.5, 0.0}, {4, 2, 2.0, 0.02}, {8, 1, 3.0, 0.02}};
  const auto beyond = extrapolated_step(points, 12, 1);
  REQUIRE(beyond);
  CHECK(beyond->step_s == Approx(5.0));
  // 2 x 3.0 - 1.0, each with an error of 2 %.
  CHECK(beyond->deviation == Approx(std::hypot(2.0 * 0.06, 0.02) / 5.0));
  CHECK(extrapolated_step(points, 12, 3)->step_s == Approx(15.0));
  CHECK_FALSE(extrapolated_step(points, 8, 1));
  CHECK_FALSE(extrapolated_step(std::vector<StepPoint>{{4, 1, 1.0, 0.0}, {4, 1, 1.2, 0.0}}, 8, 1));
}

TEST_CASE("step model: readings of one micro-batch are averaged, and time never falls", "[model]") {
  const std::vector<StepPoint> points{{4, 1, 3.0, 0.02}, {8, 1, 2.0, 0.02}, {8, 1, 2.4, 0.02}};
  const auto beyond = extrapolated_step(points, 16, 1);
  REQUIRE(beyond);
  CHECK(beyond->step_s == Approx(2.2));
}
