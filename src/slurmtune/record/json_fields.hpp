// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "slurmtune/base/error.hpp"
#include "slurmtune/base/instant.hpp"
#include "slurmtune/record/ids.hpp"
#include "slurmtune/record/interval.hpp"

namespace slurmtune {

/// Reads the fields of one JSON object into the members of a struct. The first thing that is wrong
/// is kept and told at the end, so that a reader is a plain list of its fields:
///
///     JsonFields fields(json, where);
///     fields.required("stage", manifest.stage);
///     fields.optional("round", manifest.round);
///     return fields.into(std::move(manifest));
///
/// Fields that are not asked for are ignored. `null` is the same as absent. Numbers must be of the
/// member's type, except that an integer is a valid real. Messages are `where: key …`, and
/// `where: key: inner key …` for what is inside.
class JsonFields {
 public:
  /// Both must outlive this.
  JsonFields(const Json& object, std::string_view where);

  /// Errors: corrupt_data if the field is absent.
  template <class T>
  void required(std::string_view key, T& into) {
    if (const Json* value = find(key); value != nullptr) {
      read(key, *value, into);
    } else {
      missing(key);
    }
  }

  /// Leaves `into` as it is if the field is absent.
  template <class T>
  void optional(std::string_view key, T& into) {
    if (const Json* value = find(key); value != nullptr) read(key, *value, into);
  }

  /// The same for what `from_json(json, where)` reads: a struct, an optional or a vector of it.
  template <class T, class FromJson>
  void required(std::string_view key, T& into, const FromJson& from_json) {
    if (const Json* value = find(key); value != nullptr) {
      read_with(key, *value, into, from_json);
    } else {
      missing(key);
    }
  }
  template <class T, class FromJson>
  void optional(std::string_view key, T& into, const FromJson& from_json) {
    if (const Json* value = find(key); value != nullptr) read_with(key, *value, into, from_json);
  }

  /// A word of an enumeration: `named` returns an optional of it.
  template <class Enum, class Named>
  void required_name(std::string_view key, Enum& into, const Named& named) {
    if (const Json* value = find(key); value != nullptr) {
      read_name(key, *value, into, named);
    } else {
      missing(key);
    }
  }
  template <class Enum, class Named>
  void optional_name(std::string_view key, std::optional<Enum>& into, const Named& named) {
    if (const Json* value = find(key); value != nullptr) {
      read_name(key, *value, into.emplace(), named);
    }
  }

  /// States a condition over several fields; `problem` begins with a key: `lanes must be …`.
  void check(bool holds, std::string_view problem);

  /// `value`, or the first error.
  template <class T>
  [[nodiscard]] Expected<T> into(T value) {
    if (error_) return tl::unexpected<Error>(*std::move(error_));
    return value;
  }

 private:
  [[nodiscard]] const Json* find(std::string_view key) const;
  void missing(std::string_view key);
  void refuse(std::string_view key, std::string_view problem);
  void keep(Error error);

  void read(std::string_view key, const Json& json, bool& into);
  void read(std::string_view key, const Json& json, int& into);
  void read(std::string_view key, const Json& json, std::int64_t& into);
  void read(std::string_view key, const Json& json, double& into);
  void read(std::string_view key, const Json& json, std::string& into);
  void read(std::string_view key, const Json& json, Instant& into);
  void read(std::string_view key, const Json& json, Interval& into);
  void read(std::string_view key, const Json& json, std::map<std::string, double>& into);
  template <class Kind>
  void read(std::string_view key, const Json& json, Id<Kind>& into) {
    read(key, json, into.text);
  }
  template <class T>
  void read(std::string_view key, const Json& json, std::optional<T>& into) {
    read(key, json, into.emplace());
  }
  template <class T>
  void read(std::string_view key, const Json& json, std::vector<T>& into) {
    const std::size_t size = start_list(key, json);
    into.clear();
    into.reserve(size);
    for (std::size_t i = 0; i < size; ++i) read(key, element_of(json, i), into.emplace_back());
  }

  template <class T, class FromJson>
  void read_with(std::string_view key, const Json& json, T& into, const FromJson& from_json) {
    auto value = from_json(json, inside(key));
    if (value) {
      into = *std::move(value);
    } else {
      keep(std::move(value).error());
    }
  }
  template <class T, class FromJson>
  void read_with(std::string_view key, const Json& json, std::vector<T>& into,
                 const FromJson& from_json) {
    const std::size_t size = start_list(key, json);
    into.clear();
    into.reserve(size);
    for (std::size_t i = 0; i < size; ++i) {
      read_with(key, element_of(json, i), into.emplace_back(), from_json);
    }
  }

  template <class Enum, class Named>
  void read_name(std::string_view key, const Json& json, Enum& into, const Named& named) {
    std::string name;
    read(key, json, name);
    if (error_) return;
    if (const auto value = named(name)) {
      into = *value;
    } else {
      refuse(key, "has the unknown value '" + name + "'; use the slurmtune that wrote it");
    }
  }

  /// The size of a list; 0, and an error, if it is not one.
  [[nodiscard]] std::size_t start_list(std::string_view key, const Json& json);
  [[nodiscard]] static const Json& element_of(const Json& list, std::size_t index);

  /// Where things inside the field are: `where: key`.
  [[nodiscard]] std::string inside(std::string_view key) const;

  const Json* object_;
  std::string_view where_;
  std::optional<Error> error_;
};

/// Parses one line of a file of lines; `where` already names the line.
[[nodiscard]] Expected<Json> parse_json_line(std::string_view line, std::string_view where);

/// A double as canonical JSON spells it: shortest form that reads back as the same double, with a
/// point or an exponent. The number must be finite.
[[nodiscard]] std::string format_double(double value);

/// Writes a value under `key` if it is there, and leaves the key out if not.
void put(Json& json, std::string_view key, const std::optional<std::int64_t>& value);
void put(Json& json, std::string_view key, const std::optional<double>& value);
void put(Json& json, std::string_view key, const std::optional<Interval>& value);

/// The texts of ids, in order.
template <class Kind>
[[nodiscard]] std::vector<std::string> texts_of(const std::vector<Id<Kind>>& ids) {
  std::vector<std::string> texts;
  texts.reserve(ids.size());
  for (const auto& id : ids) texts.push_back(id.text);
  return texts;
}

}  // namespace slurmtune
