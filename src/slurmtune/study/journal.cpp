// SPDX-License-Identifier: MIT
#include "slurmtune/study/journal.hpp"

#include <iterator>

#include <fmt/core.h>

#include "slurmtune/study/files.hpp"

namespace slurmtune {

namespace {
/// More events than any study makes; a bound on the loop that reads them.
constexpr std::int64_t events_max = 1'000'000;
}  // namespace

Journal::Journal(std::filesystem::path directory, std::function<void(std::int64_t)> after_append)
    : directory_(std::move(directory)), after_append_(std::move(after_append)) {}

std::filesystem::path Journal::path_of(std::int64_t number) const {
  return directory_ / fmt::format("{:06}.json", number);
}

Expected<std::vector<Event>> Journal::read() const {
  for (std::int64_t number = std::ssize(read_) + 1; number < events_max; ++number) {
    const auto path = path_of(number);
    if (!file_exists(path)) break;
    SLURMTUNE_TRY(const std::string text, read_file(path));
    SLURMTUNE_TRY(Event event, parse_event(text, path.string()));
    if (event.number != number) {
      return corrupt_data(
          fmt::format("{}: holds event {}, not {}", path.string(), event.number, number));
    }
    read_.push_back(std::move(event));
  }
  return read_;
}

Expected<Journal::Append> Journal::append(std::int64_t number, Instant at, EventBody body) const {
  const auto path = path_of(number);
  SLURMTUNE_TRY(const std::string text, render_event({number, at, std::move(body)}));
  // Equal bytes of another process are its event, not ours: the time in it is to the millisecond
  // only, so that two could write the same.
  SLURMTUNE_TRY(const Published published, publish_file(path, text));
  if (published != Published::now) return Append::lost;
  if (after_append_) after_append_(number);
  return Append::won;
}

}  // namespace slurmtune
