// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "slurmtune/base/error.hpp"
#include "slurmtune/record/ids.hpp"
#include "slurmtune/record/json.hpp"

namespace slurmtune {

/// The value of one parameter.
using Value = std::variant<bool, std::int64_t, double, std::string>;

/// Values by parameter name, sorted; holds only what varies in a study.
using Values = std::map<std::string, Value>;

/// Names of the parameters that the models know (formats.md, section 2).
inline constexpr std::string_view zero_stage_parameter = "zero_stage";
inline constexpr std::string_view micro_batch_parameter = "micro_batch";
inline constexpr std::string_view accumulation_parameter = "gradient_accumulation";

/// One point of the space.
struct Configuration {
  Values values;

  bool operator==(const Configuration&) const = default;
  auto operator<=>(const Configuration&) const = default;

  /// The integer under `name`, if there is one.
  [[nodiscard]] std::optional<std::int64_t> integer(std::string_view name) const;
};

/// First 20 hex digits of SHA-256 of the canonical JSON of the values: stable across runs and
/// versions. Doubles that hold an integer hash as doubles (`2.0`), never as integers. All doubles
/// must be finite.
[[nodiscard]] ConfigurationId configuration_id(const Configuration& configuration);

[[nodiscard]] Json to_json(const Values& values);
[[nodiscard]] Expected<Values> values_from_json(const Json& json, std::string_view where);

/// A value as it is written on a command line or in a table: `true`, `4`, `0.5`, `2.0`, `text`.
[[nodiscard]] std::string format_value(const Value& value);

}  // namespace slurmtune
