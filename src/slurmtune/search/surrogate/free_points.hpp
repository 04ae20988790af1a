// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "slurmtune/base/random.hpp"
#include "slurmtune/search/search_problem.hpp"

namespace slurmtune {

/// The points of a problem that may still be tried, while some are being taken. A point counts once
/// here, however many copies of it are left.
class FreePoints {
 public:
  explicit FreePoints(const SearchProblem& problem);

  [[nodiscard]] bool is_free(std::uint64_t point) const;
  /// Free points that are left; exact.
  [[nodiscard]] std::uint64_t count() const { return free_; }
  void take(std::uint64_t point);

  /// Uniform by number; the next free one after it where it is taken. Nothing if none is left.
  [[nodiscard]] std::optional<std::uint64_t> sample(Random& random) const;
  /// The first free one from `point` on, around the end. Nothing if none is left.
  [[nodiscard]] std::optional<std::uint64_t> next_from(std::uint64_t point) const;
  /// All, ascending; for sets that are small.
  [[nodiscard]] std::vector<std::uint64_t> all() const;

 private:
  [[nodiscard]] std::uint32_t copies_of(std::uint64_t point) const;

  const SearchProblem& problem_;
  std::unordered_map<std::uint64_t, std::uint32_t> taken_;
  std::uint64_t free_ = 0;
};

}  // namespace slurmtune
