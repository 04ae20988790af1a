// SPDX-License-Identifier: MIT
#include "slurmtune/model/point_prior.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "slurmtune/base/random.hpp"

#include "tests/support/catch.hpp"

namespace slurmtune {

namespace {

LevelParameter numbers(const std::string& name, const std::string& role,
                       std::vector<std::int64_t> values) {
  LevelParameter made;
  made.name = name;
  made.role = role;
  for (const auto value : values) made.levels.emplace_back(value);
  return made;
}

LevelParameter words(const std::string& name, const std::string& role,
                     std::vector<std::string> values) {
  LevelParameter made;
  made.name = name;
  made.role = role;
  made.type = ParameterType::categorical;
  for (auto& value : values) made.levels.emplace_back(std::move(value));
  return made;
}

std::vector<LevelParameter> layouts() {
  return {numbers("a", "tensor_parallel", {1, 2, 4, 8}), numbers("b", "micro_batch", {1, 2, 4, 8}),
          words("c", "activation_checkpointing", {"none", "full"}),
          words("kernel", "", {"x", "y"})};
}

std::vector<Levels> all_of(const std::vector<LevelParameter>& space) {
  std::vector<Levels> points{{}};
  for (const LevelParameter& parameter : space) {
    std::vector<Levels> longer;
    for (const Levels& point : points) {
      for (std::size_t level = 0; level < parameter.levels.size(); ++level) {
        longer.push_back(point);
        longer.back().push_back(static_cast<std::int32_t>(level));
      }
    }
    points = std::move(longer);
  }
  return points;
}

LayoutFacts seven_billion() {
  LayoutFacts facts = nominal_facts();
  ModelSpec model;
  model.hidden = 4096.0;
  model.layers = 32.0;
  model.vocabulary = 32000.0;
  model.sequence_length = 4096.0;
  set_shape(facts, model);
  facts.gpu_bytes = 79.0 * 1024.0 * 1024.0 * 1024.0;
  facts.gpus = 8.0;
  facts.global_batch = 256.0;
  return facts;
}

PriorTrial measured(const Levels& levels, double value) {
  return {levels, PriorOutcome::measured, value};
}

PriorTrial failed(const Levels& levels) { return {levels, PriorOutcome::does_not_fit, 0.0}; }

}  // namespace

TEST_CASE("point prior: before trials it is what the formulas say", "[model]") {
  const auto space = layouts();
  const auto points = all_of(space);
  const auto prior = make_point_prior(space, seven_billion(), points, RoleSource::given);
  CHECK(prior->is_informed());
  const PriorOfPoint small = prior->of(Levels{1, 0, 0, 0});
  const PriorOfPoint large = prior->of(Levels{1, 3, 0, 0});
  const PriorOfPoint recomputed = prior->of(Levels{1, 0, 1, 0});
  CHECK(small.fits > large.fits);
  CHECK(small.log_value > recomputed.log_value);
  CHECK(recomputed.fits >= small.fits);
  // Never sure: log-odds within 3.
  for (const Levels& point : points) {
    CHECK(prior->of(point).fits > 0.04);
    CHECK(prior->of(point).fits < 0.96);
  }
}

TEST_CASE("point prior: roles alone give an order, and less is sure", "[model]") {
  const auto space = layouts();
  const auto points = all_of(space);
  const auto vague = make_point_prior(space, nominal_facts(), points, RoleSource::given);
  CHECK(vague->is_informed());
  CHECK(vague->of(Levels{3, 0, 1, 0}).fits > vague->of(Levels{0, 3, 0, 0}).fits);
  double sum = 0.0;
  for (const Levels& point : points) sum += vague->of(point).fits;
  const double share = sum / static_cast<double>(points.size());
  CHECK(share > 0.3);
  CHECK(share < 0.6);
}

TEST_CASE("point prior: without roles all points are alike until trials tell", "[model]") {
  const std::vector<LevelParameter> space{numbers("p", "", {1, 2, 4, 8}),
                                          words("q", "", {"u", "v"})};
  const auto prior = make_point_prior(space, nominal_facts(), all_of(space), RoleSource::given);
  CHECK_FALSE(prior->is_informed());
  CHECK(prior->of(Levels{0, 0}).log_value == prior->of(Levels{3, 1}).log_value);
  const std::vector<Levels> at{{0, 0}, {1, 0}, {2, 0}, {3, 1}, {2, 1}};
  const std::vector<PriorTrial> trials{measured(at[0], 10.0), measured(at[1], 20.0),
                                       measured(at[2], 40.0), failed(at[3]), failed(at[4])};
  const auto told = prior->calibrated(trials);
  CHECK(told->of(Levels{3, 0}).log_value > told->of(Levels{0, 0}).log_value);
  CHECK(told->of(Levels{1, 1}).fits < told->of(Levels{1, 0}).fits);
}

TEST_CASE("point prior: parameters' names count where they may", "[model]") {
  const std::vector<LevelParameter> space{numbers("tp", "", {1, 8}), numbers("mbs", "", {1, 8})};
  const auto points = all_of(space);
  CHECK_FALSE(make_point_prior(space, nominal_facts(), points, RoleSource::given)->is_informed());
  const auto named = make_point_prior(space, nominal_facts(), points);
  CHECK(named->is_informed());
  CHECK(named->of(Levels{1, 0}).fits > named->of(Levels{0, 1}).fits);
}

TEST_CASE("point prior: outcomes move what they settle, and their likes", "[model]") {
  const auto space = layouts();
  const auto points = all_of(space);
  const auto prior = make_point_prior(space, seven_billion(), points, RoleSource::given);
  const Levels middle{1, 2, 0, 0};
  const std::vector<PriorTrial> one{failed(middle)};
  const auto told = prior->calibrated(one);
  // Settled by order.
  CHECK(told->of(Levels{0, 3, 0, 0}).fits <= 0.031);
  // Not comparable, for the kernel differs: a little less than before.
  CHECK(told->of(Levels{1, 2, 0, 1}).fits < prior->of(Levels{1, 2, 0, 1}).fits);
  const std::vector<PriorTrial> other{measured(middle, 100.0)};
  const auto glad = prior->calibrated(other);
  CHECK(glad->of(Levels{2, 1, 1, 0}).fits >= 0.969);
  CHECK(glad->of(middle).log_value == Approx(std::log(100.0)).margin(0.05));
}

TEST_CASE("point prior: the order of trials does not matter", "[model]") {
  const auto space = layouts();
  const auto points = all_of(space);
  const auto prior = make_point_prior(space, seven_billion(), points, RoleSource::given);
  std::vector<PriorTrial> trials;
  for (std::size_t i = 0; i < points.size(); i += 3) {
    trials.push_back(i % 2 == 0 ? measured(points[i], 50.0 + static_cast<double>(i))
                                : failed(points[i]));
  }
  const auto forward = prior->calibrated(trials);
  std::ranges::reverse(trials);
  const auto backward = prior->calibrated(trials);
  for (const Levels& point : points) {
    CHECK(forward->of(point).log_value == backward->of(point).log_value);
    CHECK(forward->of(point).log_value_sd == backward->of(point).log_value_sd);
    CHECK(forward->of(point).fits == backward->of(point).fits);
  }
}

TEST_CASE("point prior: a time that is to be small is a value too", "[model]") {
  const auto space = layouts();
  const auto points = all_of(space);
  const auto prior = make_point_prior(space, seven_billion(), points, RoleSource::given);
  const std::vector<Levels> at{{1, 0, 0, 0}, {1, 0, 0, 1}, {2, 0, 0, 0}, {2, 0, 0, 1}};
  const std::vector<PriorTrial> times{measured(at[0], -2.0), measured(at[1], -1.0),
                                      measured(at[2], -2.2), measured(at[3], -1.1)};
  const auto told = prior->calibrated(times);
  CHECK(told->of(at[1]).log_value > told->of(at[0]).log_value);
  CHECK(told->of(at[0]).log_value == Approx(-std::log(2.0)).margin(0.2));
  // Values of both signs say nothing of values.
  const std::vector<PriorTrial> both{measured(at[0], -2.0), measured(at[1], 1.0)};
  const auto same = prior->calibrated(both);
  CHECK(same->of(at[0]).log_value == prior->of(at[0]).log_value);
}

TEST_CASE("point prior: trials correct formulas that are wrong", "[model]") {
  const auto space = layouts();
  const auto points = all_of(space);
  const auto prior = make_point_prior(space, seven_billion(), points, RoleSource::given);
  // In truth kernel y is 1.5 times as fast, and each doubling of tensor parallelism costs 20 % more
  // than the formulas say.
  const auto truth = [&](const Levels& point) {
    return prior->of(point).log_value + (point[3] == 1 ? std::log(1.5) : 0.0) - 0.2 * point[0];
  };
  Random random(Seed{11});
  std::vector<Levels> at;
  for (int i = 0; i < 16; ++i) at.push_back(points[random.below(points.size())]);
  std::vector<PriorTrial> trials;
  for (const Levels& point : at) trials.push_back(measured(point, std::exp(truth(point))));
  const auto told = prior->calibrated(trials);
  double worst = 0.0;
  for (const Levels& point : points) {
    worst = std::max(worst, std::abs(told->of(point).log_value - truth(point)));
  }
  CHECK(worst < 0.15);
}

}  // namespace slurmtune
