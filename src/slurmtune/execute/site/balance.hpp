// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string_view>

#include "slurmtune/base/error.hpp"
#include "slurmtune/input/site.hpp"

namespace slurmtune {

/// The node-hours that `pattern` (balance_pattern of a site) finds in what the command printed.
/// Errors: unavailable if it finds none, or no number.
[[nodiscard]] Expected<double> read_balance(std::string_view pattern, std::string_view printed);

/// Runs the site's balance_command; absent if it has none. Errors: also that it fails.
[[nodiscard]] Expected<std::optional<double>> ask_balance(const Site& site);

}  // namespace slurmtune
