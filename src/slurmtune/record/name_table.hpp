// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "slurmtune/base/error.hpp"

namespace slurmtune {

/// The names of an enumeration as files spell them, in the order of the enumeration, which must
/// count from 0 without gaps.
template <class Enum, std::size_t Size>
struct NameTable {
  std::array<std::string_view, Size> names;

  [[nodiscard]] constexpr std::string_view name_of(Enum value) const {
    const auto index = static_cast<std::size_t>(value);
    SLURMTUNE_ASSERT(index < Size);
    return names[index];
  }

  [[nodiscard]] constexpr std::optional<Enum> named(std::string_view name) const {
    for (std::size_t i = 0; i < Size; ++i) {
      if (names[i] == name) return static_cast<Enum>(i);
    }
    return std::nullopt;
  }
};

}  // namespace slurmtune
