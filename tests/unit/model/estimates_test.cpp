// SPDX-License-Identifier: MIT
#include "slurmtune/model/estimates.hpp"

#include <cmath>

#include "tests/support/catch.hpp"
#include "tests/support/tuning_fixture.hpp"

using namespace slurmtune;
using namespace slurmtune::test;

namespace {

/// A history of single readings and of repeats.
class Readings {
 public:
  Readings& once(const Configuration& configuration, double throughput) {
    return add(experiment_of(configuration), throughput);
  }
  Readings& repeats(const Configuration& configuration, const std::vector<double>& throughputs) {
    int repeat = 0;
    for (const double throughput : throughputs) {
      add(experiment_of(configuration, Purpose::confirm, ++repeat), throughput);
    }
    return *this;
  }
  [[nodiscard]] std::vector<Estimate> estimates(const Configuration& baseline = zero(0, 1)) {
    history_ = History();
    history_.add(manifest_of("01-profile", experiments_), verdicts_);
    return estimate_all(history_, *Objective::compile(deepspeed_input()),
                        configuration_id(baseline));
  }

 private:
  Readings& add(const Experiment& experiment, double throughput) {
    experiments_.push_back(experiment);
    verdicts_.push_back(ok(experiment, throughput));
    return *this;
  }

  std::vector<Experiment> experiments_;
  std::vector<Verdict> verdicts_;
  History history_;
};

}  // namespace

TEST_CASE("estimates: repeats of confirm replace the lucky single reading", "[model]") {
  Readings readings;
  readings.once(zero(0, 4), 120.0).once(zero(1, 4), 100.0).once(zero(2, 4), 110.0);
  readings.repeats(zero(0, 4), {90.0, 91.0, 89.0}).repeats(zero(1, 4), {100.0, 101.0, 99.0});
  const auto estimates = readings.estimates();
  REQUIRE(estimates.size() == 3);
  CHECK(estimates[0].configuration == zero(1, 4));
  const double middle = std::cbrt(100.0 * 101.0 * 99.0);  // the geometric mean
  CHECK(estimates[0].score.mid == Approx(middle));
  CHECK(estimates[0].score.high == Approx(middle * std::exp(4.303 * 0.01 / std::sqrt(3.0))));
  CHECK(estimates[0].score.low == Approx(middle * middle / estimates[0].score.high));
  CHECK(estimates[1].configuration == zero(0, 4));
  CHECK(estimates[2].configuration == zero(2, 4));  // higher, but nothing confirms it
  CHECK_FALSE(estimates[2].confirmed);
}

TEST_CASE("estimates: the interval of noisy repeats stays above 0", "[model]") {
  Readings readings;
  readings.repeats(zero(0, 4), {100.0, 40.0, 10.0});
  const auto estimates = readings.estimates();
  REQUIRE(estimates.size() == 1);
  CHECK(estimates[0].score.low > 0.0);
  CHECK(estimates[0].score.low < 10.0);
  CHECK(estimates[0].score.mid == Approx(std::cbrt(100.0 * 40.0 * 10.0)));
  CHECK(estimates[0].score.high > 100.0);
}

TEST_CASE("estimates: one surviving repeat has its own interval", "[model]") {
  Readings readings;
  readings.repeats(zero(0, 4), {90.0});
  const auto estimates = readings.estimates();
  REQUIRE(estimates.size() == 1);
  CHECK(estimates[0].score == about(90.0));
  CHECK(estimates[0].confirmed);
}

TEST_CASE("estimates: ties go to the baseline, then to the smaller values", "[model]") {
  Readings readings;
  readings.once(zero(2, 4), 100.0).once(zero(1, 8), 100.0).once(zero(1, 4), 100.0);
  CHECK(readings.estimates(zero(2, 4))[0].configuration == zero(2, 4));
  // Values are ordered by name: gradient_accumulation, micro_batch, zero_stage.
  CHECK(readings.estimates(zero(3, 1))[0].configuration == zero(1, 4));
  CHECK(readings.estimates(zero(3, 1))[1].configuration == zero(2, 4));
}

TEST_CASE("ratio_of: pairs repeats, so that what is common to a repeat cancels", "[model]") {
  Readings readings;
  readings.repeats(zero(0, 4), {110.0, 88.0, 132.0}).repeats(zero(1, 4), {100.0, 80.0, 120.0});
  const auto estimates = readings.estimates();
  const Interval ratio = ratio_of(estimates[0], estimates[1]);
  CHECK(ratio.mid == Approx(1.1));
  CHECK(ratio.low == Approx(1.1));
  CHECK(ratio.high == Approx(1.1));
}

TEST_CASE("ratio_of: without two common repeats the intervals of both count", "[model]") {
  Readings readings;
  readings.once(zero(0, 4), 110.0).once(zero(1, 4), 100.0);
  const auto estimates = readings.estimates();
  const Interval ratio = ratio_of(estimates[0], estimates[1]);
  CHECK(ratio.mid == Approx(1.1));
  CHECK(ratio.high == Approx(1.1 * std::exp(0.005 * std::sqrt(2.0))));
  CHECK(ratio_of(estimates[0], estimates[0]) == Interval{1.0, 1.0, 1.0});
}

TEST_CASE("probabilities_best: equal repeats without spread share every draw", "[model]") {
  Readings two;
  two.repeats(zero(0, 4), {400.0, 400.0, 400.0}).repeats(zero(1, 4), {400.0, 400.0, 400.0});
  CHECK(probabilities_best(two.estimates(), Seed{1}) == std::vector<double>{0.5, 0.5});

  Readings behind;
  behind.repeats(zero(0, 4), {0.1, 0.1, 0.1}).repeats(zero(1, 4), {0.1, 0.1, 0.1, 0.1, 0.1, 0.1});
  behind.repeats(zero(2, 4), {0.09, 0.09, 0.09});
  CHECK(probabilities_best(behind.estimates(), Seed{1}) == std::vector<double>{0.5, 0.5, 0.0});
}

TEST_CASE("probabilities_best: near one for a clear winner, shared in a tie, same for same seed",
          "[model]") {
  Readings clear;
  clear.repeats(zero(0, 4), {120.0, 121.0, 119.0}).repeats(zero(1, 4), {100.0, 101.0, 99.0});
  CHECK(probabilities_best(clear.estimates(), Seed{1})[0] > 0.99);

  Readings tie;
  tie.repeats(zero(0, 4), {99.0, 100.0, 101.0}).repeats(zero(1, 4), {101.0, 100.0, 99.0});
  const auto shared = probabilities_best(tie.estimates(), Seed{1});
  CHECK(shared[0] == Approx(0.5).margin(0.05));
  CHECK(shared[0] + shared[1] == Approx(1.0).margin(0.002));
  CHECK(shared == probabilities_best(tie.estimates(), Seed{1}));

  Readings alone;
  alone.once(zero(0, 4), 1.0);
  CHECK(probabilities_best(alone.estimates(), Seed{1}) == std::vector<double>{1.0});
}
