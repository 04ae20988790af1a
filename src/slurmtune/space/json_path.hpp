// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "slurmtune/record/json.hpp"

namespace slurmtune {

/// What is at a dotted path (`zero_optimization.stage`) of a document, or null.
[[nodiscard]] const Json* json_at(const Json& document, std::string_view path);

}  // namespace slurmtune
