// SPDX-License-Identifier: MIT
#include "slurmtune/record/json_fields.hpp"

#include <limits>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

namespace slurmtune {

JsonFields::JsonFields(const Json& object, std::string_view where)
    : object_(&object), where_(where) {
  if (!object.is_object()) {
    keep(Error{ErrorKind::corrupt_data, fmt::format("{}: must be a JSON object", where)});
  }
}

void JsonFields::check(bool holds, std::string_view problem) {
  if (!holds) keep(Error{ErrorKind::corrupt_data, fmt::format("{}: {}", where_, problem)});
}

const Json* JsonFields::find(std::string_view key) const {
  if (!object_->is_object()) return nullptr;
  const auto found = object_->find(key);
  return found == object_->end() || found->is_null() ? nullptr : &*found;
}

void JsonFields::missing(std::string_view key) { refuse(key, "is missing"); }

void JsonFields::refuse(std::string_view key, std::string_view problem) {
  keep(Error{ErrorKind::corrupt_data, fmt::format("{}: {} {}", where_, key, problem)});
}

void JsonFields::keep(Error error) {
  if (!error_) error_ = std::move(error);
}

std::string JsonFields::inside(std::string_view key) const {
  std::string text;
  text.reserve(where_.size() + key.size() + 2);
  return text.append(where_).append(": ").append(key);
}

std::size_t JsonFields::start_list(std::string_view key, const Json& json) {
  if (json.is_array()) return json.size();
  refuse(key, "must be a list");
  return 0;
}

const Json& JsonFields::element_of(const Json& list, std::size_t index) { return list[index]; }

void JsonFields::read(std::string_view key, const Json& json, bool& into) {
  if (!json.is_boolean()) return refuse(key, "must be true or false");
  into = json.get<bool>();
}

void JsonFields::read(std::string_view key, const Json& json, int& into) {
  std::int64_t wide = 0;
  read(key, json, wide);
  if (wide < std::numeric_limits<int>::min() || wide > std::numeric_limits<int>::max()) {
    return refuse(key, "is too large");
  }
  into = static_cast<int>(wide);
}

void JsonFields::read(std::string_view key, const Json& json, std::int64_t& into) {
  if (!json.is_number_integer()) return refuse(key, "must be an integer");
  if (json.is_number_unsigned() &&
      json.get<std::uint64_t>() > std::uint64_t{std::numeric_limits<std::int64_t>::max()}) {
    return refuse(key, "is too large");
  }
  into = json.get<std::int64_t>();
}

void JsonFields::read(std::string_view key, const Json& json, double& into) {
  if (!json.is_number()) return refuse(key, "must be a number");
  into = json.get<double>();
}

void JsonFields::read(std::string_view key, const Json& json, std::string& into) {
  if (!json.is_string()) return refuse(key, "must be a string");
  into = json.get_ref<const std::string&>();
}

void JsonFields::read(std::string_view key, const Json& json, Instant& into) {
  if (!json.is_string()) return refuse(key, "must be a time");
  const auto at = parse_instant(json.get_ref<const std::string&>());
  if (!at) return refuse(key, "is wrong: " + at.error().message);
  into = *at;
}

void JsonFields::read(std::string_view key, const Json& json, Interval& into) {
  read_with(key, json, into, interval_from_json);
}

void JsonFields::read(std::string_view key, const Json& json, std::map<std::string, double>& into) {
  if (!json.is_object()) return refuse(key, "must be a JSON object");
  into.clear();
  for (const auto& [name, value] : json.items()) read(name, value, into[name]);
}

void put(Json& json, std::string_view key, const std::optional<std::int64_t>& value) {
  if (value) json[key] = *value;
}

void put(Json& json, std::string_view key, const std::optional<double>& value) {
  if (value) json[key] = *value;
}

void put(Json& json, std::string_view key, const std::optional<Interval>& value) {
  if (value) json[key] = to_json(*value);
}

}  // namespace slurmtune
