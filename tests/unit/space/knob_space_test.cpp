// SPDX-License-Identifier: MIT
#include "slurmtune/space/knob_space.hpp"

#include <algorithm>
#include <set>

#include "slurmtune/input/ds_config_keys.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/tuning_fixture.hpp"

using namespace slurmtune;
using namespace slurmtune::test;

namespace {

const std::string zo = "zero_optimization.";

struct Made {
  StudyInput input;
  Space space;
  KnobSpace knobs;
};

Made made(StudyInput input, const KnobEvidence& evidence = {}) {
  input.spec.deepspeed->fast = false;
  auto space = make_space(input.spec);
  REQUIRE(space);
  auto knobs = make_knob_space(input, *space, evidence);
  INFO((knobs ? std::string() : knobs.error().message));
  REQUIRE(knobs);
  return {std::move(input), *space, *std::move(knobs)};
}

bool has(const std::vector<Knob>& knobs, const std::string& name) {
  return std::ranges::count(knobs, name, &Knob::name) == 1;
}

std::string reason(const KnobSpace& space, const std::string& what) {
  for (const Dropped& dropped : space.pruned()) {
    if (dropped.what == what) return dropped.because;
  }
  return "";
}

/// The dotted paths of keys in whose place a list is the choices of a knob.
void add_chosen(const KeyTable& table, std::set<std::string>& paths) {
  for (const KeyRow& row : table.rows) {
    if ((row.shapes & shape_choices) != 0)
      paths.insert(std::string(table.prefix) + std::string(row.key));
    if (row.table != nullptr) add_chosen(*row.table, paths);
  }
}

}  // namespace

TEST_CASE("knob space: a list is taken in a ds_config exactly where a template has a knob",
          "[space]") {
  std::set<std::string> taken;
  add_chosen(ds_config_keys(), taken);
  std::set<std::string> knobs;
  const auto templates = load_templates();
  REQUIRE(templates);
  for (const StageTemplate& layer : *templates) {
    for (const Knob& knob : layer.knobs) {
      const std::string target = knob_target(knob.name);
      if (target.starts_with("json:")) knobs.insert(target.substr(5));
    }
  }
  CHECK(taken == knobs);
}

TEST_CASE("knob space: each ZeRO stage has the knobs that act there", "[space]") {
  const Made study = made(deepspeed_input());
  CHECK_FALSE(has(study.knobs.knobs(0), zo + "reduce_bucket_size"));
  CHECK(has(study.knobs.knobs(1), zo + "reduce_bucket_size"));
  CHECK_FALSE(has(study.knobs.knobs(1), zo + "overlap_comm"));
  CHECK(has(study.knobs.knobs(2), zo + "overlap_comm"));
  CHECK_FALSE(has(study.knobs.knobs(2), zo + "stage3_prefetch_bucket_size"));
  CHECK(has(study.knobs.knobs(3), zo + "stage3_prefetch_bucket_size"));
  CHECK_FALSE(has(study.knobs.knobs(3), zo + "round_robin_gradients"));
  CHECK(has(study.knobs.knobs(3), zo + "offload_param.device"));
  CHECK_FALSE(has(study.knobs.knobs(2), zo + "offload_param.device"));
}

TEST_CASE("knob space: what a trial does anyway is not in its configuration", "[space]") {
  const Made study = made(deepspeed_input());
  const Configuration plain = zero(2, 4);
  CHECK(study.knobs.build(plain, {{zo + "reduce_bucket_size", Value(std::int64_t{500'000'000})}}) ==
        plain);
  const auto changed =
      study.knobs.build(plain, {{zo + "reduce_bucket_size", Value(std::int64_t{50'000'000})}});
  REQUIRE(changed);
  CHECK(changed->values.at(zo + "reduce_bucket_size") == Value(std::int64_t{50'000'000}));
  CHECK(study.knobs.build(
            *changed, {{zo + "reduce_bucket_size", Value(std::int64_t{500'000'000})}}) == plain);
  CHECK(study.knobs.contains(*changed));
  CHECK(study.space.contains(*changed));
  Configuration stranger = plain;
  stranger.values[zo + "reduce_bucket_size"] = std::int64_t{3};
  CHECK_FALSE(study.knobs.contains(stranger));
  stranger.values[zo + "reduce_bucket_size"] = std::int64_t{500'000'000};
  CHECK_FALSE(study.knobs.contains(stranger));  // it would be the same configuration by another id
}

TEST_CASE("space: a fast study contains no configuration with knobs", "[space]") {
  const StudyInput input = deepspeed_input();
  Configuration configuration = zero(1, 4);
  const auto space = make_space(input.spec);
  CHECK(space->contains(configuration));
  configuration.values[zo + "reduce_bucket_size"] = std::int64_t{50'000'000};
  CHECK_FALSE(space->contains(configuration));
}

TEST_CASE("knob space: a knob that does not act under the others' values is left out", "[space]") {
  const Made study = made(deepspeed_input());
  const Configuration plain = zero(3, 4);
  CHECK(study.knobs.build(plain, {{zo + "offload_optimizer.pin_memory", Value(true)}}) == plain);
  const auto both =
      study.knobs.build(plain, {{zo + "offload_optimizer.pin_memory", Value(true)},
                                {zo + "offload_optimizer.device", Value(std::string("cpu"))}});
  REQUIRE(both);
  CHECK(both->values.size() == plain.values.size() + 2);
  CHECK(study.knobs.contains(*both));
}

TEST_CASE("knob space: the user's value is law, also for what hangs on it", "[space]") {
  StudyInput input = deepspeed_input();
  input.spec.deepspeed->config_json =
      R"({"zero_optimization":{"overlap_comm":true,"offload_optimizer":{"device":"cpu"}}})";
  const Made study = made(input);
  CHECK_FALSE(has(study.knobs.knobs(2), zo + "overlap_comm"));
  CHECK(reason(study.knobs, zo + "overlap_comm") == "it is given: true");
  CHECK_FALSE(has(study.knobs.knobs(3), zo + "offload_optimizer.device"));
  // It is on the CPU for good: then whether the memory is pinned is a question.
  CHECK(has(study.knobs.knobs(3), zo + "offload_optimizer.pin_memory"));
  const auto pinned =
      study.knobs.build(zero(3, 4), {{zo + "offload_optimizer.pin_memory", Value(true)}});
  REQUIRE(pinned);
  CHECK(pinned->values.contains(zo + "offload_optimizer.pin_memory"));

  input.spec.deepspeed->config_json =
      R"({"zero_optimization":{"offload_optimizer":{"device":"none"}}})";
  CHECK_FALSE(has(made(input).knobs.knobs(3), zo + "offload_optimizer.pin_memory"));
}

TEST_CASE("knob space: what cannot matter on this machine is pruned, and said", "[space]") {
  StudyInput input = deepspeed_input();
  input.site.gpus_per_node = 0;
  Made study = made(input);
  CHECK_FALSE(has(study.knobs.knobs(2), "env:NCCL_ALGO"));
  CHECK_FALSE(has(study.knobs.knobs(2), zo + "offload_optimizer.device"));
  CHECK(reason(study.knobs, "env:NCCL_ALGO").find("NCCL needs GPUs") == 0);

  input.site.gpus_per_node = 4;
  input.spec.trial.nodes = 1;
  input.spec.trial.processes_per_node = 1;
  study = made(input);
  CHECK_FALSE(has(study.knobs.knobs(2), zo + "overlap_comm"));
  CHECK(reason(study.knobs, zo + "overlap_comm") == "one rank has no communication to overlap");
  CHECK(reason(study.knobs, zo + "zero_hpz_partition_size") ==
        "on one node all parameters are near already");

  CHECK_FALSE(has(made(deepspeed_input(), {.params = std::nullopt, .no_gpu = true}).knobs.knobs(2),
                  "env:NCCL_ALGO"));
}

TEST_CASE("knob space: choices larger than the model are pruned once it is known", "[space]") {
  const Made study = made(deepspeed_input(), {.params = 120e6});
  const auto& knobs = study.knobs.knobs(1);
  const auto bucket = std::ranges::find(knobs, zo + "reduce_bucket_size", &Knob::name);
  REQUIRE(bucket != knobs.end());
  CHECK(bucket->choices ==
        std::vector<Choice>{Value(std::int64_t{500'000'000}), Value(std::int64_t{50'000'000})});
  CHECK(reason(study.knobs, zo + "reduce_bucket_size = 200000000, 1000000000") ==
        "no different from 500000000: both exceed params = 1.2e+08");
}

TEST_CASE("knob space: the study's own parameters are knobs, from the baseline's value",
          "[space]") {
  StudyInput input = deepspeed_input();
  ParameterSpec parameter;
  parameter.name = "threads";
  parameter.values = {std::int64_t{1}, std::int64_t{4}};
  parameter.target = "env:THREADS";
  input.spec.parameters = {parameter};
  const Made study = made(input);
  REQUIRE(has(study.knobs.knobs(2), "threads"));
  Configuration plain = zero(2, 4);
  plain.values["threads"] = std::int64_t{1};
  const auto changed = study.knobs.build(plain, {{"threads", Value(std::int64_t{4})}});
  REQUIRE(changed);
  CHECK(changed->values.at("threads") == Value(std::int64_t{4}));
  CHECK(study.space.contains(*changed));
}

TEST_CASE("knob space: what one of the study's parameters sets is no knob besides", "[space]") {
  StudyInput input = deepspeed_input();
  ParameterSpec parameter;
  parameter.name = "bucket";
  parameter.values = {std::int64_t{1}, std::int64_t{4}};
  parameter.target = "json:" + zo + "reduce_bucket_size";
  input.spec.parameters = {parameter};
  const Made study = made(input);
  CHECK_FALSE(has(study.knobs.knobs(1), zo + "reduce_bucket_size"));
  CHECK(has(study.knobs.knobs(1), "bucket"));
  CHECK(reason(study.knobs, zo + "reduce_bucket_size") == "the [[parameter]] \"bucket\" sets it");
}
