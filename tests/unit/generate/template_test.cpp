// SPDX-License-Identifier: MIT
#include <set>

#include "slurmtune/base/embedded.hpp"
#include "slurmtune/generate/label.hpp"
#include "slurmtune/generate/task_time.hpp"
#include "slurmtune/generate/templates.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/tuning_fixture.hpp"

using namespace slurmtune;
using namespace slurmtune::test;

namespace {

constexpr std::string_view bucket = "zero_optimization.reduce_bucket_size";

StageTemplate loaded(std::string_view text) {
  auto stage_template = load_template(text, "test.json");
  REQUIRE(stage_template);
  return *std::move(stage_template);
}

std::vector<Value> integers(std::initializer_list<std::int64_t> values) {
  return {values.begin(), values.end()};
}

}  // namespace

TEST_CASE("S-02: ZeRO stages are rows of one table, each with its template", "[generate]") {
  int expected = 0;
  for (const ZeroStageRow& row : zero_stage_rows) {
    CHECK(row.stage == expected++);
    const auto text = embedded_file(row.template_path);
    REQUIRE(text);
    const auto stage_template = load_template(*text, row.template_path);
    REQUIRE(stage_template);
    CHECK(stage_template->choices.at("zero_optimization.stage") == integers({row.stage}));
  }
  CHECK(expected == 4);
}

TEST_CASE("S-03: load_template reads lists as choices and plain values as fixed", "[generate]") {
  const StageTemplate stage_template =
      loaded(R"({"zero_optimization":{"stage":2,"reduce_bucket_size":[5e7,500000000],)"
             R"("overlap_comm":[true,false]},)"
             R"("gradient_clipping":1.0})");
  CHECK(stage_template.choices.size() == 4);
  CHECK(stage_template.choices.at(std::string(bucket)) ==
        std::vector<Value>{Value(5e7), Value(std::int64_t{500'000'000})});
  CHECK(stage_template.choices.at("zero_optimization.overlap_comm") ==
        std::vector<Value>{Value(true), Value(false)});
  CHECK(stage_template.choices.at("gradient_clipping") == std::vector<Value>{Value(1.0)});
}

TEST_CASE("S-03: load_template refuses what has no meaning, and says where", "[generate]") {
  const auto message = [](std::string_view text) {
    const auto stage_template = load_template(text, "zero9.json");
    return stage_template ? std::string() : stage_template.error().message;
  };
  CHECK(message("{").find("zero9.json:1") == 0);
  CHECK(message("[1]").find("zero9.json: a template must be a JSON object") == 0);
  CHECK(message(R"({"a":{"b":[]}})").find("zero9.json: a.b: an empty list") == 0);
  CHECK(message(R"({"a":null})").find("zero9.json: a: null is neither") == 0);
  CHECK(message(R"({"a":[{"b":1}]})").find("zero9.json: a: {\"b\":1} is neither") == 0);
}

TEST_CASE("S-03: fill_template lets the user's value and the user's list win", "[generate]") {
  const StageTemplate stage_template = loaded(
      R"({"zero_optimization":{"stage":2,"reduce_bucket_size":[1,2],"x":[1,2],"y":3,"z":4}})");
  const auto filled = fill_template(
      stage_template,
      R"({"zero_optimization":{"stage":0,"reduce_bucket_size":7,"x":[8,9],"y":"auto","z":null},)"
      R"("fp16":{}})");
  REQUIRE(filled);
  CHECK(filled->choices.at(std::string(bucket)) == integers({7}));
  CHECK(filled->choices.at("zero_optimization.x") == integers({8, 9}));
  CHECK(filled->choices.at("zero_optimization.y") == integers({3}));
  CHECK(filled->choices.at("zero_optimization.z") == integers({4}));
  CHECK(filled->choices.at("zero_optimization.stage") == integers({2}));
  CHECK(filled->choices.size() == stage_template.choices.size());
}

TEST_CASE("S-03: fill_template leaves a template alone that the user says nothing about",
          "[generate]") {
  const StageTemplate stage_template = loaded(R"({"zero_optimization":{"stage":1,"x":[1,2]}})");
  const auto filled = fill_template(stage_template, R"({"zero_optimization":3})");
  REQUIRE(filled);
  CHECK(*filled == stage_template);
  CHECK_FALSE(fill_template(stage_template, "no json"));
}

TEST_CASE("S-03: prune_configs drops doubles, what was asked for, and what the space refuses",
          "[generate]") {
  const StudyInput input = deepspeed_input({1, 2, 4});
  const auto space = make_space(input.spec);
  const auto objective = Objective::compile(input);
  REQUIRE(space);
  REQUIRE(objective);
  History history;
  history.add(manifest_of("01-profile", {experiment_of(zero(1, 2))}), std::vector<Verdict>{});
  const SearchContext context{input, *space, history, *objective};
  const auto proposal = [](const Configuration& configuration, int repeat = 0) {
    return Proposal{configuration, Purpose::profile, repeat, {}};
  };
  const auto kept = prune_configs(
      {proposal(zero(2, 4)), proposal(zero(2, 4)), proposal(zero(1, 2)), proposal(zero(1, 2), 1),
       proposal(zero(0, 1)), proposal(zero(0, 3)), proposal(zero(7, 1))},
      context);
  CHECK(kept ==
        std::vector<Proposal>{proposal(zero(2, 4)), proposal(zero(1, 2), 1), proposal(zero(0, 1))});
}

TEST_CASE("S-03: build_experiment makes ids, label, steps and limits, and nothing else",
          "[generate]") {
  MeasureSpec measure;
  measure.min_steps = 5;
  measure.max_steps = 30;
  measure.startup_s = 100.0;
  measure.stall_s = 20.0;
  Proposal proposal{zero(1, 4), Purpose::curve, 0, {}};
  proposal.expected.step_s = 0.4;
  const Experiment experiment = build_experiment(proposal, measure);
  CHECK(experiment.configuration == zero(1, 4));
  CHECK(experiment.configuration_id == configuration_id(zero(1, 4)));
  CHECK(experiment.id == experiment_id(experiment.configuration_id, 30, 0));
  CHECK(experiment.label == "z1_gas2_tmbspg4");
  CHECK(experiment.purpose == Purpose::curve);
  CHECK(experiment.min_steps == 5);
  CHECK(experiment.max_steps == 30);
  CHECK(experiment.limits == trial_limits(measure));
  CHECK(experiment.expected.step_s == 0.4);
  CHECK(experiment.attempt == 0);
  const Experiment repeat = build_experiment({zero(1, 4), Purpose::confirm, 2, {}}, measure);
  CHECK(repeat.label == "z1_gas2_tmbspg4_r2");
  CHECK(repeat.configuration_id == experiment.configuration_id);
  CHECK(repeat.id != experiment.id);
}

TEST_CASE("label: names and values, unique and fit for a file name", "[generate]") {
  CHECK(label_of(zero(3, 12, 1)) == "z3_gas1_tmbspg12");
  const Configuration generic{{{"threads", std::int64_t{8}}, {"ratio", 0.25}, {"fuse", true}}};
  CHECK(label_of(generic) == "fuse-true_ratio-0.25_threads-8");
  const Configuration mixed{{{"zero_stage", std::int64_t{1}}, {"bucket", std::int64_t{500}}}};
  CHECK(label_of(mixed) == "z1_bucket-500");

  std::set<std::string> labels;
  for (const std::string text : {"a/b", "a b", "a_b", "a-b", "../x", "a\nb", ""}) {
    const std::string label = label_of({{{"mode", text}}});
    CAPTURE(label);
    CHECK(labels.insert(label).second);
    CHECK(label.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789._+-") == std::string::npos);
    CHECK(label.size() <= 100);
  }
  Configuration many;
  for (int i = 0; i < 40; ++i) many.values["parameter" + std::to_string(i)] = std::int64_t{1};
  Configuration other = many;
  other.values["parameter9"] = std::int64_t{2};
  CHECK(label_of(many).size() <= 100);
  CHECK(label_of(many) != label_of(other));
}
