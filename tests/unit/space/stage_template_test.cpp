// SPDX-License-Identifier: MIT
#include "slurmtune/space/stage_template.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "tests/support/catch.hpp"
#include "tests/support/tuning_fixture.hpp"

using namespace slurmtune;
using namespace slurmtune::test;

namespace {

const std::string bucket = "zero_optimization.reduce_bucket_size";

std::string file_of(const std::string& knobs, const std::string& head = "") {
  return R"({"format":"slurmtune.template","version":1,)" + head + R"("knobs":[)" + knobs + "]}";
}

StageTemplate loaded(const std::string& text) {
  auto stage_template = load_template(text, "test.json");
  INFO((stage_template ? std::string() : stage_template.error().message));
  REQUIRE(stage_template);
  return *std::move(stage_template);
}

std::string message(const std::string& text) {
  const auto stage_template = load_template(text, "zero9.json");
  return stage_template ? std::string() : stage_template.error().message;
}

std::vector<Choice> integers(std::initializer_list<std::int64_t> values) {
  return {values.begin(), values.end()};
}

StageTemplate filled(const StageTemplate& stage_template, const std::string& config) {
  StudyInput input = deepspeed_input();
  input.spec.deepspeed->config_json = config;
  const auto found = fill_template(stage_template, input.spec);
  INFO((found ? std::string() : found.error().message));
  REQUIRE(found);
  return *found;
}

PrunedTemplate pruned(const StageTemplate& stage_template, const TemplateFacts& facts) {
  const auto found = prune_template(stage_template, facts);
  INFO((found ? std::string() : found.error().message));
  REQUIRE(found);
  return *found;
}

}  // namespace

TEST_CASE("S-02: layers are rows of one table, each with its template", "[space]") {
  const auto templates = load_templates();
  INFO((templates ? std::string() : templates.error().message));
  REQUIRE(templates);
  REQUIRE(templates->size() == template_files.size());
  for (int stage = 0; stage < 4; ++stage) {
    CHECK(template_files.at(static_cast<std::size_t>(stage)) ==
          fmt::format("templates/zero{}.json", stage));
    CHECK(templates->at(static_cast<std::size_t>(stage)).when ==
          fmt::format("zero_stage == {}", stage));
  }
}

TEST_CASE("templates: every knob that DeepSpeed's documents call worth tuning is there",
          "[space]") {
  std::vector<std::string> names;
  const auto templates = load_templates();
  REQUIRE(templates);
  for (const StageTemplate& layer : *templates) {
    for (const Knob& knob : layer.knobs) names.push_back(knob.name);
  }
  for (const std::string name :
       {"reduce_bucket_size", "allgather_bucket_size", "overlap_comm", "contiguous_gradients",
        "reduce_scatter", "round_robin_gradients", "stage3_prefetch_bucket_size",
        "stage3_param_persistence_threshold", "stage3_max_live_parameters",
        "stage3_max_reuse_distance", "sub_group_size", "zero_hpz_partition_size",
        "zero_quantized_weights", "zero_quantized_gradients", "offload_optimizer.device",
        "offload_optimizer.pin_memory", "offload_optimizer.ratio", "offload_param.device",
        "offload_param.pin_memory"}) {
    CAPTURE(name);
    CHECK(std::ranges::count(names, "zero_optimization." + name) > 0);
  }
  for (const std::string name :
       {"activation_checkpointing.partition_activations",
        "activation_checkpointing.cpu_checkpointing", "activation_checkpointing.number_checkpoints",
        "arg:--gradient_checkpointing", "json:communication_data_type", "env:NCCL_ALGO",
        "env:NCCL_PROTO", "env:OMP_NUM_THREADS", "env:OMP_PROC_BIND"}) {
    CAPTURE(name);
    CHECK(std::ranges::count(names, name) > 0);
  }
}

TEST_CASE("S-03: load_template reads knobs, null as nothing written", "[space]") {
  const StageTemplate stage_template =
      loaded(file_of(R"({"set":"zero_optimization.x","choices":[null,5e7,3,true,"cpu"],)"
                     R"("when":"ranks > 1","because":"why","limit":"params","eases":"memory",)"
                     R"("only":{"cpu":"gpus > 0"},"with":{"env:Y":[1,2]},"ask":true})",
                     R"("when":"zero_stage == 2",)"));
  CHECK(stage_template.when == "zero_stage == 2");
  REQUIRE(stage_template.knobs.size() == 1);
  const Knob& knob = stage_template.knobs.front();
  CHECK(knob.name == "zero_optimization.x");
  CHECK(knob.choices == std::vector<Choice>{std::nullopt, Value(5e7), Value(std::int64_t{3}),
                                            Value(true), Value(std::string("cpu"))});
  CHECK(knob.when == "ranks > 1");
  CHECK(knob.because == "why");
  CHECK(knob.limit == "params");
  CHECK(knob.eases_memory);
  CHECK(knob.ask);
  CHECK(knob.only.at("cpu") == "gpus > 0");
  CHECK(knob.with.at("env:Y") == std::vector<Value>{std::int64_t{1}, std::int64_t{2}});
}

TEST_CASE("S-03: load_template refuses what has no meaning, and says where", "[space]") {
  CHECK(message("{").find("zero9.json:1") == 0);
  CHECK(message("[1]").find("zero9.json: a template must be a JSON object") == 0);
  CHECK_FALSE(message(R"({"knobs":[]})").empty());
  CHECK_FALSE(message(R"({"format":"slurmtune.template","version":2,"knobs":[]})").empty());
  CHECK(message(file_of("3")).find("zero9.json: a knob must be an object") == 0);
  CHECK(message(file_of(R"({"set":"plain","choices":[1]})")).find("zero9.json: plain: write a") ==
        0);
  CHECK(message(file_of(R"({"set":"a.b","choices":[]})")).find("a.b: an empty list") !=
        std::string::npos);
  CHECK(message(file_of(R"({"set":"a.b","choices":[{"c":1}]})")).find("{\"c\":1} is neither") !=
        std::string::npos);
  CHECK(message(file_of(R"({"set":"a.b","choises":[1]})")).find("did you mean \"choices\"?") !=
        std::string::npos);
  CHECK(message(file_of(R"({"set":"a.b","choices":[1],"eases":"time"})")).find("\"memory\"") !=
        std::string::npos);
}

TEST_CASE("S-03: fill_template: the user's value is the only choice, the user's list the choices",
          "[space]") {
  const StageTemplate stage_template =
      loaded(file_of(R"({"set":"zero_optimization.reduce_bucket_size","choices":[500,1,2]},)"
                     R"({"set":"zero_optimization.x","choices":[1,2]},)"
                     R"({"set":"zero_optimization.y","choices":[3,4]},)"
                     R"({"set":"zero_optimization.z","choices":[5,6]},)"
                     R"({"set":"zero_optimization.untold","choices":[7,8]})"));
  const StageTemplate found =
      filled(stage_template,
             R"({"zero_optimization":{"reduce_bucket_size":5e2,"x":[8,9],"y":"auto","z":null},)"
             R"("betas":[1,2]})");
  REQUIRE(found.knobs.size() == 5);
  CHECK(found.knobs[0].choices == integers({500}));  // 5e2, spelled as the template does
  CHECK(found.knobs[0].origin == KnobOrigin::user_value);
  CHECK(found.knobs[1].choices == integers({8, 9}));
  CHECK(found.knobs[1].origin == KnobOrigin::user_list);
  // What "auto" becomes is not known: saying nothing is not the template's first.
  CHECK(found.knobs[2].choices ==
        std::vector<Choice>{std::nullopt, Value(std::int64_t{3}), Value(std::int64_t{4})});
  CHECK(found.knobs[3] == stage_template.knobs[3]);
  CHECK(found.knobs[4] == stage_template.knobs[4]);
}

TEST_CASE("S-03: fill_template: a word in the environment or the command is the user's, too",
          "[space]") {
  const StageTemplate stage_template =
      loaded(file_of(R"({"set":"env:OMP_NUM_THREADS","choices":[null,1,8]},)"
                     R"({"set":"arg:--gradient_checkpointing","choices":[false,true]})"));
  StudyInput input = deepspeed_input();
  input.spec.trial.env["OMP_NUM_THREADS"] = "8";
  input.spec.trial.command = {"train", "--gradient_checkpointing", "--fp16"};
  const StageTemplate found = fill_template(stage_template, input.spec).value();
  CHECK(found.knobs[0].choices == integers({8}));
  CHECK(found.knobs[1].choices == std::vector<Choice>{Value(true)});
  input.spec.trial.command = {"train", "--gradient_checkpointing=False"};
  CHECK(fill_template(stage_template, input.spec)->knobs[1].choices ==
        std::vector<Choice>{Value(false)});
}

TEST_CASE("fill_template refuses an empty list of the user, and no configuration", "[space]") {
  const StageTemplate stage_template =
      loaded(file_of(R"({"set":"zero_optimization.x","choices":[1,2]})"));
  StudyInput input = deepspeed_input();
  input.spec.deepspeed->config_json = R"({"zero_optimization":{"x":[]}})";
  const auto found = fill_template(stage_template, input.spec);
  REQUIRE_FALSE(found);
  CHECK(found.error().message.find("ds_config.json: zero_optimization.x: an empty list") == 0);
}

TEST_CASE("S-03: prune_template: what cannot matter goes, and is said with figures", "[space]") {
  const StageTemplate stage_template =
      loaded(file_of(R"({"set":"zero_optimization.reduce_bucket_size","choices":[500,50,200,1000],)"
                     R"("limit":"params","when":"ranks > 1","because":"one rank"})"));
  SECTION("the first stands for all that exceed the model, if it does") {
    const PrunedTemplate found = pruned(stage_template, {{"params", 400.0}, {"ranks", 4.0}});
    REQUIRE(found.knobs.size() == 1);
    CHECK(found.knobs[0].choices == integers({500, 50, 200}));
    REQUIRE(found.dropped.size() == 1);
    CHECK(found.dropped[0].what == bucket + " = 1000");
    CHECK(found.dropped[0].because == "no different from 500: both exceed params = 400");
  }
  SECTION("else the smallest of them") {
    const PrunedTemplate found = pruned(stage_template, {{"params", 600.0}, {"ranks", 4.0}});
    CHECK(found.knobs[0].choices == integers({500, 50, 200, 1000}));
    CHECK(found.dropped.empty());
  }
  SECTION("a knob of which all choices are alike is none") {
    const PrunedTemplate found = pruned(stage_template, {{"params", 10.0}, {"ranks", 4.0}});
    CHECK(found.knobs.empty());
    CHECK(found.dropped.size() == 1);
  }
  SECTION("nothing is cut where the size is not known") {
    CHECK(pruned(stage_template, {{"ranks", 4.0}}).knobs[0].choices.size() == 4);
  }
  SECTION("a condition that does not hold takes the knob, in its own words") {
    const PrunedTemplate found = pruned(stage_template, {{"ranks", 1.0}});
    CHECK(found.knobs.empty());
    CHECK(found.dropped == std::vector<Dropped>{{bucket, "one rank"}});
  }
}

TEST_CASE("prune_template: computed choices, equal ones, and those that need a path", "[space]") {
  const StageTemplate stage_template =
      loaded(file_of(R"({"set":"a.threads","choices":[null,1,"=cores / 2","=cores / 4","=odd"]},)"
                     R"({"set":"a.device","choices":["none","cpu","nvme"],)"
                     R"("only":{"nvme":"path"}})"));
  const PrunedTemplate found = pruned(stage_template, {{"cores", 4.0}, {"path", 0.0}});
  REQUIRE(found.knobs.size() == 2);
  CHECK(found.knobs[0].choices ==
        std::vector<Choice>{std::nullopt, Value(std::int64_t{1}), Value(std::int64_t{2})});
  CHECK(found.knobs[1].choices ==
        std::vector<Choice>{Value(std::string("none")), Value(std::string("cpu"))});
  CHECK(pruned(stage_template, {{"cores", 4.0}, {"path", 1.0}}).knobs[1].choices.size() == 3);
}

TEST_CASE("prune_template: what changes what is computed is tried only where a list asks for it",
          "[space]") {
  const StageTemplate stage_template =
      loaded(file_of(R"({"set":"zero_optimization.q","choices":[false,true],"ask":true})"));
  const PrunedTemplate unasked = pruned(stage_template, {});
  CHECK(unasked.knobs.empty());
  REQUIRE(unasked.dropped.size() == 1);
  CHECK(unasked.dropped[0].because.find("write a list") != std::string::npos);
  const PrunedTemplate asked =
      pruned(filled(stage_template, R"({"zero_optimization":{"q":[false,true]}})"), {});
  CHECK(asked.knobs.size() == 1);
}

TEST_CASE("prune_template: a template of another ZeRO stage has nothing to say", "[space]") {
  const StageTemplate stage_template =
      loaded(file_of(R"({"set":"a.b","choices":[1,2]})", R"("when":"zero_stage == 3",)"));
  CHECK(pruned(stage_template, {{"zero_stage", 2.0}}).knobs.empty());
  CHECK(pruned(stage_template, {{"zero_stage", 2.0}}).dropped.empty());
  CHECK(pruned(stage_template, {{"zero_stage", 3.0}}).knobs.size() == 1);
}
