// SPDX-License-Identifier: MIT
#include "slurmtune/base/instant.hpp"

#include <chrono>
#include <cstdint>
#include <string>

#include "slurmtune/base/random.hpp"

#include "tests/support/catch.hpp"

using namespace slurmtune;
using namespace std::chrono_literals;

namespace {

Instant at_ms(std::int64_t ms) { return Instant(std::chrono::milliseconds(ms)); }

}  // namespace

TEST_CASE("format_instant: writes RFC 3339 in UTC with milliseconds", "[base]") {
  CHECK(format_instant(at_ms(0)) == "1970-01-01T00:00:00.000Z");
  CHECK(format_instant(at_ms(1'796'072'645'120)) == "2026-11-30T21:04:05.120Z");
  CHECK(format_instant(at_ms(-1)) == "1969-12-31T23:59:59.999Z");
  CHECK(format_instant(at_ms(951'782'400'000)) == "2000-02-29T00:00:00.000Z");
}

TEST_CASE("parse_instant: reads offsets, fractions and lower case", "[base]") {
  const Instant expected = at_ms(1'796'072'645'120);
  CHECK(parse_instant("2026-11-30T21:04:05.120Z") == expected);
  CHECK(parse_instant("2026-11-30t21:04:05.12z") == expected);
  CHECK(parse_instant("2026-11-30 21:04:05.1209999Z") == expected);
  CHECK(parse_instant("2026-11-30T22:04:05.120+01:00") == expected);
  CHECK(parse_instant("2026-12-01T02:34:05.120+05:30") == expected);
  CHECK(parse_instant("2026-11-30T13:04:05.120-08:00") == expected);
  CHECK(parse_instant("2026-11-30T21:04:05Z") == expected - 120ms);
  CHECK(parse_instant("2016-12-31T23:59:60Z") == parse_instant("2017-01-01T00:00:00Z"));
}

TEST_CASE("parse_instant: refuses what is not a time, and says how to write one", "[base]") {
  const std::string text =
      GENERATE("", "now", "2026-11-30", "2026-11-30T21:04Z", "2026-11-30T21:04:05",
               "2026-13-01T00:00:00Z", "2026-02-29T00:00:00Z", "2026-11-30T24:00:00Z",
               "2026-11-30T23:60:00Z", "2026-11-30T23:59:61Z", "2026-11-30T21:04:05.120",
               "2026-11-30T21:04:05.Z", "2026-11-30T21:04:05+0100", "2026-11-30T21:04:05+24:00",
               "2026-11-30T21:04:05+01:60", "2026-11-30T21:04:05Z ", " 2026-11-30T21:04:05Z",
               "2026/11/30T21:04:05Z", "2026-11-30T21.04.05Z", "2026-11-30X21:04:05Z",
               "-026-11-30T21:04:05Z", "2026-11-30T21:04:0xZ");
  INFO(text);
  const auto parsed = parse_instant(text);
  REQUIRE_FALSE(parsed.has_value());
  CHECK(parsed.error().kind == ErrorKind::invalid_input);
  CHECK(parsed.error().message.find("'" + text + "'") == 0);
  CHECK(parsed.error().message.find("2026-11-30T07:30:00Z") != std::string::npos);
}

TEST_CASE("parse_instant: reads back every instant that format_instant writes", "[base]") {
  Random random(Seed{11});
  constexpr std::uint64_t ms_of_400_years = 12'622'780'800'000;
  for (int i = 0; i < 2000; ++i) {
    // From 1770 to 2170.
    const Instant at =
        at_ms(static_cast<std::int64_t>(random.below(ms_of_400_years)) - 6'311'390'400'000);
    REQUIRE(parse_instant(format_instant(at)) == at);
  }
}

TEST_CASE("format_duration: uses the unit that people would", "[base]") {
  CHECK(format_duration(0ms) == "0.0 s");
  CHECK(format_duration(420ms) == "0.4 s");
  CHECK(format_duration(59s) == "59 s");
  CHECK(format_duration(119s) == "119 s");
  CHECK(format_duration(120s) == "2 min");
  CHECK(format_duration(12min + 29s) == "12 min");
  CHECK(format_duration(12min + 31s) == "13 min");
  CHECK(format_duration(3h + 5min + 20s) == "3 h 05 min");
}
