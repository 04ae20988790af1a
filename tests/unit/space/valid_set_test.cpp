// SPDX-License-Identifier: MIT
#include "slurmtune/space/valid_set.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "slurmtune/base/random.hpp"
#include "slurmtune/input/study_input.hpp"

#include "tests/support/catch.hpp"

using namespace slurmtune;

namespace {

Space space_of(const std::string& rest, const std::string& config = "") {
  StudySources sources;
  sources.study = {"study.toml",
                   "format = 1\nname = \"x\"\n[trial]\nnodes = 2\n"
                   "processes_per_node = 4\ncommand = [\"t\"" +
                       std::string(config.empty() ? "" : ", \"{ds_config}\"") + "]\n" + rest};
  sources.site = {"generic.toml", "name = \"generic\"\n"};
  if (!config.empty()) sources.ds_config = SourceText{"ds_config.json", config};
  const auto input = read_study(sources);
  INFO(rest << (input ? std::string() : input.error().message));
  REQUIRE(input.has_value());
  auto space = make_space(input->spec);
  INFO((space ? std::string() : space.error().message));
  REQUIRE(space.has_value());
  return *std::move(space);
}

ValidSet set_of(const Space& space) {
  auto set = make_valid_set(space);
  INFO((set ? std::string() : set.error().message));
  REQUIRE(set.has_value());
  return *std::move(set);
}

std::string parameter(const std::string& name, const std::string& type, const std::string& values,
                      const std::string& when = "") {
  return fmt::format(
      "[[parameter]]\nname = \"{0}\"\ntype = \"{1}\"\n{2}\ntarget = \"env:{0}\"\n{3}", name, type,
      values, when.empty() ? "" : fmt::format("when = '{}'\n", when));
}

std::string constraint(const std::string& expression) {
  return fmt::format("[[constraint]]\nexpr = '{}'\n", expression);
}

/// Every combination of levels, -1 where a parameter may be absent, that the space contains.
std::vector<Configuration> by_brute_force(const Space& space) {
  const auto parameters = level_parameters(space);
  std::vector<Configuration> found;
  Configuration configuration;
  const auto walk = [&](const auto& self, std::size_t depth) -> void {
    if (depth == parameters.size()) {
      if (space.contains(configuration)) found.push_back(configuration);
      return;
    }
    if (space.parameters()[depth].when) self(self, depth + 1);
    for (const Value& level : parameters[depth].levels) {
      configuration.values.insert_or_assign(parameters[depth].name, level);
      self(self, depth + 1);
    }
    configuration.values.erase(parameters[depth].name);
  };
  walk(walk, 0);
  std::ranges::sort(found);
  return found;
}

std::vector<Configuration> configurations_of(const ValidSet& set) {
  std::vector<Configuration> found;
  for (std::uint64_t k = 0; k < set.size(); ++k) {
    const Levels levels = set.at(k);
    CHECK(set.rank(levels) == k);
    found.push_back(set.configuration(levels));
    CHECK(set.levels(found.back()) == levels);
  }
  std::ranges::sort(found);
  return found;
}

/// All neighbours as the header defines them, of a space without conditions.
std::set<std::uint64_t> plain_neighbours(const ValidSet& set, std::uint64_t k) {
  std::set<std::uint64_t> found;
  const Levels from = set.at(k);
  for (std::size_t i = 0; i < from.size(); ++i) {
    const LevelParameter& own = set.parameters()[i];
    const bool all = own.type == ParameterType::categorical || own.type == ParameterType::boolean;
    for (const int step : {-1, 1}) {
      Levels to = from;
      for (to[i] += step; to[i] >= 0 && to[i] < static_cast<int>(own.levels.size());
           to[i] += step) {
        const auto rank = set.rank(to);
        if (rank) found.insert(*rank);
        if (rank && !all) break;
      }
    }
  }
  return found;
}

/// A study of a few parameters and constraints, of many kinds.
class RandomStudy {
 public:
  explicit RandomStudy(Seed seed) : chance_(seed) {}

  std::string text() {
    std::string study;
    const auto count = 2 + chance_.below(4);
    for (std::uint64_t i = 0; i < count; ++i) study += one_parameter();
    const auto rules = chance_.below(5);
    for (std::uint64_t i = 0; i < rules; ++i) study += constraint(rule());
    return study;
  }
  [[nodiscard]] bool conditional() const { return conditional_; }

 private:
  std::string one_parameter() {
    const std::string name(1, static_cast<char>('a' + names_.size()));
    std::string type = "int";
    std::string values;
    switch (chance_.below(5)) {
      case 0: values = fmt::format("range = [1, {}]", 2 + chance_.below(5)); break;
      case 1: values = "values = [16, 1, 2, 8, 32]"; break;
      case 2: type = "bool"; break;
      case 3:
        type = "real";
        values = "values = [0.1, 0.5, 0.25, 3.0]";
        break;
      default:
        type = "categorical";
        values = "values = [\"x\", \"y\", \"z\"]";
        break;
    }
    std::string when;
    if (!numbers_.empty() && chance_.below(4) == 0) {
      when = number() + " >= " + std::to_string(chance_.below(4));
      conditional_ = true;
    }
    names_.push_back(name);
    if (type == "categorical") {
      texts_.push_back(name);
    } else {
      numbers_.push_back(name);
    }
    return parameter(name, type, values, when);
  }

  std::string number() {
    if (numbers_.empty()) return std::to_string(chance_.below(9));
    return numbers_[chance_.below(numbers_.size())];
  }

  std::string rule() {
    switch (chance_.below(10)) {
      case 0: return fmt::format("{} * {} <= {}", number(), number(), chance_.below(40));
      case 1: return fmt::format("{} % {} == 0", number(), number());
      case 2:
        return fmt::format("{} + {} * {} > {}", number(), number(), number(), chance_.below(9));
      case 3: return fmt::format("{} >= 2 && {} < 16", number(), number());
      case 4: return fmt::format("{} > 1 || {} == 1 || !{}", number(), number(), number());
      case 5:
        return fmt::format("{} < 2 ? {} < 8 : {} * {} != 4", number(), number(), number(),
                           number());
      case 6: return fmt::format("max({}, {}) / ({} - 1) < 4", number(), number(), number());
      case 7:
        return fmt::format("2 * {} + 3 * {} ^ 2 <= {}", number(), number(), chance_.below(99));
      case 8: return fmt::format("-{} + sqrt({}) < log2({})", number(), number(), number());
      default:
        if (texts_.empty()) return fmt::format("{} != 2", number());
        return fmt::format("{} == \"x\" || {} < 4", texts_[chance_.below(texts_.size())], number());
    }
  }

  Random chance_;
  std::vector<std::string> names_;
  std::vector<std::string> numbers_;
  std::vector<std::string> texts_;
  bool conditional_ = false;
};

}  // namespace

TEST_CASE("valid set: holds what a search through all combinations finds, each once", "[space]") {
  std::size_t empty = 0;
  std::size_t conditional = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    RandomStudy study(Seed{seed});
    const std::string text = study.text();
    CAPTURE(seed, text);
    const Space space = space_of(text);
    const ValidSet set = set_of(space);
    const auto expected = by_brute_force(space);
    REQUIRE(set.size() == expected.size());
    CHECK(configurations_of(set) == expected);
    empty += expected.empty() ? 1U : 0U;
    conditional += study.conditional() ? 1U : 0U;
    for (std::uint64_t k = 0; k < set.size(); k += 1 + set.size() / 20) {
      const auto neighbours = set.neighbours(k);
      const std::set<std::uint64_t> each(neighbours.begin(), neighbours.end());
      CHECK(each.size() == neighbours.size());
      CHECK_FALSE(each.contains(k));
      for (const std::uint64_t other : neighbours) CHECK(other < set.size());
      if (!study.conditional()) CHECK(each == plain_neighbours(set, k));
    }
  }
  CHECK(empty > 5);
  CHECK(empty < 150);
  CHECK(conditional > 50);
}

TEST_CASE("valid set: of DeepSpeed, the accumulation follows from the micro-batch", "[space]") {
  const std::string config = "[deepspeed]\nconfig = \"ds_config.json\"\nzero_stages = [0, 2]\n";
  SECTION("of a constant batch") {
    const Space space =
        space_of(config + "[batch]\nglobal = 96\n" + constraint("micro_batch < 12"), "{}");
    const ValidSet set = set_of(space);
    CHECK(configurations_of(set) == by_brute_force(space));
    CHECK(set.size() == 10);
    const auto& accumulation = set.parameters().at(2);
    CHECK(accumulation.derived);
    CHECK(accumulation.levels.size() == 6);
    // Another micro-batch is one decision, with the accumulation that belongs to it.
    const auto k = set.rank(*set.levels({{{"zero_stage", std::int64_t{0}},
                                          {"micro_batch", std::int64_t{3}},
                                          {"gradient_accumulation", std::int64_t{4}}}}));
    REQUIRE(k);
    std::set<std::int64_t> accumulations;
    const auto neighbours = set.neighbours(*k);
    CHECK(neighbours.size() == 3);
    for (const auto other : neighbours) {
      accumulations.insert(*set.configuration(set.at(other)).integer("gradient_accumulation"));
    }
    CHECK(accumulations == std::set<std::int64_t>{3, 4, 6});
  }
  SECTION("of listed micro-batches that do not all divide it") {
    const Space space = space_of(config + "[batch]\nglobal = 96\nmicro_batch = [2, 5, 4]\n", "{}");
    CHECK(set_of(space).size() == 4);
    CHECK(configurations_of(set_of(space)) == by_brute_force(space));
  }
  SECTION("of a free batch, which constraints see") {
    const Space space = space_of(config + constraint("global_batch <= 100 && zero_stage * 8 < "
                                                     "global_batch"),
                                 "{\"gradient_accumulation_steps\": 2}");
    CHECK(set_of(space).size() == 11);
    CHECK(configurations_of(set_of(space)) == by_brute_force(space));
  }
}

TEST_CASE("valid set: a parameter comes and goes with its condition, also in neighbours",
          "[space]") {
  const Space space =
      space_of(parameter("stage", "int", "values = [0, 1, 2]") +
               parameter("bucket", "int", "values = [4, 8, 16]", "stage >= 1") +
               parameter("deep", "bool", "", "bucket > 4") + constraint("bucket > 4"));
  const ValidSet set = set_of(space);
  CHECK(set.size() == 1 + 2 * 2 * 2);
  CHECK(configurations_of(set) == by_brute_force(space));
  const auto without = set.rank(Levels{0, -1, -1});
  REQUIRE(without);
  CHECK(set.neighbours(*without) == std::vector<std::uint64_t>{*set.rank(Levels{1, 1, 0})});
  const auto with = set.rank(Levels{1, 2, 1});
  REQUIRE(with);
  const std::vector<std::uint64_t> expected{*without, *set.rank(Levels{2, 2, 1}),
                                            *set.rank(Levels{1, 1, 1}), *set.rank(Levels{1, 2, 0})};
  CHECK(set.neighbours(*with) == expected);
  CHECK_FALSE(set.rank(Levels{0, 1, 0}));
  CHECK_FALSE(set.rank(Levels{1, -1, -1}));
  CHECK_FALSE(set.rank(Levels{1, 7, 0}));
  CHECK_FALSE(set.rank(Levels{0, -1}));
}

TEST_CASE("valid set: ranges have all their values, or 65 on their scale", "[space]") {
  const auto levels_of = [](const std::string& type, const std::string& range) {
    return level_parameters(space_of(parameter("p", type, range))).at(0).levels;
  };
  CHECK(levels_of("int", "range = [5, 1028]").size() == 1024);
  const auto integers = levels_of("int", "range = [0, 6400]");
  REQUIRE(integers.size() == 65);
  CHECK(integers.at(0) == Value(std::int64_t{0}));
  CHECK(integers.at(1) == Value(std::int64_t{100}));
  CHECK(integers.at(64) == Value(std::int64_t{6400}));
  const auto log = levels_of("int", "range = [1_000_000, 1_000_000_000]\nscale = \"log\"");
  REQUIRE(log.size() == 65);
  CHECK(log.front() == Value(std::int64_t{1'000'000}));
  CHECK(log.at(32) == Value(std::int64_t{31'622'777}));
  CHECK(log.back() == Value(std::int64_t{1'000'000'000}));
  const auto real = levels_of("real", "range = [0.1, 1]");
  REQUIRE(real.size() == 65);
  CHECK(real.front() == Value(0.1));
  CHECK(real.back() == Value(1.0));
  const Space space = space_of(parameter("p", "real", "range = [1e-6, 0.1]\nscale = \"log\""));
  const auto parameters = level_parameters(space);
  for (const Value& level : parameters.at(0).levels) {
    CHECK(space.contains({{{"p", level}}}));
  }
}

TEST_CASE("valid set: of a table, the rows in order, equal ones once", "[space]") {
  Random chance(Seed{5});
  for (int round = 0; round < 30; ++round) {
    std::vector<LevelParameter> parameters(1 + chance.below(4));
    std::vector<Levels> rows(chance.below(60));
    for (auto& parameter : parameters) {
      for (std::int64_t i = 0; i < 4; ++i) parameter.levels.emplace_back(i);
    }
    for (Levels& row : rows) {
      for (std::size_t i = 0; i < parameters.size(); ++i) {
        row.push_back(static_cast<std::int32_t>(chance.below(5)) - 1);
      }
    }
    const ValidSet set = valid_set_of_rows(parameters, rows);
    const std::set<Levels> unique(rows.begin(), rows.end());
    REQUIRE(set.size() == unique.size());
    std::uint64_t k = 0;
    for (const Levels& row : unique) {
      CHECK(set.at(k) == row);
      CHECK(set.rank(row) == k);
      for (const auto other : set.neighbours(k)) CHECK(unique.contains(set.at(other)));
      ++k;
    }
  }
}

TEST_CASE("valid set: a billion combinations are counted, and none too many", "[space]") {
  std::string study;
  for (char name = 'a'; name <= 'i'; ++name) {
    study += parameter(std::string(1, name), "int", "range = [1, 10]");
  }
  SECTION("free") {
    const ValidSet set = set_of(space_of(study));
    CHECK(set.size() == 1'000'000'000);
    CHECK(set.stored_bytes() < 10'000);
    CHECK(set.rank(set.at(123'456'789)) == 123'456'789);
  }
  SECTION("all tied together") {
    // As many as numbers of nine digits (or fewer) whose digits add up to 40.
    const ValidSet set = set_of(space_of(study + constraint("a+b+c+d+e+f+g+h+i == 49")));
    CHECK(set.size() == 45'433'800);
    CHECK(set.stored_bytes() < 1'000'000);
    CHECK(set.rank(set.at(45'433'799)) == 45'433'799);
  }
  SECTION("more than numbers can name") {
    for (char name = 'j'; name <= 's'; ++name) {
      study += parameter(std::string(1, name), "int", "range = [1, 10]");
    }
    const auto set = make_valid_set(space_of(study));
    REQUIRE_FALSE(set);
    CHECK(set.error().message ==
          "study.toml:1: 2^63 valid configurations or more; write fewer values");
    CHECK(
        set_of(space_of(study + constraint("a*b*c*d*e*f*g*h*i*j*k*l*m*n*o*p*q*r*s < 3"))).size() ==
        20);
  }
}
