// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace slurmtune {

/// The version of this build, `0.1.0`.
[[nodiscard]] std::string_view version();

}  // namespace slurmtune
