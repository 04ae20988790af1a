// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace slurmtune {

/// SHA-256 of `bytes` as 64 lower-case hexadecimal digits.
/// Source: FIPS 180-4 (by libcrypto of OpenSSL).
[[nodiscard]] std::string sha256_hex(std::string_view bytes);

}  // namespace slurmtune
