// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

#include "slurmtune/base/error.hpp"
#include "slurmtune/study/event.hpp"

namespace slurmtune {

/// The journal of a study: `journal/000001.json …`, one small file an event, numbered without
/// gaps. An event's number is won by link(); whoever loses folds again and decides again.
class Journal {
 public:
  /// `after_append` is called with the number of each event that this process won; tests die in it.
  explicit Journal(std::filesystem::path directory,
                   std::function<void(std::int64_t)> after_append = {});

  /// All events, in order, by opening numbered names until one is missing. Those that this object
  /// has read before are not read again: an event never changes. Not for several threads at once.
  /// Errors: corrupt_data for a file that is no event or holds another number.
  [[nodiscard]] Expected<std::vector<Event>> read() const;

  enum class Append { won, lost };

  /// Tries to make `body` event number `number`. `lost`: somebody else was first.
  [[nodiscard]] Expected<Append> append(std::int64_t number, Instant at, EventBody body) const;

 private:
  [[nodiscard]] std::filesystem::path path_of(std::int64_t number) const;

  std::filesystem::path directory_;
  std::function<void(std::int64_t)> after_append_;
  mutable std::vector<Event> read_;
};

}  // namespace slurmtune
