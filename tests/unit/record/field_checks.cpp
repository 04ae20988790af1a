// SPDX-License-Identifier: MIT
#include "tests/unit/record/field_checks.hpp"

#include <fstream>
#include <iterator>

#include <nlohmann/json.hpp>

#include "slurmtune/base/random.hpp"

#include "tests/support/catch.hpp"

namespace slurmtune {

void check_fields(const nlohmann::json& whole, const std::string& pointer,
                  const std::set<std::string>& required, const std::string& where,
                  const ReadRecord& read) {
  const nlohmann::json::json_pointer at(pointer);
  REQUIRE(read(whole.dump()).has_value());
  std::set<std::string> seen;
  for (const auto& [key, value] : whole.at(at).items()) {
    INFO(pointer << '/' << key);
    nlohmann::json without = whole;
    without.at(at).erase(key);
    const auto result = read(without.dump());
    CHECK(result.has_value() == !required.contains(key));
    if (!result) {
      CHECK(result.error().kind == ErrorKind::corrupt_data);
      CHECK(result.error().message.find(where + ": ") == 0);
      CHECK(result.error().message.find(key + " is missing") != std::string::npos);
    }
    seen.insert(key);
  }
  for (const std::string& key : required) CHECK(seen.contains(key));
  nlohmann::json more = whole;
  more.at(at)["of_a_later_release"] = {{"x", 1}};
  CHECK(read(more.dump()).has_value());
}

void check_damaged(const std::string& text, int times, const std::string& path,
                   const ReadRecord& read) {
  Random random(Seed{99});
  int refused = 0;
  for (int i = 0; i < times; ++i) {
    std::string damaged = text;
    for (auto changes = 1 + random.below(3); changes > 0 && !damaged.empty(); --changes) {
      const std::size_t at = random.below(damaged.size());
      switch (random.below(4)) {
        case 0: damaged[at] = static_cast<char>(random.below(256)); break;
        case 1: damaged[at] = "{}[]\",:0e-\n"[random.below(11)]; break;
        case 2: damaged.erase(at, 1 + random.below(20)); break;
        default: damaged.insert(at, damaged.substr(at, 1 + random.below(20))); break;
      }
    }
    const auto result = read(damaged);
    if (result) continue;
    ++refused;
    INFO(damaged);
    REQUIRE(result.error().message.find(path + ":") == 0);
  }
  CHECK(refused > times / 2);
}

std::string test_data(const std::string& path) {
  std::ifstream in(SLURMTUNE_SOURCE_DIR "/tests/data/" + path, std::ios::binary);
  REQUIRE(in);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace slurmtune
