// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace slurmtune {

/// A word as a POSIX shell reads it back: as it is if nothing in it is special, else in single
/// quotes. Source: POSIX.1-2017, XCU 2.2.
[[nodiscard]] std::string shell_quote(std::string_view word);

/// A command line that a shell splits back into exactly these words.
[[nodiscard]] std::string shell_quote(std::span<const std::string> argv);

}  // namespace slurmtune
