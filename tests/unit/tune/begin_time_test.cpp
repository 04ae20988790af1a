// SPDX-License-Identifier: MIT
#include "slurmtune/tune/begin_time.hpp"

#include <cstdlib>
#include <ctime>

#include "tests/support/catch.hpp"
#include "tests/unit/tune/simulated_study.hpp"

using namespace slurmtune;
using namespace std::chrono_literals;

namespace {

const Instant noon = parse_instant("2026-11-30T12:00:00Z").value();

/// Times of day in UTC for one test.
struct InUtc {
  InUtc() { set("UTC"); }
  InUtc(const InUtc&) = delete;
  InUtc& operator=(const InUtc&) = delete;
  ~InUtc() {
    ::unsetenv("TZ");
    ::tzset();
  }
  static void set(const char* zone) {
    ::setenv("TZ", zone, 1);
    ::tzset();
  }
};

std::string begin(std::string_view words) {
  const auto at = begin_time(words, noon);
  return at ? format_instant(*at) : at.error().message;
}

}  // namespace

TEST_CASE("begin: sbatch's words are points in time, seen from when the study was created",
          "[tune]") {
  const InUtc utc;
  CHECK(begin_time("now", noon).value() == noon);
  CHECK(begin_time("today", noon).value() == noon);
  CHECK(begin_time("now+90", noon).value() == noon + 90s);
  CHECK(begin_time("now+2hours", noon).value() == noon + 2h);
  CHECK(begin_time("now+3days", noon).value() == noon + 72h);
  CHECK(begin_time("now+1week", noon).value() == noon + 168h);
  CHECK(begin_time("20:00", noon).value() == noon + 8h);
  CHECK(begin_time("11:59:30", noon).value() == noon + 24h - 30s);
  CHECK(begin_time("noon", noon).value() == noon + 24h);
  CHECK(begin_time("teatime", noon).value() == noon + 4h);
  // The 30th has no next day in its month.
  CHECK(begin_time("tomorrow", noon).value() == noon + 12h);
  CHECK(begin_time("2026-12-02", noon).value() == noon + 36h);
  CHECK(begin_time("2026-12-01T20:00", noon).value() == noon + 32h);
  CHECK_FALSE(begin_time("soon", noon));
  CHECK_THAT(begin("8 pm"), Catch::Matchers::Contains("write 20:00"));
}

TEST_CASE("begin: the first stage of a study starts no earlier, and only that", "[tune]") {
  SimulatedStudy study(SimulatedStudy::deepspeed_study() + "[slurm]\nbegin = \"now+2hours\"\n");
  const Instant created = study.clock().now();
  REQUIRE(study.submit());
  for (const JobId job : study.cluster().submitted()) {
    const JobRequest& request = study.cluster().request_of(job);
    const bool first = request.after_any.empty();
    CHECK(request.begin.has_value() == first);
    if (first) CHECK(*request.begin == created + 2h);
  }
  study.run();
  CHECK(study.state().finished);
  CHECK(study.clock().now() > created + 2h);
}
