// SPDX-License-Identifier: MIT
#include "slurmtune/study/journal.hpp"

#include "slurmtune/study/files.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace slurmtune;

namespace {
const Instant noon = parse_instant("2026-11-30T12:00:00Z").value();
}

TEST_CASE("Journal: events come back in the order of their numbers", "[study]") {
  const TemporaryDirectory directory;
  const Journal journal(directory.path());
  CHECK(journal.read().value().empty());
  REQUIRE(journal.append(1, noon, PlanMade{"a"}).value() == Journal::Append::won);
  REQUIRE(journal.append(2, noon, Cancelled{"h:1"}).value() == Journal::Append::won);
  const auto events = journal.read().value();
  REQUIRE(events.size() == 2);
  CHECK(events[0] == Event{1, noon, PlanMade{"a"}});
  CHECK(events[1] == Event{2, noon, Cancelled{"h:1"}});
}

TEST_CASE("Journal: a number is won once, even by equal events", "[study]") {
  const TemporaryDirectory directory;
  std::vector<std::int64_t> won;
  const Journal journal(directory.path(), [&](std::int64_t number) { won.push_back(number); });
  CHECK(journal.append(1, noon, PlanMade{"a"}).value() == Journal::Append::won);
  CHECK(journal.append(1, noon, PlanMade{"a"}).value() == Journal::Append::lost);
  CHECK(journal.append(1, noon, PlanMade{"b"}).value() == Journal::Append::lost);
  CHECK(won == std::vector<std::int64_t>{1});
  CHECK(journal.read().value() == std::vector<Event>{{1, noon, PlanMade{"a"}}});
}

TEST_CASE("Journal: an event under a wrong number is corrupt data", "[study]") {
  const TemporaryDirectory directory;
  const std::string text = render_event({2, noon, PlanMade{"a"}}).value();
  REQUIRE(publish_file(directory / "000001.json", text));
  const auto events = Journal(directory.path()).read();
  REQUIRE_FALSE(events);
  CHECK(events.error().kind == ErrorKind::corrupt_data);
}

TEST_CASE("Journal: what others have appended since is read, what was read is not read again",
          "[study]") {
  const TemporaryDirectory directory;
  const Journal journal(directory.path());
  REQUIRE(journal.append(1, noon, PlanMade{"a"}).value() == Journal::Append::won);
  CHECK(journal.read().value().size() == 1);
  const Journal other(directory.path());
  REQUIRE(other.append(2, noon, Cancelled{"h:1"}).value() == Journal::Append::won);
  std::filesystem::remove(directory / "000001.json");
  const auto events = journal.read().value();
  REQUIRE(events.size() == 2);
  CHECK(events[0] == Event{1, noon, PlanMade{"a"}});
  CHECK(events[1] == Event{2, noon, Cancelled{"h:1"}});
}
