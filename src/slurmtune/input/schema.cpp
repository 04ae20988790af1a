// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <functional>

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "slurmtune/base/units.hpp"
#include "slurmtune/input/schemas.hpp"
#include "slurmtune/input/study_input.hpp"

namespace slurmtune {

namespace {

using Json = nlohmann::json;

constexpr std::array<std::string_view, 5> names{"study", "site", "manifest", "verdict", "decision"};

// An integer where the bound is one, as people write it.
Json number(double value) {
  const auto integer = static_cast<std::int64_t>(value);
  return static_cast<double>(integer) == value ? Json(integer) : Json(value);
}

Json with_bounds(Json schema, const Bounds& bounds) {
  if (bounds.low != Bounds{}.low) {
    schema[bounds.above ? "exclusiveMinimum" : "minimum"] = number(bounds.low);
  }
  if (bounds.high != Bounds{}.high) schema["maximum"] = number(bounds.high);
  return schema;
}

Json array_of(Json items) { return {{"type", "array"}, {"items", std::move(items)}}; }

Json words_schema(const KeyRow& row) {
  Json words = Json::array();
  for (const Word& word : row.words) {
    if (word.instead.empty()) words.push_back(word.word);
  }
  return {{"enum", std::move(words)}};
}

// One schema for each shape that the row admits.
std::vector<Json> shape_schemas(const KeyRow& row) {
  std::vector<Json> schemas;
  const auto has = [&row](unsigned shape) { return (row.shapes & shape) != 0; };
  if (has(shape_string)) schemas.push_back({{"type", "string"}});
  if (has(shape_token)) schemas.push_back({{"type", "string"}, {"pattern", "^\\S*$"}});
  if (has(shape_word)) schemas.push_back(words_schema(row));
  if (has(shape_integer)) schemas.push_back(with_bounds({{"type", "integer"}}, row.bounds));
  if (has(shape_real)) schemas.push_back(with_bounds({{"type", "number"}}, row.bounds));
  if (has(shape_boolean)) schemas.push_back({{"type", "boolean"}});
  if (has(shape_strings)) schemas.push_back(array_of({{"type", "string"}}));
  if (has(shape_integers)) {
    schemas.push_back(array_of(with_bounds({{"type", "integer"}}, row.bounds)));
    schemas.back()["minItems"] = 1;
  }
  if (has(shape_scalars)) {
    schemas.push_back(array_of({{"type", Json::array({"string", "number", "boolean"})}}));
    schemas.back()["minItems"] = 1;
  }
  if (has(shape_pair)) {
    schemas.push_back(array_of({{"type", "number"}}));
    schemas.back()["minItems"] = 2;
    schemas.back()["maxItems"] = 2;
  }
  if (has(shape_string_map)) {
    schemas.push_back({{"type", "object"}, {"additionalProperties", {{"type", "string"}}}});
  }
  if (has(shape_table)) schemas.push_back(schema_of_keys(*row.table));
  if (has(shape_tables)) schemas.push_back(array_of(schema_of_keys(*row.table)));
  if (has(shape_null)) schemas.push_back({{"type", "null"}});
  return schemas;
}

Json row_schema(const KeyRow& row) {
  std::vector<Json> schemas = shape_schemas(row);
  Json schema = schemas.size() == 1 ? std::move(schemas.front()) : Json{{"anyOf", schemas}};
  schema["description"] = row.description;
  return schema;
}

Json whole_schema(std::string_view name) {
  if (name == "study") return schema_of_keys(study_keys());
  if (name == "site") return schema_of_keys(site_keys());
  if (name == "manifest") return manifest_schema();
  return name == "verdict" ? verdict_schema() : decision_schema();
}

}  // namespace

nlohmann::json schema_of_keys(const KeyTable& table) {
  Json properties = Json::object();
  Json required = Json::array();
  for (const KeyRow& row : table.rows) {
    properties[std::string(row.key)] = row_schema(row);
    if (row.required) required.push_back(row.key);
  }
  Json schema = {{"type", "object"}, {"additionalProperties", false}};
  schema["properties"] = std::move(properties);
  if (!required.empty()) schema["required"] = std::move(required);
  return schema;
}

std::span<const std::string_view> schema_names() { return names; }

Expected<std::string> schema_of(std::string_view name) {
  if (std::ranges::find(names, name) == names.end()) {
    const std::string_view nearest = nearest_word(name, names);
    return invalid_input(
        nearest.empty()
            ? fmt::format("no schema \"{}\"; there are {}", name, fmt::join(names, ", "))
            : fmt::format("no schema \"{}\"; did you mean \"{}\"?", name, nearest));
  }
  Json schema = whole_schema(name);
  schema["$schema"] = "https://json-schema.org/draft/2020-12/schema";
  schema["title"] = fmt::format("slurmtune {}", name);
  return schema.dump(2) + "\n";
}

}  // namespace slurmtune
