// SPDX-License-Identifier: MIT
#include "slurmtune/base/time_window.hpp"

#include "tests/support/catch.hpp"

using namespace slurmtune;
using namespace std::chrono_literals;

namespace {

Instant at(std::string_view text) { return parse_instant(text).value(); }

TimeWindow window(std::string_view hours, std::vector<UtcOffset> offsets = {{Instant{}, 0s}}) {
  return {parse_daily_hours(hours).value(), std::move(offsets)};
}

/// Germany around the end of March and of October 2026.
std::vector<UtcOffset> berlin() {
  return {{at("2026-01-01T00:00:00Z"), 3600s},
          {at("2026-03-29T01:00:00Z"), 7200s},
          {at("2026-10-25T01:00:00Z"), 3600s}};
}

}  // namespace

TEST_CASE("Daily hours are read and written, and must be two different times", "[base]") {
  const auto night = parse_daily_hours("20:00-07:00");
  REQUIRE(night);
  CHECK(night->length() == 11h);
  CHECK(format_daily_hours(*night) == "20:00-07:00");
  CHECK(parse_daily_hours("08:15-09:00")->length() == 45min);
  for (const char* bad : {"22:00-22:00", "24:00-07:00", "20:60-07:00", "20:00", "8:00-9:00",
                          "20:00 07:00", "20:00-07:00 ", "", "aa:bb-cc:dd"}) {
    INFO(bad);
    CHECK_FALSE(parse_daily_hours(bad));
  }
}

TEST_CASE("A window across midnight holds the night that one is in, else the next", "[base]") {
  const TimeWindow night = window("20:00-07:00");
  const TimeSpan tonight{at("2026-11-30T20:00:00Z"), at("2026-12-01T07:00:00Z")};
  CHECK(night.span_at(at("2026-11-30T12:00:00Z")) == tonight);
  CHECK(night.span_at(at("2026-11-30T20:00:00Z")) == tonight);
  CHECK(night.span_at(at("2026-12-01T06:59:59Z")) == tonight);
  CHECK(night.span_at(at("2026-12-01T07:00:00Z")).begin == at("2026-12-01T20:00:00Z"));
  CHECK_FALSE(tonight.contains(at("2026-12-01T07:00:00Z")));
  const TimeWindow day = window("09:00-17:00");
  CHECK(day.span_at(at("2026-12-31T23:00:00Z")) ==
        TimeSpan{at("2027-01-01T09:00:00Z"), at("2027-01-01T17:00:00Z")});
}

TEST_CASE("A window is that of its time zone", "[base]") {
  const TimeWindow night = window("20:00-07:00", {{Instant{}, 9h}});
  CHECK(night.span_at(at("2026-12-01T00:00:00Z")) ==
        TimeSpan{at("2026-12-01T11:00:00Z"), at("2026-12-01T22:00:00Z")});
  const TimeWindow west = window("20:00-07:00", {{Instant{}, -8h}});
  CHECK(west.span_at(at("2026-12-01T03:30:00Z")).begin == at("2026-12-01T04:00:00Z"));
}

TEST_CASE("Nights on which the clock is changed are an hour shorter or longer", "[base]") {
  const TimeWindow night = window("20:00-07:00", berlin());
  const TimeSpan spring = night.span_at(at("2026-03-28T20:00:00Z"));
  CHECK(spring == TimeSpan{at("2026-03-28T19:00:00Z"), at("2026-03-29T05:00:00Z")});
  const TimeSpan autumn = night.span_at(at("2026-10-24T20:00:00Z"));
  CHECK(autumn == TimeSpan{at("2026-10-24T18:00:00Z"), at("2026-10-25T06:00:00Z")});
  // What does not fit into the short night waits for the next one.
  CHECK(night.begin_for(at("2026-03-28T12:00:00Z"), 11h) == at("2026-03-29T18:00:00Z"));
}

TEST_CASE("Limits that the clock shows twice or never make the window no longer", "[base]") {
  // 02:30 does not exist on 29 March, and is there twice on 25 October.
  const TimeWindow late = window("02:30-05:00", berlin());
  CHECK(late.span_at(at("2026-03-29T00:00:00Z")).begin == at("2026-03-29T01:00:00Z"));
  CHECK(late.span_at(at("2026-10-25T00:00:00Z")).begin == at("2026-10-25T01:30:00Z"));
  const TimeWindow early = window("22:00-02:30", berlin());
  CHECK(early.span_at(at("2026-03-28T22:00:00Z")).end == at("2026-03-29T01:00:00Z"));
  CHECK(early.span_at(at("2026-10-24T22:00:00Z")).end == at("2026-10-25T00:30:00Z"));
}

TEST_CASE("Work begins now if it ends within the window, else with the next one", "[base]") {
  const TimeWindow night = window("20:00-07:00");
  CHECK(night.begin_for(at("2026-11-30T21:00:00Z"), 2h) == at("2026-11-30T21:00:00Z"));
  CHECK(night.begin_for(at("2026-12-01T05:00:00Z"), 2h) == at("2026-12-01T05:00:00Z"));
  CHECK(night.begin_for(at("2026-12-01T05:00:01Z"), 2h) == at("2026-12-01T20:00:00Z"));
  CHECK(night.begin_for(at("2026-12-01T12:00:00Z"), 2h) == at("2026-12-01T20:00:00Z"));
  // Nothing holds it: the runner ends it with the window.
  CHECK(night.begin_for(at("2026-12-01T05:00:00Z"), 12h) == at("2026-12-01T20:00:00Z"));
}
