// SPDX-License-Identifier: MIT
#include "slurmtune/space/space.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "slurmtune/input/study_input.hpp"
#include "slurmtune/space/global_batch.hpp"

#include "tests/support/catch.hpp"

using namespace slurmtune;

namespace {

using Batches = std::vector<std::int64_t>;

Expected<Space> space_of(std::string study, std::string config) {
  StudySources sources;
  sources.study = {"study.toml", std::move(study)};
  sources.site = {"generic.toml", "name = \"generic\"\n"};
  sources.ds_config = SourceText{"ds_config.json", std::move(config)};
  SLURMTUNE_TRY(const StudyInput input, read_study(sources));
  return make_space(input.spec);
}

// 2 x 4 ranks; `rest` follows the section [deepspeed].
Expected<Space> deepspeed_space(std::string_view rest, std::string config = "{}",
                                std::string_view arguments = "") {
  return space_of(
      "format = 1\nname = \"x\"\n[trial]\nnodes = 2\nprocesses_per_node = 4\n"
      "command = [\"t\", \"{ds_config}\"" +
          std::string(arguments) + "]\n[deepspeed]\nconfig = \"ds_config.json\"\n" +
          std::string(rest),
      std::move(config));
}

Expected<Space> generic_space(const std::string& rest) {
  return space_of("format = 1\nname = \"x\"\n[trial]\ncommand = [\"t\"]\n" + rest, "");
}

Space good(const Expected<Space>& space) {
  INFO((space ? std::string("made") : space.error().message));
  REQUIRE(space.has_value());
  return *space;
}

Configuration configuration(std::int64_t stage, std::int64_t micro, std::int64_t accumulation) {
  return Configuration{{{std::string(zero_stage_parameter), stage},
                        {std::string(micro_batch_parameter), micro},
                        {std::string(accumulation_parameter), accumulation}}};
}

std::string message_of(const auto& expected) {
  return expected ? "accepted" : expected.error().message;
}

}  // namespace

TEST_CASE("space: a constant global batch leaves its divisors and fixes the accumulation",
          "[space]") {
  const Space space = good(deepspeed_space("zero_stages = [1, 2]\n[batch]\nglobal = 96\n"));
  CHECK(space.global_batch() == 96);
  CHECK(space.zero_stages() == std::vector<int>{1, 2});
  CHECK(space.micro_batches(1) == Batches{1, 2, 3, 4, 6, 12});
  CHECK(space.micro_batches(3).empty());
  CHECK(space.contains(configuration(1, 3, 4)));
  CHECK_FALSE(space.contains(configuration(1, 3, 2)));
  CHECK_FALSE(space.contains(configuration(1, 5, 2)));
  CHECK_FALSE(space.contains(configuration(3, 3, 4)));
  const auto all = space.enumerate(100);
  REQUIRE(all.has_value());
  CHECK(all->size() == 12);
  for (const Configuration& one : *all) {
    CHECK(*one.integer("micro_batch") * *one.integer("gradient_accumulation") * 8 == 96);
  }
}

TEST_CASE("space: with max_global one global batch holds for all candidates", "[space]") {
  CHECK(good(deepspeed_space("[batch]\nmax_global = 100\n")).global_batch() == 96);
  const Space listed = good(deepspeed_space("[batch]\nmax_global = 100\nmicro_batch = [2, 5]\n"));
  CHECK(listed.global_batch() == 80);
  CHECK(listed.micro_batches(0) == Batches{2, 5});
  CHECK(message_of(deepspeed_space("[batch]\nmax_global = 64\nmicro_batch = [3, 5]\n")) ==
        "study.toml:10: no global batch up to 64 is a multiple of each micro-batch in [3, 5] x 8 "
        "ranks; raise the limit, or list fewer");
}

TEST_CASE("space: without a list, max_global leaves micro-batches of all sizes", "[space]") {
  const Space space = good(deepspeed_space("[batch]\nmax_global = 1016\n"));
  CHECK(space.global_batch() == 1008);  // 8 x 126; of 127 there are 1 and 127 only
  CHECK(space.micro_batches(0) == Batches{1, 2, 3, 6, 7, 9, 14, 18, 21, 42, 63, 126});
  CHECK(good(deepspeed_space("[batch]\nmax_global = 512\n")).global_batch() == 512);
  const std::string capped = R"({"autotuning": {"max_train_batch_size": 1016,
    "max_train_micro_batch_size_per_gpu": 2}})";
  CHECK(good(deepspeed_space("", capped)).global_batch() == 1016);
}

TEST_CASE("global batch: divisors are close up to the cap, or a smaller one is taken", "[space]") {
  CHECK(has_close_divisors(1, 1024));
  CHECK(has_close_divisors(64, 1024));
  CHECK(has_close_divisors(127, 3));
  CHECK_FALSE(has_close_divisors(127, 4));
  CHECK_FALSE(has_close_divisors(5, 1024));
  for (std::int64_t most = 1; most < 2000; ++most) {
    const std::int64_t taken = largest_with_close_divisors(most, 1024);
    CAPTURE(most, taken);
    CHECK(taken <= most);
    CHECK(10 * taken >= 7 * most);
    CHECK(has_close_divisors(taken, 1024));
  }
  CHECK(largest_with_close_divisors(1'000'000'000'000, 1'000'000) <= 1'000'000'000'000);
}

TEST_CASE("space: free without a limit keeps the user's accumulation", "[space]") {
  const Space space = good(deepspeed_space("", R"({"gradient_accumulation_steps": 4,
    "autotuning": {"max_train_micro_batch_size_per_gpu": 5}})"));
  CHECK_FALSE(space.global_batch().has_value());
  CHECK(space.micro_batches(0) == Batches{1, 2, 3, 4, 5});
  CHECK(space.contains(configuration(0, 5, 4)));
  CHECK_FALSE(space.contains(configuration(0, 5, 1)));
  CHECK_FALSE(space.contains(configuration(0, 6, 4)));
  CHECK(*space.complete({{"micro_batch", std::int64_t{2}}, {"zero_stage", std::int64_t{3}}}) ==
        configuration(3, 2, 4));
}

TEST_CASE("space: constraints close micro-batches, by what the batch makes", "[space]") {
  const Space space = good(deepspeed_space(
      "[batch]\nmicro_batch = [1, 2, 4, 8]\n[[constraint]]\nexpr = \"global_batch <= 32\"\n"
      "[[constraint]]\nexpr = \"zero_stage > 0 || micro_batch < 4\"\n"));
  CHECK(space.micro_batches(0) == Batches{1, 2});
  CHECK(space.micro_batches(1) == Batches{1, 2, 4});
  CHECK_FALSE(space.contains(configuration(0, 4, 1)));
  CHECK(space.contains(configuration(1, 4, 1)));
  CHECK(space.enumerate(100)->size() == 2 + 3 + 3 + 3);
}

TEST_CASE("space: the constraint of the published format holds in every configuration", "[space]") {
  const Space space = good(deepspeed_space(
      "[batch]\nglobal = 64\n[[constraint]]\n"
      "expr = \"micro_batch * gradient_accumulation * data_parallel == global_batch\"\n"));
  CHECK(space.enumerate(100)->size() == 16);
}

TEST_CASE("space: a conditional parameter is there exactly where its condition holds", "[space]") {
  const Space space = good(deepspeed_space(
      "zero_stages = [0, 1]\n[batch]\nmicro_batch = 1\n[[parameter]]\nname = \"bucket\"\n"
      "type = \"int\"\nvalues = [5e7, 1e9]\nwhen = \"zero_stage >= 1\"\n"
      "target = \"json:zero_optimization.reduce_bucket_size\"\n"
      "[[constraint]]\nexpr = \"bucket < 1e9\"\n"));
  const auto all = space.enumerate(100);
  REQUIRE(all.has_value());
  REQUIRE(all->size() == 2);
  CHECK(all->at(0) == configuration(0, 1, 1));
  CHECK(all->at(1).integer("bucket") == 50'000'000);
  Configuration wrong = configuration(0, 1, 1);
  wrong.values["bucket"] = std::int64_t{50'000'000};
  CHECK_FALSE(space.contains(wrong));
  CHECK_FALSE(space.contains(configuration(1, 1, 1)));
  CHECK(space.complete(wrong.values)->values.count("bucket") == 0);
  CHECK(space.complete({{"zero_stage", std::int64_t{1}}})->integer("bucket") == 50'000'000);
}

TEST_CASE("space: enumerate gives each contained configuration once, in a fixed order", "[space]") {
  const std::string study =
      "[[parameter]]\nname = \"a\"\ntype = \"int\"\nrange = [1, 5]\ntarget = \"arg:-a\"\n"
      "[[parameter]]\nname = \"b\"\ntype = \"categorical\"\nvalues = [\"x\", \"y\"]\n"
      "target = \"arg:-b\"\n"
      "[[parameter]]\nname = \"c\"\ntype = \"bool\"\ntarget = \"arg:-c\"\n"
      "[[constraint]]\nexpr = \"a % 2 == 1 || b == \\\"x\\\"\"\n";
  const Space space = good(generic_space(study));
  const auto all = space.enumerate(1000);
  REQUIRE(all.has_value());
  CHECK(all->size() == 16);
  CHECK(std::set<Configuration>(all->begin(), all->end()).size() == all->size());
  for (const Configuration& one : *all) CHECK(space.contains(one));
  CHECK(*good(generic_space(study)).enumerate(1000) == *all);
  CHECK(all->front().integer("a") == 1);
  CHECK(all->back().integer("a") == 5);
  // What it leaves out, `contains` refuses.
  Configuration out = all->front();
  out.values["a"] = std::int64_t{2};
  out.values["b"] = std::string("y");
  CHECK_FALSE(space.contains(out));
  CHECK(space.enumerate(16).has_value());
  CHECK(message_of(space.enumerate(15)).find("more than 15 configurations") != std::string::npos);
}

TEST_CASE("space: what cannot be enumerated says so", "[space]") {
  CHECK(message_of(good(generic_space("[[parameter]]\nname = \"lr\"\ntype = \"real\"\n"
                                      "range = [0.1, 1]\ntarget = \"arg:--lr\"\n"))
                       .enumerate(10)) ==
        "study.toml:6: parameter \"lr\" has a range of real numbers, which cannot be enumerated; "
        "write values = [...]");
  const Space huge =
      good(generic_space("[[parameter]]\nname = \"n\"\ntype = \"int\"\n"
                         "range = [1, 9000000000000000]\ntarget = \"arg:-n\"\n"));
  CHECK(message_of(huge.enumerate(1000)).find("too many to try each") != std::string::npos);
  const Space sparse =
      good(generic_space("[[parameter]]\nname = \"n\"\ntype = \"int\"\n"
                         "range = [1, 9000000000000000]\ntarget = \"arg:-n\"\n"
                         "[[constraint]]\nexpr = \"n < 0\"\n"));
  CHECK(message_of(sparse.enumerate(1000)).find("too large to try each") != std::string::npos);
}

TEST_CASE("space: names mean one thing", "[space]") {
  const auto named = [](const std::string& name) {
    return message_of(generic_space("[[parameter]]\nname = \"" + name +
                                    "\"\ntype = \"bool\"\ntarget = \"arg:-x\"\n"));
  };
  CHECK(named("bucket") == "accepted");
  CHECK(named("micro_batch") == "accepted");
  for (const char* taken : {"min", "nodes", "global_batch", "true"}) {
    INFO(taken);
    CHECK(named(taken).starts_with("study.toml:6: the name \"" + std::string(taken)));
  }
  CHECK(message_of(deepspeed_space("[[parameter]]\nname = \"micro_batch\"\ntype = \"bool\"\n"
                                   "target = \"arg:-x\"\n"))
            .starts_with("study.toml:10: the name \"micro_batch\" means something else"));
}

TEST_CASE("baseline: is the user's own configuration, even outside the space", "[space]") {
  const std::string parameters =
      "zero_stages = 3\n[[parameter]]\nname = \"bucket\"\ntype = \"int\"\nvalues = [1, 2]\n"
      "target = \"json:zero_optimization.reduce_bucket_size\"\n"
      "[[parameter]]\nname = \"lr\"\ntype = \"real\"\nrange = [0.1, 1]\ntarget = \"arg:--lr\"\n"
      "[[parameter]]\nname = \"kind\"\ntype = \"categorical\"\nvalues = [\"a\", \"b\"]\n"
      "target = \"arg:--kind\"\n";
  const Space space = good(
      deepspeed_space(parameters,
                      R"({"train_micro_batch_size_per_gpu": 7, "gradient_accumulation_steps": 3,
          "zero_optimization": {"stage": 2, "reduce_bucket_size": 5e8}})",
                      ", \"--lr\", \"0.5\""));
  const Configuration& baseline = space.baseline();
  CHECK(baseline.integer("zero_stage") == 2);
  CHECK(baseline.integer("micro_batch") == 7);
  CHECK(baseline.integer("gradient_accumulation") == 3);
  CHECK(baseline.integer("bucket") == 500'000'000);
  CHECK(std::get<double>(baseline.values.at("lr")) == 0.5);
  CHECK(std::get<std::string>(baseline.values.at("kind")) == "a");
  CHECK_FALSE(space.contains(baseline));
}

TEST_CASE("baseline: a value of another type at the target is an error", "[space]") {
  const auto space = deepspeed_space(
      "[[parameter]]\nname = \"bucket\"\ntype = \"int\"\nvalues = [1, 2]\n"
      "target = \"json:own.bucket\"\n",
      R"({"own": {"bucket": "large"}})");
  CHECK(
      message_of(space) ==
      "study.toml:10: parameter \"bucket\": the value \"large\" at its target is not of its type; "
      "correct the type, or the value");
}

TEST_CASE("complete: takes the baseline's values for the rest and knows no others", "[space]") {
  const Space space = good(deepspeed_space("[batch]\nglobal = 64\n"));
  CHECK(*space.complete({{"micro_batch", std::int64_t{4}}}) == configuration(0, 4, 2));
  CHECK(message_of(space.complete({{"micro_batch", std::int64_t{3}}})) ==
        "the global batch 64 is not a multiple of micro_batch 3 x 8 ranks; choose another "
        "micro_batch");
  CHECK(message_of(space.complete({{"micro_bach", std::int64_t{3}}})) ==
        "\"micro_bach\" is no parameter of this study; did you mean \"micro_batch\"?");
}

TEST_CASE("space: numbers that overflow are refused, not wrapped", "[space]") {
  const Space space = good(deepspeed_space("[batch]\nglobal = 64\n"));
  CHECK_FALSE(space.contains(configuration(0, 9'223'372'036'854'775'807, 1)));
  CHECK_FALSE(space.contains(configuration(0, -1, 1)));
  CHECK_FALSE(space.contains(configuration(0, 0, 1)));
}
