// SPDX-License-Identifier: MIT
#include "slurmtune/study/register_job.hpp"

#include "slurmtune/study/state.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace slurmtune;

namespace {

const Instant noon = parse_instant("2026-11-30T12:00:00Z").value();
const StudyId study{"6b1f3c52-7c1e-4f0a-9d55-0a3b8e2f4c61"};
const StageName profile{"01-profile"};

SubmitIntended intended(int attempt) {
  return {.stage = profile,
          .kind = JobKind::array,
          .attempt = attempt,
          .name = job_name(study, profile, JobKind::array, attempt),
          .first_slice = 0,
          .tasks = 4,
          .by = "h:1"};
}

Submitted submitted(int attempt, std::int64_t job) {
  return {.name = job_name(study, profile, JobKind::array, attempt),
          .stage = profile,
          .kind = JobKind::array,
          .attempt = attempt,
          .job = job,
          .first_slice = 0,
          .tasks = 4};
}

}  // namespace

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
