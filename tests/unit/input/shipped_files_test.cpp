// SPDX-License-Identifier: MIT
#include <regex>
#include <string>

#include <nlohmann/json.hpp>

#include "slurmtune/base/embedded.hpp"
#include "slurmtune/input/node.hpp"
#include "slurmtune/input/site_file.hpp"
#include "slurmtune/input/study_input.hpp"

#include "tests/support/catch.hpp"

using namespace slurmtune;

TEST_CASE("site-configs: every shipped site is read and bears its file's name", "[input]") {
  int sites = 0;
  for (const EmbeddedFile& file : embedded_files()) {
    if (!file.path.starts_with("site-configs/")) continue;
    ++sites;
    const auto read = read_site_file({std::string(file.path), std::string(file.text)});
    INFO((read ? std::string(file.path) : read.error().message));
    REQUIRE(read.has_value());
    const auto site = resolve_site(*read, {});
    REQUIRE(site.has_value());
    CHECK("site-configs/" + site->name + ".toml" == file.path);
    CHECK(queues_of(*read).has_value());
  }
  CHECK(sites >= 19);
}

TEST_CASE("site-configs: a centre's file tells its sources and when they were read", "[input]") {
  static const std::regex source(
      R"(# Source: (https?://|github\.com/)\S+[^#]*read 20\d\d-\d\d-\d\d)");
  int centres = 0;
  for (const EmbeddedFile& file : embedded_files()) {
    if (!file.path.starts_with("site-configs/")) continue;
    const std::string name(file.path.substr(file.path.find('/') + 1));
    if (name == "generic.toml" || name == "local.toml" || name == "test-cluster.toml") continue;
    ++centres;
    INFO(name);
    // Comments as one line each, as they are read.
    std::string text = std::regex_replace(std::string(file.text), std::regex("\n#   +"), " ");
    CHECK(std::regex_search(text, source));
    const auto site = parse_site({name, std::string(file.text)});
    REQUIRE(site.has_value());
    CHECK(site->gpus_per_node.value_or(0) >= 1);
    CHECK(site->gpu_bytes.value_or(0.0) >= 16e9);
  }
  CHECK(centres >= 14);
}

TEST_CASE("site-configs: the generic site says what Site assumes by itself", "[input]") {
  const auto text = embedded_file("site-configs/generic.toml");
  REQUIRE(text.has_value());
  const auto site = parse_site({"generic.toml", std::string(*text)});
  REQUIRE(site.has_value());
  const Site assumed;
  CHECK(site->exclusive == assumed.exclusive);
  CHECK(site->array_size_max == assumed.array_size_max);
  CHECK(site->submit_jobs_max == assumed.submit_jobs_max);
  CHECK(site->walltime_max_s == assumed.walltime_max_s);
  CHECK(site->min_task_minutes == assumed.min_task_minutes);
  CHECK(site->reducer_minutes == assumed.reducer_minutes);
  CHECK(site->fs_settle_s == assumed.fs_settle_s);
  CHECK(site->partition.empty());
  CHECK_FALSE(site->gpus_per_node.has_value());
}

TEST_CASE("templates: each ZeRO stage has one, and its numbers are integers", "[input]") {
  for (int stage = 0; stage <= 3; ++stage) {
    const std::string path = "templates/zero" + std::to_string(stage) + ".json";
    INFO(path);
    const auto text = embedded_file(path);
    REQUIRE(text.has_value());
    const auto node = parse_json_source({path, std::string(*text)});
    REQUIRE(node.has_value());
    CHECK(node->find("when")->text == "zero_stage == " + std::to_string(stage));
    const Node* knobs = node->find("knobs");
    REQUIRE(knobs != nullptr);
    CHECK(knobs->items.empty() == (stage == 0));
    for (const Node& knob : knobs->items) {
      INFO(knob.find("set")->text);
      CHECK(knob.find("choices")->items.size() >= 2);
      for (const Node& choice : knob.find("choices")->items) {
        const bool plain = choice.kind == Node::Kind::integer || choice.kind == Node::Kind::boolean;
        CHECK(plain);
      }
    }
  }
}
