// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "slurmtune/base/error.hpp"

namespace slurmtune {

using Json = nlohmann::json;

/// Sorted keys, no spaces, integers as integers, doubles in shortest round-trip form.
/// Bytes that are not UTF-8 become U+FFFD; a negative zero becomes 0.0.
/// Errors: invalid_input if a number is NaN or infinite (JSON has none) or the nesting is deeper
/// than 256, naming the path.
[[nodiscard]] Expected<std::string> canonical_json(const Json& value);

/// Parses one JSON text. Errors: corrupt_data, `where:line: …`.
[[nodiscard]] Expected<Json> parse_json(std::string_view text, std::string_view where);

/// Checks `"format"` and `"version"` of a file of ours: the name must be `format`, the version not
/// newer than `version`. Errors: corrupt_data, naming both, saying to use a newer slurmtune.
[[nodiscard]] Expected<void> check_format(const Json& header, std::string_view format, int version,
                                          std::string_view where);

}  // namespace slurmtune
