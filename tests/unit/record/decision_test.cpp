// SPDX-License-Identifier: MIT
#include "slurmtune/record/decision.hpp"

#include <limits>
#include <string>

#include <nlohmann/json.hpp>

#include "tests/support/catch.hpp"
#include "tests/unit/record/field_checks.hpp"
#include "tests/unit/record/random_records.hpp"

using namespace slurmtune;

namespace {

Expected<void> read_record(const std::string& text) {
  SLURMTUNE_CHECK(parse_decision(text, "d.json"));
  return {};
}

std::string problem(const Json& json) {
  const auto result = read_record(json.dump());
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error().kind == ErrorKind::corrupt_data);
  return result.error().message;
}

}  // namespace

TEST_CASE("parse_decision: version 1 stays readable", "[record]") {
  const std::string text = test_data("formats/decision-v1.json");
  const Decision decision = parse_decision(text, "decision-v1.json").value();
  CHECK(decision.study.text == "6b1f3c52-7c1e-4f0a-9d55-0a3b8e2f4c61");
  CHECK(decision.stage.text == "03-frontier");
  CHECK(decision.round == 1);
  CHECK(decision.inputs.find("sha256:ffb304") == 0);
  CHECK(decision.verdicts_read == 8);
  CHECK(decision.missing == std::vector<ExperimentId>{{"d18cbbfcdcf6a2e03809-s20-r1"}});
  CHECK(decision.spent_node_seconds == 21840);
  CHECK(decision.best == BestSoFar{{"d18cbbfcdcf6a2e03809"}, {68.1, 69.1, 70.0}, 0.93});
  CHECK(decision.baseline ==
        BaselineSoFar{{"0522c6bc8494a7d4abeb"}, Outcome::gpu_oom, std::nullopt});
  CHECK(decision.conclusions ==
        std::vector<Conclusion>{{"zero_stage=1",
                                 "largest micro_batch that fits: 4 (fits 4, fails 8)",
                                 {"d18cbbfcdcf6a2e03809-s20-r0", "33f2c1999aaf1aca45cc-s20-r0"}}});
  CHECK(decision.dropped ==
        std::vector<Dropped>{{"zero_stage=3", "cannot win: optimistic 41.0 < 68.1 samples/s"}});
  CHECK(decision.next == Next{NextAction::release,
                              {"04-curve"},
                              6,
                              2,
                              1800,
                              14400,
                              9000,
                              "05b3abf2579a5eb66403cd78be557fd860633a1fe2103c7642030defe32c657f"});
  CHECK_FALSE(decision.stop.has_value());
  CHECK_FALSE(decision.result.has_value());
  CHECK(render_decision(decision) == text);
}

TEST_CASE("parse_decision: version 1 of the last decision stays readable", "[record]") {
  const std::string text = test_data("formats/decision-v1-finish.json");
  const Decision decision = parse_decision(text, "decision-v1-finish.json").value();
  CHECK(decision.next == Next{});
  CHECK(decision.stop == Stop::gain);
  REQUIRE(decision.result.has_value());
  const TuningResult& result = *decision.result;
  CHECK(result.stop == Stop::gain);
  REQUIRE(result.best.has_value());
  CHECK(result.best->configuration == configuration_id({result.best->values}));
  CHECK(result.best->label == "z1_gas2_tmbspg4");
  CHECK(result.best->throughput == Interval{148.1, 149.2, 149.9});
  CHECK(result.best->step_s == Interval{0.427, 0.429, 0.432});
  CHECK(result.best->peak_gpu_bytes == 2.89e10);
  CHECK(result.best->repeats == 3);
  REQUIRE(result.baseline.has_value());
  CHECK(result.baseline->label == "baseline");
  CHECK_FALSE(result.baseline->peak_gpu_bytes.has_value());
  CHECK(result.baseline_outcome == Outcome::ok);
  CHECK(result.speedup == Interval{2.1, 2.16, 2.2});
  CHECK(result.probability_best == 0.99);
  CHECK(result.ranking == std::vector<Ranked>{*result.best, *result.baseline});
  REQUIRE(result.failures.size() == 1);
  CHECK(result.failures[0].outcome == Outcome::gpu_oom);
  CHECK(result.failures[0].log == "logs/33f2c1999aaf1aca45cc-s20-r0.r3.tail");
  CHECK(result.experiments_run == 21);
  CHECK(result.spent_node_seconds == 60000);
  CHECK(result.why == "z1_gas2_tmbspg4 is 2.16 times as fast as the baseline");
  CHECK(render_decision(decision) == text);
}

TEST_CASE("parse_decision: reads back every decision that render_decision writes", "[record]") {
  RandomRecords records(Seed{71});
  for (int i = 0; i < 300; ++i) {
    const Decision decision = records.decision();
    const auto text = render_decision(decision);
    REQUIRE(text.has_value());
    REQUIRE(text->find('\n') == text->size() - 1);
    const auto parsed = parse_decision(*text, "d.json");
    REQUIRE(parsed.has_value());
    REQUIRE(*parsed == decision);
    REQUIRE(render_decision(*parsed) == *text);
  }
}

TEST_CASE("tuning_result_from_json: reads back every result by itself", "[record]") {
  RandomRecords records(Seed{72});
  for (int i = 0; i < 100; ++i) {
    const TuningResult result = records.result();
    const std::string text = canonical_json(to_json(result)).value();
    REQUIRE(tuning_result_from_json(parse_json(text, "x").value(), "x") == result);
  }
}

TEST_CASE("parse_decision: asks for the fields that it needs, and for no other", "[record]") {
  const Json json = Json::parse(test_data("formats/decision-v1.json"));
  const std::string where = "d.json:1";
  check_fields(json, "",
               {"format", "version", "study", "stage", "round", "inputs", "read", "conclusions",
                "dropped", "next"},
               where, read_record);
  check_fields(json, "/read", {"verdicts", "missing", "spent_node_seconds"}, where, read_record);
  check_fields(json, "/best", {"configuration", "throughput", "probability_best"}, where,
               read_record);
  check_fields(json, "/baseline", {"configuration", "outcome"}, where, read_record);
  check_fields(json, "/conclusions/0", {"about", "says", "why"}, where, read_record);
  check_fields(json, "/dropped/0", {"what", "because"}, where, read_record);
  check_fields(json, "/next", {"action", "stage"}, where, read_record);
  const Json last = Json::parse(test_data("formats/decision-v1-finish.json"));
  check_fields(last, "/result",
               {"stop", "baseline_outcome", "probability_best", "ranking", "failures",
                "experiments_run", "spent_node_seconds", "why"},
               where, read_record);
  check_fields(last, "/result/best", {"configuration", "values", "label", "throughput", "repeats"},
               where, read_record);
  check_fields(last, "/result/failures/0", {"experiment", "label", "outcome"}, where, read_record);
}

TEST_CASE("parse_decision: says what is wrong and where", "[record]") {
  const Json json = Json::parse(test_data("formats/decision-v1.json"));
  const auto with = [&json](const char* pointer, const Json& value) {
    Json changed = json;
    changed[Json::json_pointer(pointer)] = value;
    return problem(changed);
  };
  CHECK(with("/version", 2).find("d.json:1: slurmtune.decision version 2 is newer") == 0);
  CHECK(with("/next/action", "rest") ==
        "d.json:1: next: action has the unknown value 'rest'; use the slurmtune that wrote it");
  CHECK(with("/next/action", "finish") ==
        "d.json:1: result must be there exactly when next.action is finish");
  CHECK(with("/result", Json::parse(test_data("formats/decision-v1-finish.json")).at("result")) ==
        "d.json:1: result must be there exactly when next.action is finish");
  CHECK(with("/stop", "boredom") ==
        "d.json:1: stop has the unknown value 'boredom'; use the slurmtune that wrote it");
  CHECK(with("/baseline/outcome", 7) == "d.json:1: baseline: outcome must be a string");
  CHECK(with("/conclusions", {{"about", 1}}) == "d.json:1: conclusions must be a list");
  CHECK(problem(Json::array()) == "d.json:1: must be a JSON object");
}

TEST_CASE("parse_decision: a decision cut at any byte is refused", "[record]") {
  const std::string text = test_data("formats/decision-v1-finish.json");
  for (std::size_t size = 0; size + 1 < text.size(); ++size) {
    INFO(size);
    const auto result = read_record(text.substr(0, size));
    REQUIRE_FALSE(result.has_value());
    REQUIRE(result.error().kind == ErrorKind::corrupt_data);
    REQUIRE(result.error().message.find("d.json:1: ") == 0);
  }
}

TEST_CASE("parse_decision: a damaged decision is read or refused, never more", "[record]") {
  check_damaged(test_data("formats/decision-v1-finish.json"), 3000, "d.json", read_record);
}

TEST_CASE("render_decision: refuses a number that is none", "[record]") {
  Decision decision = parse_decision(test_data("formats/decision-v1.json"), "d").value();
  decision.best->throughput.high = std::numeric_limits<double>::infinity();
  const auto text = render_decision(decision);
  REQUIRE_FALSE(text.has_value());
  CHECK(text.error().message.find("best.throughput.high is inf") == 0);
}

TEST_CASE("next_action_named, stop_named: know every name, and no other", "[record]") {
  for (int i = 0; i < 4; ++i) {
    const auto action = static_cast<NextAction>(i);
    CHECK(next_action_named(name_of(action)) == action);
  }
  for (int i = 0; i < 8; ++i) {
    const auto stop = static_cast<Stop>(i);
    CHECK(stop_named(name_of(stop)) == stop);
  }
  CHECK(name_of(NextAction::finish) == "finish");
  CHECK(name_of(Stop::cancelled) == "cancelled");
  CHECK_FALSE(next_action_named("").has_value());
  CHECK_FALSE(stop_named("gains").has_value());
}
