// SPDX-License-Identifier: MIT
#include "slurmtune/input/node.hpp"

#include <string>

#include <nlohmann/json.hpp>

#include "tests/support/catch.hpp"

using namespace slurmtune;

namespace {

std::string json_error(std::string text) {
  const auto node = parse_json_source({"f.json", std::move(text)});
  return node ? "accepted" : node.error().message;
}

std::string toml_error(std::string text) {
  const auto node = parse_toml({"f.toml", std::move(text)});
  return node ? "accepted" : node.error().message;
}

}  // namespace

TEST_CASE("parse_json_source: every value has the line of its key", "[input]") {
  const auto node = parse_json_source({"f.json", "{\n\"a\":\n 5,\n\"b\": {\"c\": [1,\n2]}}"});
  REQUIRE(node.has_value());
  CHECK(node->find("a")->line == 2);
  CHECK(node->find("b")->line == 4);
  CHECK(node->find("b")->find("c")->line == 4);
  CHECK(node->find("b")->find("c")->items.at(1).line == 5);
  CHECK(node->find("none") == nullptr);
}

TEST_CASE("parse_json_source: the tree is the one that the JSON library reads", "[input]") {
  const std::string text =
      R"({"a": [1, -2, 3.5, 1e9, true, null, "x\n\u00e9"], "b": {"c": {}, "d": []}, "e": false})";
  const auto node = parse_json_source({"f.json", text});
  REQUIRE(node.has_value());
  CHECK(node_to_json(*node) == nlohmann::json::parse(text));
}

TEST_CASE("parse_json_source: errors name the line of the offending token", "[input]") {
  CHECK(json_error("{\n\"a\": 1\n \"b\":2}").starts_with("f.json:3: this is not JSON: "));
  CHECK(json_error("{\n\"a\": \"x\n\"}").starts_with("f.json:2: this is not JSON: "));
  CHECK(json_error("").starts_with("f.json:1: this is not JSON: "));
  CHECK(json_error("{\"a\": 1}\n x").starts_with("f.json:2: this is not JSON: "));
  CHECK(json_error("{\n\"a\": 1e999}").starts_with("f.json:2: this is not JSON: number overflow"));
  CHECK(json_error("{\"a\": NaN}").starts_with("f.json:1: this is not JSON: "));
  CHECK(json_error("{\"a\": \"\\u0000\"}") == "f.json:1: a text holds a NUL character; remove it");
  CHECK(json_error("{\"a\":\n18446744073709551615}") ==
        "f.json:2: 18446744073709551615 does not fit in 64 bits; write a smaller number");
}

TEST_CASE("parse_json_source: a key twice is an error in inner objects, too", "[input]") {
  CHECK(json_error("{\"a\": {\n\"b\": 1,\n\"c\": 2,\n\"b\": 3}}") ==
        "f.json:4: the key \"b\" stands here a second time (first in line 2); remove one of them");
  CHECK(json_error("{\"a\": {\"b\": 1}, \"c\": {\"b\": 1}}") == "accepted");
}

TEST_CASE("parse_json_source: depth is bounded", "[input]") {
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  CHECK(json_error(deep) == "f.json:1: this is nested more than 64 deep; flatten it");
  CHECK(json_error(std::string(64, '[') + std::string(64, ']')) == "accepted");
}

TEST_CASE("parse_toml: keys are in the order of their lines, and know them", "[input]") {
  const auto node = parse_toml({"f.toml", "z = 1\n[b]\nc = 2\n[a]\nd = [1,\n 2]\n"});
  REQUIRE(node.has_value());
  REQUIRE(node->members.size() == 3);
  CHECK(node->members[0].key == "z");
  CHECK(node->members[1].key == "b");
  CHECK(node->members[2].key == "a");
  CHECK(node->find("a")->find("d")->line == 5);
  CHECK(node->find("a")->find("d")->items.at(1).line == 6);
}

TEST_CASE("parse_toml: refuses what is no number, with its line", "[input]") {
  CHECK(toml_error("a = 1\nb = nan") == "f.toml:2: nan is not a finite number; write a finite one");
  CHECK(toml_error("a = -inf") == "f.toml:1: -inf is not a finite number; write a finite one");
  CHECK(toml_error("a = 99999999999999999999").starts_with("f.toml:1: this is not TOML: "));
  CHECK(toml_error("a = \"\\u0000\"") == "f.toml:1: a text holds a NUL character; remove it");
  CHECK(toml_error("a = 1\n\na = 2").starts_with("f.toml:3: this is not TOML: "));
}

TEST_CASE("Node: a real is integral only where a double is exact", "[input]") {
  Node node;
  node.kind = Node::Kind::real;
  node.real = 1e9;
  CHECK(node.is_integral());
  CHECK(node.as_integer() == 1'000'000'000);
  node.real = 1e17;
  CHECK_FALSE(node.is_integral());
  node.real = 0.5;
  CHECK_FALSE(node.is_integral());
}
