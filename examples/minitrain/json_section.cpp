// SPDX-License-Identifier: MIT
#include "json_section.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace minitrain {

void Findings::fail(const std::string& where, const std::string& what) {
  if (error.empty()) error = fmt::format("{}: {}: {}", file, where, what);
}

JsonSection::JsonSection(const nlohmann::json* value, std::string path, Findings& findings)
    : object_{value}, path_{std::move(path)}, findings_{findings} {
  if (object_ == nullptr || object_->is_object()) return;
  findings_.fail(path_, "must be an object, {\"key\": value, ...}");
  object_ = nullptr;
}

std::string JsonSection::path_of(std::string_view key) const {
  return path_.empty() ? std::string{key} : fmt::format("{}.{}", path_, key);
}

const nlohmann::json* JsonSection::find(std::string_view key) const {
  if (object_ == nullptr) return nullptr;
  const auto found = object_->find(std::string{key});
  return found == object_->end() || found->is_null() ? nullptr : &*found;
}

void JsonSection::refuse(std::string_view key, const nlohmann::json& value,
                         std::string_view wanted) const {
  if (value.is_string() && value.get_ref<const std::string&>() == "auto") {
    findings_.fail(path_of(key),
                   fmt::format("is \"auto\", but nothing here can fill it in; give {}", wanted));
    return;
  }
  findings_.fail(path_of(key), fmt::format("must be {}, not {}", wanted, value.dump()));
}

JsonSection JsonSection::section(std::string_view key) const {
  return {find(key), path_of(key), findings_};
}

std::optional<std::int64_t> JsonSection::integer(std::string_view key) const {
  const nlohmann::json* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (value->is_number_integer()) return value->get<std::int64_t>();
  constexpr double exact_max = 9.0e15;  // whole numbers up to 2^53 are exact in a double
  if (value->is_number_float()) {
    const auto number = value->get<double>();
    if (std::abs(number) < exact_max && std::floor(number) == number) {
      return static_cast<std::int64_t>(number);
    }
  }
  refuse(key, *value, "a whole number");
  return std::nullopt;
}

std::optional<double> JsonSection::number(std::string_view key) const {
  const nlohmann::json* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (value->is_number()) return value->get<double>();
  refuse(key, *value, "a number");
  return std::nullopt;
}

std::optional<bool> JsonSection::boolean(std::string_view key) const {
  const nlohmann::json* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (value->is_boolean()) return value->get<bool>();
  refuse(key, *value, "true or false");
  return std::nullopt;
}

std::optional<std::string> JsonSection::text(std::string_view key) const {
  const nlohmann::json* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (value->is_string()) return value->get<std::string>();
  refuse(key, *value, "a string");
  return std::nullopt;
}

std::optional<std::vector<double>> JsonSection::numbers(std::string_view key) const {
  const nlohmann::json* value = find(key);
  if (value == nullptr) return std::nullopt;
  const bool all_numbers =
      value->is_array() &&
      std::all_of(value->begin(), value->end(), [](const auto& item) { return item.is_number(); });
  if (all_numbers) return value->get<std::vector<double>>();
  refuse(key, *value, "a list of numbers");
  return std::nullopt;
}

void JsonSection::warn_of_others(std::initializer_list<std::string_view> known) const {
  if (object_ == nullptr) return;
  for (const auto& [key, value] : object_->items()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    findings_.warnings.push_back(
        fmt::format("{}: {} has no effect in minitrain", findings_.file, path_of(key)));
  }
}

Expected<nlohmann::json> parse_json_object(std::string_view text, const std::string& file) {
  std::vector<std::set<std::string>> open_objects;
  std::string duplicate;
  const auto watch_keys = [&](int, nlohmann::json::parse_event_t event, nlohmann::json& value) {
    using Event = nlohmann::json::parse_event_t;
    if (event == Event::object_start) open_objects.emplace_back();
    if (event == Event::object_end) open_objects.pop_back();
    if (event == Event::key && !open_objects.back().insert(value.get<std::string>()).second) {
      duplicate = value.get<std::string>();
    }
    return true;
  };
  try {
    nlohmann::json parsed = nlohmann::json::parse(text.begin(), text.end(), watch_keys);
    if (!duplicate.empty()) {
      return tl::unexpected(fmt::format("{}: the key \"{}\" is given twice in one object; keep one",
                                        file, duplicate));
    }
    if (!parsed.is_object()) {
      return tl::unexpected(fmt::format("{}: must hold an object, {{...}}", file));
    }
    return parsed;
  } catch (const nlohmann::json::parse_error& error) {
    // Its text names line and column.
    return tl::unexpected(fmt::format("{}: not valid JSON: {}", file, error.what()));
  }
}

}  // namespace minitrain
