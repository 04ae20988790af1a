// SPDX-License-Identifier: MIT
#include "slurmtune/record/manifest.hpp"

#include <limits>
#include <string>

#include <nlohmann/json.hpp>

#include "tests/support/catch.hpp"
#include "tests/unit/record/field_checks.hpp"
#include "tests/unit/record/random_records.hpp"

using namespace slurmtune;

namespace {

struct Lines {
  std::string header;
  std::string first;
  std::string second;

  [[nodiscard]] std::string joined() const { return header + "\n" + first + "\n" + second + "\n"; }
};

Lines sample_lines() {
  const std::string text = test_data("formats/manifest-v1.jsonl");
  const auto one = text.find('\n');
  const auto two = text.find('\n', one + 1);
  return {text.substr(0, one), text.substr(one + 1, two - one - 1),
          text.substr(two + 1, text.size() - two - 2)};
}

Expected<void> read_record(const std::string& text) {
  SLURMTUNE_CHECK(parse_manifest(text, "m.jsonl"));
  return {};
}

std::string problem(const std::string& text) {
  const auto result = read_record(text);
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error().kind == ErrorKind::corrupt_data);
  return result.error().message;
}

}  // namespace

TEST_CASE("parse_manifest: version 1 stays readable", "[record]") {
  const std::string text = test_data("formats/manifest-v1.jsonl");
  const Manifest manifest = parse_manifest(text, "manifest-v1.jsonl").value();
  CHECK(manifest.study.text == "6b1f3c52-7c1e-4f0a-9d55-0a3b8e2f4c61");
  CHECK(manifest.stage.text == "03-frontier");
  CHECK(manifest.round == 1);
  CHECK(manifest.inputs.find("sha256:ffb304") == 0);
  CHECK(manifest.lanes == 2);
  CHECK(manifest.nodes_per_lane == 2);
  CHECK(manifest.task_walltime_s == 1800);
  CHECK(manifest.slices == std::vector<Slice>{{0, 1}, {1, 2}, {2, 2}});
  CHECK(manifest.incumbent == Incumbent{{"0522c6bc8494a7d4abeb"}, {68.1, 69.1, 70.0}});
  CHECK(manifest.node_seconds_cap == 14400);
  REQUIRE(manifest.experiments.size() == 2);
  const Experiment& first = manifest.experiments[0];
  CHECK(first.id.text == "d18cbbfcdcf6a2e03809-s20-r0");
  CHECK(first.configuration_id == configuration_id(first.configuration));
  CHECK(first.id == experiment_id(first.configuration_id, first.max_steps, first.repeat));
  CHECK(first.configuration.integer(micro_batch_parameter) == 4);
  CHECK(first.label == "z1_gas2_tmbspg4");
  CHECK(first.purpose == Purpose::frontier);
  CHECK(first.attempt == 0);
  CHECK(first.min_steps == 8);
  CHECK(first.max_steps == 20);
  CHECK(first.limits == TrialLimits{900.0, 180.0, 1200.0});
  CHECK(first.expected == Expectation{0.62, 3.01e10, 0.43});
  const Experiment& second = manifest.experiments[1];
  CHECK(second.configuration_id == configuration_id(second.configuration));
  CHECK(second.configuration.values.at("overlap_comm") == Value(true));
  CHECK(second.configuration.values.at("allgather_bucket") == Value(5e8));
  CHECK(second.configuration.values.at("offload") == Value(std::string("cpu")));
  CHECK(second.attempt == 1);
  CHECK(second.expected == Expectation{});
  CHECK(second.needs_other_node_than == std::vector<ExperimentId>{first.id});
  CHECK(render_manifest(manifest) == text);
}

TEST_CASE("parse_manifest: reads back every manifest that render_manifest writes", "[record]") {
  RandomRecords records(Seed{41});
  for (int i = 0; i < 300; ++i) {
    const Manifest manifest = records.manifest();
    const auto text = render_manifest(manifest);
    REQUIRE(text.has_value());
    const auto parsed = parse_manifest(*text, "m.jsonl");
    REQUIRE(parsed.has_value());
    REQUIRE(*parsed == manifest);
    REQUIRE(render_manifest(*parsed) == *text);
  }
}

TEST_CASE("parse_manifest: asks for the fields that it needs, and for no other", "[record]") {
  const Lines lines = sample_lines();
  check_fields(Json::parse(lines.header), "",
               {"format", "version", "study", "stage", "round", "inputs", "lanes", "nodes_per_lane",
                "task_walltime_s", "slices"},
               "m.jsonl:1", [&](const std::string& header) {
                 return read_record(Lines{header, lines.first, lines.second}.joined());
               });
  const auto with_second = [&](const std::string& second) {
    return read_record(Lines{lines.header, lines.first, second}.joined());
  };
  const Json second = Json::parse(lines.second);
  check_fields(second, "",
               {"experiment", "configuration", "values", "label", "purpose", "repeat", "min_steps",
                "max_steps", "limits"},
               "m.jsonl:3", with_second);
  check_fields(second, "/limits", {"startup_s", "stall_s", "total_s"}, "m.jsonl:3", with_second);
}

TEST_CASE("parse_manifest: an integer is a valid real, and absent fields have their defaults",
          "[record]") {
  Lines lines = sample_lines();
  Json first = Json::parse(lines.first);
  first["limits"]["startup_s"] = 900;
  first.erase("attempt");
  first["expected"] = nullptr;
  lines.first = first.dump();
  const Manifest manifest = parse_manifest(lines.joined(), "m.jsonl").value();
  CHECK(manifest.experiments[0].limits.startup_s == 900.0);
  CHECK(manifest.experiments[0].attempt == 0);
  CHECK(manifest.experiments[0].expected == Expectation{});
}

TEST_CASE("parse_manifest: says what is wrong and where", "[record]") {
  const Lines lines = sample_lines();
  const auto with = [&lines](const char* pointer, const Json& value) {
    Json header = Json::parse(lines.header);
    header[Json::json_pointer(pointer)] = value;
    return problem(Lines{header.dump(), lines.first, lines.second}.joined());
  };
  CHECK(with("/version", 2).find("m.jsonl:1: slurmtune.manifest version 2 is newer") == 0);
  CHECK(with("/format", "slurmtune.verdict").find("m.jsonl:1: format is 'slurmtune.verdict'") == 0);
  CHECK(with("/lanes", 0) == "m.jsonl:1: lanes must be at least 1");
  CHECK(with("/nodes_per_lane", 0) == "m.jsonl:1: nodes_per_lane must be at least 1");
  CHECK(with("/slices", {{0, 1}, {1}}) == "m.jsonl:1: slices must hold pairs of integers");
  CHECK(with("/slices", {{0, 1}, {0, 2}}) ==
        "m.jsonl:1: slices must be consecutive: [0,2] follows 1");
  CHECK(with("/slices", {{0, 2}, {2, 1}}) ==
        "m.jsonl:1: slices must be consecutive: [2,1] follows 2");
  CHECK(with("/slices", {{0, 1}, {1, 3}}) ==
        "m.jsonl:1: slices end at 3, but 2 experiments follow");
  CHECK(with("/incumbent/throughput/low", "x") ==
        "m.jsonl:1: incumbent: throughput: low must be a number");
  Json second = Json::parse(lines.second);
  second["purpose"] = "fun";
  CHECK(problem(Lines{lines.header, lines.first, second.dump()}.joined()) ==
        "m.jsonl:3: purpose has the unknown value 'fun'; use the slurmtune that wrote it");
  second["purpose"] = "curve";
  second["limits"]["stall_s"] = 0;
  CHECK(problem(Lines{lines.header, lines.first, second.dump()}.joined())
            .find("m.jsonl:3: limits: startup_s, stall_s and total_s must be positive") == 0);
  CHECK(problem("") == "m.jsonl:1: the file is empty");
  CHECK(problem("[]\n") == "m.jsonl:1: must be a JSON object");
}

TEST_CASE("parse_manifest: a manifest cut at any byte is refused", "[record]") {
  const std::string text = test_data("formats/manifest-v1.jsonl");
  for (std::size_t size = 0; size < text.size(); ++size) {
    INFO(size);
    const auto result = read_record(text.substr(0, size));
    REQUIRE_FALSE(result.has_value());
    REQUIRE(result.error().message.find("m.jsonl:") == 0);
  }
}

TEST_CASE("parse_manifest: a damaged manifest is read or refused, never more", "[record]") {
  check_damaged(test_data("formats/manifest-v1.jsonl"), 3000, "m.jsonl", read_record);
}

TEST_CASE("render_manifest: names the experiment whose number no file can hold", "[record]") {
  Manifest manifest = parse_manifest(test_data("formats/manifest-v1.jsonl"), "m").value();
  manifest.experiments[1].limits.total_s = std::numeric_limits<double>::infinity();
  const auto text = render_manifest(manifest);
  REQUIRE_FALSE(text.has_value());
  CHECK(text.error().kind == ErrorKind::invalid_input);
  CHECK(text.error().message.find("33f2c1999aaf1aca45cc-s20-r0: limits.total_s is inf") == 0);
}
