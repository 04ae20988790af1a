// SPDX-License-Identifier: MIT
#include "slurmtune/simulate/performance_surface.hpp"

#include "tests/support/catch.hpp"

using namespace slurmtune;

TEST_CASE("training_surface: knobs change the time of a step and the memory, and may make it fit",
          "[simulate]") {
  TrainingFacts facts;
  facts.gpu_bytes = 30e9;
  facts.knobs[{"zero_optimization.overlap_comm", "true"}] = {.time_factor = 0.9, .more_bytes = 0.0};
  facts.knobs[{"zero_optimization.offload_optimizer.device", "cpu"}] = {.time_factor = 1.5,
                                                                        .more_bytes = -20e9};
  const Surface surface = training_surface(facts);
  Configuration configuration{{{"zero_stage", std::int64_t{1}}, {"micro_batch", std::int64_t{4}}}};
  const SurfacePoint plain = surface(configuration);
  REQUIRE(plain.outcome == Outcome::ok);

  Configuration faster = configuration;
  faster.values["zero_optimization.overlap_comm"] = true;
  CHECK(surface(faster).step_s == Approx(0.9 * plain.step_s));
  faster.values["zero_optimization.overlap_comm"] = false;
  CHECK(surface(faster).step_s == plain.step_s);

  configuration.values["micro_batch"] = std::int64_t{40};
  CHECK(surface(configuration).outcome == Outcome::gpu_oom);
  configuration.values["zero_optimization.offload_optimizer.device"] = std::string("cpu");
  CHECK(surface(configuration).outcome == Outcome::ok);
}
