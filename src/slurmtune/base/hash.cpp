// SPDX-License-Identifier: MIT
#include "slurmtune/base/hash.hpp"

#include <array>
#include <cstddef>

#include <openssl/evp.h>

#include "slurmtune/base/error.hpp"

namespace slurmtune {

std::string sha256_hex(std::string_view bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int length = 0;
  const int ok =
      EVP_Digest(bytes.data(), bytes.size(), digest.data(), &length, EVP_sha256(), nullptr);
  SLURMTUNE_ASSERT(ok == 1 && length == 32);
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  text.reserve(std::size_t{2} * length);
  for (unsigned int i = 0; i < length; ++i) {
    text += digits[digest[i] >> 4U];
    text += digits[digest[i] & 15U];
  }
  return text;
}

}  // namespace slurmtune
