// SPDX-License-Identifier: MIT
#include "slurmtune/base/units.hpp"

#include <array>
#include <string>
#include <string_view>

#include "slurmtune/base/random.hpp"

#include "tests/support/catch.hpp"

using namespace slurmtune;

TEST_CASE("format_bytes: uses binary units", "[base]") {
  CHECK(format_bytes(0) == "0 B");
  CHECK(format_bytes(512) == "512 B");
  CHECK(format_bytes(1024) == "1.0 KiB");
  CHECK(format_bytes(48.0 * 1024 * 1024) == "48.0 MiB");
  CHECK(format_bytes(1.5 * 1024 * 1024 * 1024) == "1.5 GiB");
  CHECK(format_bytes(85'017'493'504.0) == "79.2 GiB");
  CHECK(format_bytes(5000.0 * 1024 * 1024 * 1024 * 1024) == "5000.0 TiB");
  CHECK(format_bytes(-2048) == "-2.0 KiB");
}

TEST_CASE("format_node_hours: has two places", "[base]") {
  CHECK(format_node_hours(0) == "0.00 node-hours");
  CHECK(format_node_hours(900) == "0.25 node-hours");
  CHECK(format_node_hours(144'000) == "40.00 node-hours");
}

TEST_CASE("edit_distance: counts insertions, deletions and substitutions", "[base]") {
  CHECK(edit_distance("", "") == 0);
  CHECK(edit_distance("abc", "") == 3);
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("kitten", "sitting") == 3);
  CHECK(edit_distance("micro_batch", "micro_bacth") == 2);
}

TEST_CASE("edit_distance: is a metric", "[base]") {
  Random random(Seed{2});
  const auto word = [&random] {
    std::string text;
    for (auto length = random.below(8); length > 0; --length) {
      text += static_cast<char>('a' + random.below(3));
    }
    return text;
  };
  for (int i = 0; i < 500; ++i) {
    const std::string a = word();
    const std::string b = word();
    const std::string c = word();
    INFO(a << ' ' << b << ' ' << c);
    CHECK((edit_distance(a, b) == 0) == (a == b));
    CHECK(edit_distance(a, b) == edit_distance(b, a));
    CHECK(edit_distance(a, c) <= edit_distance(a, b) + edit_distance(b, c));
  }
}

TEST_CASE("nearest_word: finds what was meant, or nothing", "[base]") {
  constexpr std::array<std::string_view, 3> words{"strategy", "rounds", "stop_gain"};
  CHECK(nearest_word("stratgy", words) == "strategy");
  CHECK(nearest_word("round", words) == "rounds");
  CHECK(nearest_word("stop-gain", words) == "stop_gain");
  CHECK(nearest_word("partition", words).empty());
  CHECK(nearest_word("rounds", words) == "rounds");
}
