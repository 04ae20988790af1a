// SPDX-License-Identifier: MIT
#include "slurmtune/record/json.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include <nlohmann/json.hpp>

#include "slurmtune/record/json_fields.hpp"

#include "tests/support/catch.hpp"
#include "tests/unit/record/random_records.hpp"

using namespace slurmtune;

namespace {

std::string written(const Json& json) { return canonical_json(json).value(); }

}  // namespace

TEST_CASE("canonical_json: sorts keys by bytes and writes no spaces", "[record]") {
  CHECK(written({{"b", 1}, {"a", {{"d", true}, {"c", nullptr}}}, {"B", "x y"}}) ==
        R"({"B":"x y","a":{"c":null,"d":true},"b":1})");
  CHECK(written(Json::array()) == "[]");
  CHECK(written(Json::object()) == "{}");
  CHECK(written({1, "two", {3, 4}}) == R"([1,"two",[3,4]])");
}

TEST_CASE("canonical_json: an integer and a double of the same value differ", "[record]") {
  CHECK(written(1) == "1");
  CHECK(written(1.0) == "1.0");
  CHECK(written(-3) == "-3");
  CHECK(written(std::numeric_limits<std::int64_t>::min()) == "-9223372036854775808");
  CHECK(written(std::numeric_limits<std::uint64_t>::max()) == "18446744073709551615");
}

TEST_CASE("canonical_json: doubles have the shortest form that reads back", "[record]") {
  CHECK(written(0.1) == "0.1");
  CHECK(written(0.1 + 0.2) == "0.30000000000000004");
  CHECK(written(0.001) == "0.001");
  CHECK(written(5e8) == "5e+08");
  CHECK(written(1e300) == "1e+300");
  CHECK(written(5e-324) == "5e-324");
  CHECK(written(-2.5) == "-2.5");
  CHECK(written(0.0) == "0.0");
  CHECK(written(-0.0) == "0.0");
  CHECK(written(123456789.0) == "123456789.0");
}

TEST_CASE("canonical_json: escapes what JSON must and keeps the rest", "[record]") {
  CHECK(written("a\"\\\n\t\x01/\x7f\xc3\xa9") == "\"a\\\"\\\\\\n\\t\\u0001/\x7f\xc3\xa9\"");
  CHECK(written({{"k\"", 1}}) == R"({"k\"":1})");
}

TEST_CASE("canonical_json: bytes that are not UTF-8 become U+FFFD, so no verdict is lost",
          "[record]") {
  CHECK(written("a\xff\xc3") == "\"a\xef\xbf\xbd\xef\xbf\xbd\"");
}

TEST_CASE("canonical_json: refuses NaN and infinity, and names their path", "[record]") {
  const double bad =
      GENERATE(std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
               -std::numeric_limits<double>::infinity());
  const auto nested =
      canonical_json({{"metrics", {{"ok", 1.0}, {"step_s", {0.5, {{"low", bad}}}}}}, {"z", 1}});
  REQUIRE_FALSE(nested.has_value());
  CHECK(nested.error().kind == ErrorKind::invalid_input);
  CHECK(nested.error().message.find("metrics.step_s[1].low is ") == 0);
  CHECK(canonical_json(bad).error().message.find("the value is ") == 0);
}

TEST_CASE("canonical_json: refuses what is nested too deeply instead of crashing", "[record]") {
  std::string deep(100'000, '[');
  deep += std::string(100'000, ']');
  const auto json = parse_json(deep, "deep.json");
  REQUIRE(json.has_value());
  const auto text = canonical_json(*json);
  REQUIRE_FALSE(text.has_value());
  CHECK(text.error().kind == ErrorKind::invalid_input);
  CHECK(text.error().message.find("nested too deeply") != std::string::npos);
}

TEST_CASE("canonical_json: doubles and texts read back as they were", "[record]") {
  RandomRecords records(Seed{21});
  for (int i = 0; i < 5000; ++i) {
    const double number = records.real();
    const auto parsed = parse_json(written(number), "x");
    REQUIRE(parsed.has_value());
    REQUIRE(parsed->is_number_float());
    REQUIRE(parsed->get<double>() == number);
    const std::string text = records.text();
    REQUIRE(parse_json(written(text), "x")->get<std::string>() == text);
  }
}

TEST_CASE("parse_json: names the line of what is wrong", "[record]") {
  const auto error = parse_json("{\n  \"a\": 1,\n  b\n}\n", "ds_config.json").error();
  CHECK(error.kind == ErrorKind::corrupt_data);
  CHECK(error.message.find("ds_config.json:3: not valid JSON: ") == 0);
  CHECK(error.message.find("json.exception") == std::string::npos);
  CHECK(parse_json("", "e.json").error().message.find("e.json:1: ") == 0);
  CHECK(parse_json("{} {}", "e.json").error().message.find("e.json:1: ") == 0);
  CHECK(parse_json("\"a\xff\"", "e.json").error().kind == ErrorKind::corrupt_data);
  CHECK(parse_json("NaN", "e.json").error().kind == ErrorKind::corrupt_data);
  CHECK(parse_json("1e999", "e.json").error().message.find("e.json:1: not valid JSON: ") == 0);
}

TEST_CASE("check_format: accepts its own format, up to the version it knows", "[record]") {
  CHECK(check_format({{"format", "slurmtune.x"}, {"version", 2}}, "slurmtune.x", 2, "f:1"));
  CHECK(check_format({{"format", "slurmtune.x"}, {"version", 1}}, "slurmtune.x", 2, "f:1"));
}

TEST_CASE("check_format: refuses another format and a newer version, and says what to do",
          "[record]") {
  const auto problem = [](const Json& header) {
    const auto checked = check_format(header, "slurmtune.x", 2, "f:1");
    REQUIRE_FALSE(checked.has_value());
    CHECK(checked.error().kind == ErrorKind::corrupt_data);
    return checked.error().message;
  };
  CHECK(problem({{"format", "slurmtune.y"}, {"version", 1}}) ==
        "f:1: format is 'slurmtune.y', expected 'slurmtune.x'");
  CHECK(problem({{"format", "slurmtune.x"}, {"version", 3}}) ==
        "f:1: slurmtune.x version 3 is newer than version 2, the newest that this slurmtune "
        "reads; use a newer slurmtune");
  CHECK(problem({{"format", "slurmtune.x"}, {"version", 0}}).find("at least 1") !=
        std::string::npos);
  CHECK(problem({{"version", 1}}) == "f:1: format is missing");
  CHECK(problem({{"format", "slurmtune.x"}}) == "f:1: version is missing");
  CHECK(problem({{"format", 7}, {"version", 1}}) == "f:1: format must be a string");
  CHECK(problem(Json::array()) == "f:1: must be a JSON object");
}

TEST_CASE("JsonFields: every type refuses the others by name", "[record]") {
  const Json json = {{"text", "t"},    {"real", 1.5},        {"integer", 7},      {"flag", true},
                     {"list", {1, 2}}, {"large", 1LL << 40}, {"huge", UINT64_MAX}};
  const auto problem = [&json](const char* key, auto into) {
    JsonFields fields(json, "f:2");
    fields.required(key, into);
    const auto read = fields.into(true);
    return read ? std::string("read") : read.error().message;
  };
  CHECK(problem("text", std::string()) == "read");
  CHECK(problem("text", 0) == "f:2: text must be an integer");
  CHECK(problem("text", 0.0) == "f:2: text must be a number");
  CHECK(problem("text", false) == "f:2: text must be true or false");
  CHECK(problem("text", Instant()).find("f:2: text is wrong: 't' is not a time") == 0);
  CHECK(problem("text", Interval()) == "f:2: text: must be a JSON object");
  CHECK(problem("text", std::vector<int>()) == "f:2: text must be a list");
  CHECK(problem("real", 0) == "f:2: real must be an integer");
  CHECK(problem("real", Instant()) == "f:2: real must be a time");
  CHECK(problem("integer", 0.0) == "read");
  CHECK(problem("integer", std::string()) == "f:2: integer must be a string");
  CHECK(problem("integer", std::optional<StageName>()) == "f:2: integer must be a string");
  CHECK(problem("large", std::int64_t{0}) == "read");
  CHECK(problem("large", 0) == "f:2: large is too large");
  CHECK(problem("huge", std::int64_t{0}) == "f:2: huge is too large");
  CHECK(problem("list", std::vector<int>()) == "read");
  CHECK(problem("list", std::vector<std::string>()) == "f:2: list must be a string");
  CHECK(problem("list", std::map<std::string, double>()) == "f:2: list must be a JSON object");
  CHECK(problem("absent", 0) == "f:2: absent is missing");
}

TEST_CASE("JsonFields: keeps the first problem, and null is absent", "[record]") {
  const Json json = {{"a", nullptr}, {"b", "x"}};
  int a = 5;
  int b = 0;
  JsonFields fields(json, "f:2");
  fields.optional("a", a);
  fields.required("b", b);
  fields.required("c", b);
  fields.check(false, "d must be more");
  CHECK(fields.into(true).error().message == "f:2: b must be an integer");
  CHECK(a == 5);
  JsonFields strict(json, "f:2");
  strict.required("a", a);
  CHECK(strict.into(true).error().message == "f:2: a is missing");
}
