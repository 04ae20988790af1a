// SPDX-License-Identifier: MIT
#include "slurmtune/space/space_sample.hpp"

#include <map>
#include <set>

#include "tests/support/catch.hpp"
#include "tests/support/tuning_fixture.hpp"

using namespace slurmtune;
using namespace slurmtune::test;

namespace {

ParameterSpec parameter_of(const std::string& name, std::int64_t values,
                           const std::string& when = "") {
  ParameterSpec parameter;
  parameter.name = name;
  for (std::int64_t i = 0; i < values; ++i) parameter.values.emplace_back(i);
  parameter.when = when;
  return parameter;
}

Space space_of(std::vector<ParameterSpec> parameters, const std::string& constraint = "") {
  StudyInput input;
  input.spec.trial.command = {"run"};
  input.spec.parameters = std::move(parameters);
  if (!constraint.empty()) input.spec.constraints = {{constraint, 1}};
  auto space = make_space(input.spec);
  INFO((space ? std::string() : space.error().message));
  REQUIRE(space);
  return *std::move(space);
}

}  // namespace

TEST_CASE("sample_space: valid configurations, each once, the same for the same seed", "[space]") {
  const Space space = space_of({parameter_of("x", 10), parameter_of("y", 10)}, "x + y < 10");
  const auto sample = sample_space(space, 20, Seed{7});
  REQUIRE(sample.size() == 20);
  std::set<Configuration> different(sample.begin(), sample.end());
  CHECK(different.size() == 20);
  for (const Configuration& one : sample) CHECK(space.contains(one));
  CHECK(sample == sample_space(space, 20, Seed{7}));
  CHECK(sample != sample_space(space, 20, Seed{8}));
  CHECK(sample_space(space, 1000, Seed{7}).size() == 55);  // there are no more
}

TEST_CASE("sample_space: every configuration of a large space is as likely as every other",
          "[space]") {
  // 60,000 with c, 30,000 without: a draw parameter by parameter would take half and half.
  const Space space =
      space_of({parameter_of("a", 300), parameter_of("b", 200), parameter_of("c", 2, "a >= 150")});
  const auto sample = sample_space(space, 3000, Seed{1});
  REQUIRE(sample.size() == 3000);
  std::size_t with = 0;
  for (const Configuration& one : sample) {
    CHECK(space.contains(one));
    with += one.values.contains("c") ? 1U : 0U;
  }
  // 2,000 expected, with a deviation of 26.
  CHECK(with > 1870);
  CHECK(with < 2130);
}

TEST_CASE("sample_space: a space of ranges that cannot be listed is drawn from", "[space]") {
  ParameterSpec rate;
  rate.name = "rate";
  rate.type = ParameterType::real;
  rate.low = 1e-4;
  rate.high = 1.0;
  rate.scale = Scale::log;
  const Space space = space_of({parameter_of("x", 5), rate}, "rate * x < 3");
  const auto sample = sample_space(space, 400, Seed{3});
  REQUIRE(sample.size() == 400);
  std::size_t small = 0;
  for (const Configuration& one : sample) {
    CHECK(space.contains(one));
    small += std::get<double>(one.values.at("rate")) < 1e-2 ? 1U : 0U;
  }
  CHECK(small > 160);  // half of the decades
  CHECK(small < 260);
}
