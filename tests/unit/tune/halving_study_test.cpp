// SPDX-License-Identifier: MIT
//
// Whole studies with strategy = "halving", on a simulated cluster.

#include <set>

#include "tests/support/catch.hpp"
#include "tests/unit/tune/simulated_study.hpp"

using namespace slurmtune;

namespace {

constexpr const char* large_study = R"(format = 1
name = "halving"
[trial]
nodes = 1
processes_per_node = 4
launcher = "srun"
command = ["run", "{p:a}", "{p:b}", "{p:c}"]
[measure]
startup_s = 60
stall_s = 30
min_steps = 4
max_steps = 36
[search]
strategy = "halving"
rounds = 4
width = 9
[[parameter]]
name = "a"
type = "int"
range = [1, 1000]
[[parameter]]
name = "b"
type = "int"
range = [1, 1000]
[[parameter]]
name = "c"
type = "int"
values = [1, 2, 3, 4]
[[constraint]]
expr = "a + b <= 1500"
)";

/// The larger c and the nearer a to 500, the faster.
void model(const Experiment& experiment, Verdict& verdict) {
  const auto a = static_cast<double>(experiment.configuration.integer("a").value());
  const auto c = static_cast<double>(experiment.configuration.integer("c").value());
  const double speed = 100.0 * c / (1.0 + std::abs(a - 500.0) / 1000.0);
  verdict.outcome = Outcome::ok;
  verdict.reason = "max_steps";
  verdict.metrics.throughput = Interval{0.99 * speed, speed, 1.01 * speed};
}

}  // namespace

TEST_CASE("halving: rounds of a third of the experiments at three times the steps", "[tune]") {
  SimulatedStudy study(large_study);
  study.trial = model;
  REQUIRE(study.process({Role::resume, 0}));
  study.run();
  INFO(study.last_error());
  REQUIRE(study.state().finished);
  std::map<int, std::size_t> by_steps;
  std::set<ConfigurationId> drawn;
  for (const StageView& stage : study.view().stages) {
    if (!stage.manifest) continue;
    for (const Experiment& experiment : stage.manifest->experiments) {
      if (experiment.purpose != Purpose::halving) continue;
      ++by_steps[experiment.max_steps];
      drawn.insert(experiment.configuration_id);
      CHECK(*experiment.configuration.integer("a") + *experiment.configuration.integer("b") <=
            1500);
    }
  }
  CHECK(by_steps == std::map<int, std::size_t>{{4, 36}, {12, 12}, {36, 4}});
  CHECK(drawn.size() == 36);
  const TuningResult result = study.result();
  REQUIRE(result.best);
  CHECK(result.best->repeats >= 3);
  // The best of 36 drawn ones: c is at its largest.
  CHECK(Configuration{result.best->values}.integer("c") == 4);
  REQUIRE(result.baseline);
}

TEST_CASE("halving: a small space is drawn from without repeats", "[tune]") {
  std::string text = large_study;
  for (int i = 0; i < 2; ++i) {
    const auto at = text.find("range = [1, 1000]");
    text.replace(at, 17, "values = [400, 500]");
  }
  SimulatedStudy study(text);
  study.trial = model;
  REQUIRE(study.process({Role::resume, 0}));
  study.run();
  REQUIRE(study.state().finished);
  const TuningResult result = study.result();
  REQUIRE(result.best);
  CHECK(Configuration{result.best->values}.integer("a") == 500);
  CHECK(Configuration{result.best->values}.integer("c") == 4);
}
