// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace slurmtune {

/// Partial combinations that differ in what later rules see.
struct States {
  std::vector<std::vector<double>> columns;  // of the nodes kept
  std::size_t count = 0;
  std::vector<char> dead;  // of each: no rule-abiding combination continues it
};

/// Gives equal rows of columns the same number.
class RowTable {
 public:
  explicit RowTable(std::size_t columns)
      : states_{std::vector<std::vector<double>>(columns), 0, {}} {
    slots_.assign(1024, none);
  }

  std::uint32_t number(std::span<const double* const> row_columns, std::size_t row) {
    if (row_columns.empty()) {
      states_.count = 1;
      return 0;
    }
    if (2 * states_.count >= slots_.size()) grow();
    std::uint64_t hash = 0;
    for (const double* column : row_columns) hash = mix(hash, column[row]);
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = hash & mask;
    while (slots_[at] != none) {
      if (is_equal(slots_[at], row_columns, row)) return slots_[at];
      at = (at + 1) & mask;
    }
    slots_[at] = static_cast<std::uint32_t>(states_.count);
    for (std::size_t i = 0; i < row_columns.size(); ++i) {
      states_.columns[i].push_back(row_columns[i][row]);
    }
    return static_cast<std::uint32_t>(states_.count++);
  }

  [[nodiscard]] std::size_t bytes() const {
    return slots_.size() * sizeof(std::uint32_t) +
           states_.columns.size() * states_.count * sizeof(double);
  }
  [[nodiscard]] States take() { return std::move(states_); }

 private:
  static constexpr std::uint32_t none = 0xffff'ffffU;

  static std::uint64_t mix(std::uint64_t hash, double value) {
    hash = (hash ^ std::bit_cast<std::uint64_t>(value)) * 0x9e37'79b9'7f4a'7c15U;
    return hash ^ (hash >> 32U);
  }

  [[nodiscard]] bool is_equal(std::uint32_t state, std::span<const double* const> row_columns,
                              std::size_t row) const {
    for (std::size_t i = 0; i < row_columns.size(); ++i) {
      if (std::bit_cast<std::uint64_t>(states_.columns[i][state]) !=
          std::bit_cast<std::uint64_t>(row_columns[i][row])) {
        return false;
      }
    }
    return true;
  }

  void grow() {
    slots_.assign(2 * slots_.size(), none);
    const std::size_t mask = slots_.size() - 1;
    for (std::uint32_t state = 0; state < states_.count; ++state) {
      std::uint64_t hash = 0;
      for (const auto& column : states_.columns) hash = mix(hash, column[state]);
      std::size_t at = hash & mask;
      while (slots_[at] != none) at = (at + 1) & mask;
      slots_[at] = state;
    }
  }

  States states_;
  std::vector<std::uint32_t> slots_;
};

}  // namespace slurmtune
