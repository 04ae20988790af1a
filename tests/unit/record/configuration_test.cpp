// SPDX-License-Identifier: MIT
#include "slurmtune/record/configuration.hpp"

#include <cstdint>
#include <limits>
#include <string>

#include <nlohmann/json.hpp>

#include "slurmtune/record/experiment.hpp"
#include "slurmtune/record/interval.hpp"

#include "tests/support/catch.hpp"
#include "tests/unit/record/random_records.hpp"

using namespace slurmtune;

namespace {

std::string id_of(Values values) { return configuration_id({std::move(values)}).text; }

Value integer(std::int64_t value) { return value; }
Value text(const char* value) { return std::string(value); }

}  // namespace

// Each id is the first 20 digits of sha256sum over the text beside it, made by another program.
// A study that was begun with one release is resumed by the next: these never change.
TEST_CASE("configuration_id: golden ids never change", "[record]") {
  CHECK(id_of({}) == "44136fa355b3678a1146");  // {}
  // {"gradient_accumulation":2,"micro_batch":4,"zero_stage":1}
  CHECK(id_of({{"zero_stage", integer(1)},
               {"micro_batch", integer(4)},
               {"gradient_accumulation", integer(2)}}) == "d18cbbfcdcf6a2e03809");
  // {"bucket":500000000,"lr":0.001,"offload":"cpu","overlap":true,"ratio":2.0}
  CHECK(id_of({{"bucket", integer(500'000'000)},
               {"lr", 0.001},
               {"offload", text("cpu")},
               {"overlap", true},
               {"ratio", 2.0}}) == "6d57d1afeaca44874e51");
  // {"x":1e+300,"y":-1e-07,"z":"é\n\"\u0001"}
  CHECK(id_of({{"x", 1e300}, {"y", -1e-7}, {"z", text("\xc3\xa9\n\"\x01")}}) ==
        "27d793534078d13fa5ab");
}

TEST_CASE("configuration_id: tells an integer, a double, a text and a truth value apart",
          "[record]") {
  CHECK(id_of({{"x", integer(1)}}) == "5041bf1f713df2047843");
  CHECK(id_of({{"x", 1.0}}) == "bf32f56236899e13ef54");
  CHECK(id_of({{"x", text("1")}}) != id_of({{"x", integer(1)}}));
  CHECK(id_of({{"x", true}}) != id_of({{"x", text("true")}}));
  CHECK(id_of({{"x", 0.0}}) == id_of({{"x", -0.0}}));
}

TEST_CASE("Configuration: integer finds integers only", "[record]") {
  const Configuration configuration{
      {{"zero_stage", integer(3)}, {"ratio", 2.0}, {"flag", true}, {"word", text("4")}}};
  CHECK(configuration.integer(zero_stage_parameter) == 3);
  CHECK_FALSE(configuration.integer("ratio").has_value());
  CHECK_FALSE(configuration.integer("flag").has_value());
  CHECK_FALSE(configuration.integer("word").has_value());
  CHECK_FALSE(configuration.integer("absent").has_value());
}

TEST_CASE("values_from_json: reads back what to_json wrote, types included", "[record]") {
  RandomRecords records(Seed{31});
  for (int i = 0; i < 1000; ++i) {
    const Values values = records.values();
    const std::string written = canonical_json(to_json(values)).value();
    const auto parsed = values_from_json(parse_json(written, "x").value(), "x");
    REQUIRE(parsed.has_value());
    REQUIRE(*parsed == values);
    REQUIRE(configuration_id({*parsed}) == configuration_id({values}));
  }
}

TEST_CASE("values_from_json: refuses what is no value, naming it", "[record]") {
  CHECK(values_from_json(Json::array(), "m:2: values").error().message ==
        "m:2: values: must be a JSON object");
  const Json bad = GENERATE(Json(nullptr), Json::array({1}), Json::object());
  const auto error = values_from_json({{"a", 1}, {"b", bad}}, "m:2: values").error();
  CHECK(error.kind == ErrorKind::corrupt_data);
  CHECK(error.message == "m:2: values: b must be a number, a string, true or false");
  CHECK(values_from_json({{"a", UINT64_MAX}}, "m:2").error().message == "m:2: a is too large");
}

TEST_CASE("format_value: writes values as a command line takes them", "[record]") {
  CHECK(format_value(true) == "true");
  CHECK(format_value(false) == "false");
  CHECK(format_value(integer(-4)) == "-4");
  CHECK(format_value(0.5) == "0.5");
  CHECK(format_value(2.0) == "2.0");
  CHECK(format_value(1e-7) == "1e-07");
  CHECK(format_value(text("a b")) == "a b");
}

TEST_CASE("experiment_id: is made of configuration, steps and repeat", "[record]") {
  CHECK(experiment_id({"1b22c0d4e5f60718293a"}, 20, 1).text == "1b22c0d4e5f60718293a-s20-r1");
}

TEST_CASE("purpose_named: knows every purpose by its name, and no other", "[record]") {
  for (int i = 0; i < 8; ++i) {
    const auto purpose = static_cast<Purpose>(i);
    CHECK(purpose_named(name_of(purpose)) == purpose);
  }
  CHECK(name_of(Purpose::baseline) == "baseline");
  CHECK(name_of(Purpose::confirm) == "confirm");
  CHECK_FALSE(purpose_named("Confirm").has_value());
}

TEST_CASE("interval_from_json: names the bound that is missing", "[record]") {
  CHECK(interval_from_json(to_json(Interval{1.0, 2.0, 3.5}), "x") == Interval{1.0, 2.0, 3.5});
  CHECK(interval_from_json({{"low", 1}, {"mid", 2}}, "v:3: speedup").error().message ==
        "v:3: speedup: high is missing");
}
