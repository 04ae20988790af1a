// SPDX-License-Identifier: MIT
#include "slurmtune/record/configuration.hpp"

#include <limits>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "slurmtune/base/hash.hpp"
#include "slurmtune/record/json_fields.hpp"

namespace slurmtune {

namespace {

constexpr std::size_t id_digits = 20;

Expected<Value> value_from_json(const Json& json, std::string_view where) {
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_string()) return json.get<std::string>();
  if (json.is_number_float()) return json.get<double>();
  if (!json.is_number_integer()) {
    return corrupt_data(fmt::format("{} must be a number, a string, true or false", where));
  }
  if (json.is_number_unsigned() &&
      json.get<std::uint64_t>() > std::uint64_t{std::numeric_limits<std::int64_t>::max()}) {
    return corrupt_data(fmt::format("{} is too large", where));
  }
  return json.get<std::int64_t>();
}

}  // namespace

std::optional<std::int64_t> Configuration::integer(std::string_view name) const {
  const auto found = values.find(std::string(name));
  if (found == values.end()) return std::nullopt;
  const auto* value = std::get_if<std::int64_t>(&found->second);
  return value == nullptr ? std::nullopt : std::optional(*value);
}

ConfigurationId configuration_id(const Configuration& configuration) {
  const auto text = canonical_json(to_json(configuration.values));
  SLURMTUNE_ASSERT(text.has_value());  // values are finite: `input` and `space` see to it
  return {sha256_hex(*text).substr(0, id_digits)};
}

Json to_json(const Values& values) {
  Json json = Json::object();
  for (const auto& [name, value] : values) {
    std::visit([&json, &key = name](const auto& held) { json[key] = held; }, value);
  }
  return json;
}

Expected<Values> values_from_json(const Json& json, std::string_view where) {
  if (!json.is_object()) return corrupt_data(fmt::format("{}: must be a JSON object", where));
  Values values;
  for (const auto& [name, element] : json.items()) {
    SLURMTUNE_TRY(Value value, value_from_json(element, fmt::format("{}: {}", where, name)));
    values.emplace(name, std::move(value));
  }
  return values;
}

std::string format_value(const Value& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return fmt::to_string(*integer);
  if (const auto* real = std::get_if<double>(&value)) return format_double(*real);
  return std::get<std::string>(value);
}

}  // namespace slurmtune
