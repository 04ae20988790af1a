// SPDX-License-Identifier: MIT
#include "slurmtune/study/register_job.hpp"

#include "slurmtune/study/state.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/unit/study/array_events.hpp"

using namespace slurmtune;
using namespace slurmtune::array_events;

TEST_CASE("register_job: twice is once", "[study]") {
  const TemporaryDirectory directory;
  const Journal journal(directory.path());
  const auto now = [] { return noon; };
  StudyCreated created;
  created.study = study;
  REQUIRE(journal.append(1, noon, created).value() == Journal::Append::won);
  REQUIRE(journal.append(2, noon, intended(0)).value() == Journal::Append::won);
  REQUIRE(register_job(journal, now, submitted(0, 12)));
  REQUIRE(register_job(journal, now, submitted(0, 12)));
  CHECK(journal.read().value().size() == 3);
}

TEST_CASE("register_job: an intent gets a number that a forgotten job of the stage had",
          "[study]") {
  const TemporaryDirectory directory;
  const Journal journal(directory.path());
  const auto now = [] { return noon; };
  StudyCreated created;
  created.study = study;
  REQUIRE(journal.append(1, noon, created).value() == Journal::Append::won);
  REQUIRE(journal.append(2, noon, intended(0)).value() == Journal::Append::won);
  REQUIRE(register_job(journal, now, submitted(0, 12)));
  REQUIRE(journal.append(4, noon, intended(1)).value() == Journal::Append::won);
  REQUIRE(register_job(journal, now, submitted(1, 12)));
  const auto state = fold(journal.read().value()).value();
  CHECK(state.open_intent() == nullptr);
  CHECK(state.jobs.back().job == 12);
  REQUIRE(register_job(journal, now, submitted(1, 12)));
  CHECK(journal.read().value().size() == 5);
}
