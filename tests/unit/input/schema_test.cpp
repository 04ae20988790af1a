// SPDX-License-Identifier: MIT
#include <algorithm>
#include <fstream>
#include <string>

#include <nlohmann/json.hpp>

#include "slurmtune/input/key_table.hpp"
#include "slurmtune/input/node.hpp"

#include "tests/support/catch.hpp"
#include "tests/unit/input/study_texts.hpp"

using namespace slurmtune;
using Json = nlohmann::json;

namespace {

bool has_type(const Json& value, const std::string& type) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  if (type == "integer") return value.is_number_integer();
  if (type == "number") return value.is_number();
  return type == "null" && value.is_null();
}

bool validates(const Json& value, const Json& schema);

bool validates_object(const Json& value, const Json& schema) {
  const Json properties = schema.value("properties", Json::object());
  for (const auto& name : schema.value("required", Json::array())) {
    if (!value.contains(name.get<std::string>())) return false;
  }
  for (const auto& [name, held] : value.items()) {
    if (properties.contains(name)) {
      if (!validates(held, properties[name])) return false;
    } else if (schema.contains("additionalProperties")) {
      const Json& rule = schema["additionalProperties"];
      if (rule == false || (rule.is_object() && !validates(held, rule))) return false;
    }
  }
  return true;
}

// As much of JSON Schema as our schemas use.
bool validates(const Json& value, const Json& schema) {
  if (schema.contains("anyOf")) {
    const auto& any = schema["anyOf"];
    if (std::ranges::none_of(any, [&](const Json& s) { return validates(value, s); })) return false;
  }
  if (schema.contains("const") && value != schema["const"]) return false;
  if (schema.contains("enum")) {
    const auto& words = schema["enum"];
    if (std::ranges::find(words, value) == words.end()) return false;
  }
  if (schema.contains("type")) {
    const Json types = schema["type"].is_array() ? schema["type"] : Json::array({schema["type"]});
    const bool any = std::ranges::any_of(
        types, [&](const Json& type) { return has_type(value, type.get<std::string>()); });
    if (!any) return false;
  }
  if (value.is_number()) {
    if (schema.contains("minimum") && value < schema["minimum"]) return false;
    if (schema.contains("exclusiveMinimum") && value <= schema["exclusiveMinimum"]) return false;
    if (schema.contains("maximum") && value > schema["maximum"]) return false;
  }
  if (value.is_array()) {
    if (value.size() < schema.value("minItems", std::size_t{0})) return false;
    if (value.size() > schema.value("maxItems", value.size())) return false;
    if (!schema.contains("items")) return true;
    return std::ranges::all_of(value, [&](const Json& i) { return validates(i, schema["items"]); });
  }
  return !value.is_object() || validates_object(value, schema);
}

Json schema_named(std::string_view name) {
  const auto text = schema_of(name);
  REQUIRE(text.has_value());
  return Json::parse(*text);
}

Json json_of_toml(const std::string& text) {
  const auto node = parse_toml({"study.toml", text});
  REQUIRE(node.has_value());
  return node_to_json(*node);
}

std::vector<Json> sample_lines(const std::string& file) {
  std::ifstream in(SLURMTUNE_SOURCE_DIR "/tests/data/formats/" + file);
  REQUIRE(in);
  std::vector<Json> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(Json::parse(line));
  REQUIRE_FALSE(lines.empty());
  return lines;
}

}  // namespace

TEST_CASE("schema_of: a study that is read validates, and a broken one does not", "[input]") {
  const Json schema = schema_named("study");
  CHECK(validates(json_of_toml(generic_study), schema));
  CHECK(validates(json_of_toml(deepspeed_study("zero_stages = \"all\"\n")), schema));
  CHECK_FALSE(validates(json_of_toml(generic_study + "[search]\nwidth = 0\n"), schema));
  CHECK_FALSE(validates(json_of_toml(generic_study + "[search]\nwidht = 1\n"), schema));
  CHECK_FALSE(validates(json_of_toml(generic_study + "[search]\nstrategy = \"x\"\n"), schema));
  CHECK_FALSE(validates(json_of_toml("format = 1\n"), schema));
}

TEST_CASE("schema_of: the schema and the parser speak of the same keys", "[input]") {
  const Json schema = schema_named("study");
  for (const KeyRow& row : study_keys().rows) {
    INFO(row.key);
    REQUIRE(schema["properties"].contains(std::string(row.key)));
    if (row.table == nullptr) continue;
    const Json& section = schema["properties"][std::string(row.key)];
    const Json& keys = section.contains("items") ? section["items"] : section;
    CHECK(keys["properties"].size() == row.table->rows.size());
  }
}

TEST_CASE("schema_of: the samples of every record format validate", "[input]") {
  for (const auto& [name, file] :
       {std::pair{"manifest", "manifest-v1.jsonl"}, std::pair{"verdict", "verdict-v1.jsonl"},
        std::pair{"decision", "decision-v1.json"},
        std::pair{"decision", "decision-v1-finish.json"}}) {
    const Json schema = schema_named(name);
    for (const Json& line : sample_lines(file)) {
      INFO(file << ": " << line.dump());
      CHECK(validates(line, schema));
    }
  }
  CHECK_FALSE(validates(Json{{"type", "verdict"}}, schema_named("verdict")));
}

TEST_CASE("schema_of: an unknown schema is named, with the nearest", "[input]") {
  for (const std::string_view name : schema_names()) CHECK(schema_of(name).has_value());
  const auto wrong = schema_of("studdy");
  REQUIRE_FALSE(wrong.has_value());
  CHECK(wrong.error().message == "no schema \"studdy\"; did you mean \"study\"?");
}

TEST_CASE("key tables: each example passes the check that it illustrates", "[input]") {
  const std::vector<std::pair<std::string, const KeyTable*>> sections = [] {
    std::vector<std::pair<std::string, const KeyTable*>> found;
    for (const KeyRow& row : study_keys().rows) {
      if (row.table != nullptr) found.emplace_back(row.key, row.table);
    }
    return found;
  }();
  for (const auto& [section, table] : sections) {
    for (const KeyRow& row : table->rows) {
      INFO(row.example);
      const auto node = parse_toml({"example.toml", std::string(row.example) + "\n"});
      REQUIRE(node.has_value());
      REQUIRE(node->members.size() == 1);
      CHECK(node->members[0].key == row.key);
      const KeyTable alone{table->name, table->prefix, std::span(&row, 1)};
      CHECK(check_keys(*node, alone, "example.toml").has_value());
    }
  }
}
