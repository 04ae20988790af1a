// SPDX-License-Identifier: MIT

// Plays strategies over measured tables: trials paid until one is within 5 % and 1 % of the
// table's best, failures paid, at several widths. search_bench.py writes the tables and prints
// what this prints.
//
//   table_search <table> <strategy> <width> <seeds> <trials at most> [<first seed>]
//
// A table is text: `<parameters> <rows>`, a line `<name> number|word <role or -> <levels>
// <level>…` for each parameter, then rows of level numbers, status (0 failed, 1 measured, 2 out of
// memory) and value (larger is better). Prints a line of JSON.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "slurmtune/base/random.hpp"
#include "slurmtune/search/point_strategies.hpp"

using namespace slurmtune;

namespace {

struct Row {
  TrialState state = TrialState::failed;
  double value = 0.0;
};

struct Table {
  ValidSet points;
  std::vector<std::vector<Row>> rows;  ///< of each point
  std::vector<std::uint32_t> copies;
  double best = 0.0;
};

Value level_of(const std::string& word, bool is_number) {
  if (!is_number) return word;
  const double number = std::stod(word);
  const auto integer = static_cast<std::int64_t>(number);
  if (static_cast<double>(integer) == number) return integer;
  return number;
}

LevelParameter read_parameter(std::ifstream& file) {
  LevelParameter parameter;
  std::string kind;
  std::size_t levels = 0;
  file >> parameter.name >> kind >> parameter.role >> levels;
  if (parameter.role == "-") parameter.role.clear();
  const bool is_number = kind == "number";
  parameter.type = is_number ? ParameterType::integer : ParameterType::categorical;
  for (std::size_t i = 0; i < levels; ++i) {
    std::string word;
    file >> word;
    parameter.levels.push_back(level_of(word, is_number));
    if (std::holds_alternative<double>(parameter.levels.back())) {
      parameter.type = ParameterType::real;
    }
  }
  return parameter;
}

Table read_table(const std::string& path) {
  std::ifstream file(path);
  std::size_t parameter_count = 0;
  std::size_t row_count = 0;
  file >> parameter_count >> row_count;
  std::vector<LevelParameter> parameters;
  for (std::size_t i = 0; i < parameter_count; ++i) parameters.push_back(read_parameter(file));
  std::vector<Levels> levels(row_count, Levels(parameter_count));
  std::vector<Row> rows(row_count);
  for (std::size_t i = 0; i < row_count; ++i) {
    for (std::int32_t& level : levels[i]) file >> level;
    int status = 0;
    file >> status >> rows[i].value;
    rows[i].state = status == 1   ? TrialState::measured
                    : status == 2 ? TrialState::does_not_fit
                                  : TrialState::failed;
  }
  if (!file) {
    fmt::print(stderr, "{}: not a table\n", path);
    std::exit(2);
  }
  Table table{valid_set_of_rows(std::move(parameters), levels), {}, {}, -1e300};
  table.rows.resize(table.points.size());
  table.copies.resize(table.points.size());
  for (std::size_t i = 0; i < row_count; ++i) {
    const std::uint64_t point = *table.points.rank(levels[i]);
    table.rows[point].push_back(rows[i]);
    ++table.copies[point];
    if (rows[i].state == TrialState::measured) table.best = std::max(table.best, rows[i].value);
  }
  return table;
}

std::vector<std::uint64_t> propose(const std::string& strategy, const SearchProblem& problem,
                                   std::size_t width) {
  if (strategy == "random") return propose_random(problem, width);
  if (strategy == "model") return propose_model(problem, width);
  if (strategy == "auto") return propose_auto(problem, width);
  fmt::print(stderr, "{}: auto, model or random\n", strategy);
  std::exit(2);
}

struct Reached {
  double trials[2] = {0.0, 0.0};  ///< paid until within 5 % and 1 %
  double rounds[2] = {0.0, 0.0};
  double slowest = 0.0;  ///< ms of a proposal
};

/// A search of which one never comes near counts as all its trials.
Reached play(const Table& table, const std::string& strategy, std::size_t width, std::uint64_t seed,
             std::size_t trials_max) {
  Random random(Seed{seed ^ 0x7461626cU});
  std::vector<std::vector<Row>> rows = table.rows;
  std::vector<PointTrial> trials;
  Reached reached;
  const auto far = [&](double share) {
    return table.best > 0.0 ? table.best * (1.0 - share) : table.best * (1.0 + share);
  };
  const double wanted[2] = {far(0.05), far(0.01)};
  double best = -1e300;
  double round = 0.0;
  while (best < wanted[1] && trials.size() < trials_max) {
    const auto before = std::chrono::steady_clock::now();
    const auto points = propose(
        strategy, {.points = table.points, .trials = trials, .seed = seed, .copies = table.copies},
        width);
    const std::chrono::duration<double, std::milli> took =
        std::chrono::steady_clock::now() - before;
    reached.slowest = std::max(reached.slowest, took.count());
    if (points.empty()) break;
    round += 1.0;
    for (const std::uint64_t point : points) {
      auto& left = rows[point];
      if (left.empty()) {
        fmt::print(stderr, "point {} was proposed too often\n", point);
        std::exit(1);
      }
      std::swap(left[random.below(left.size())], left.back());
      trials.push_back({point, left.back().state, left.back().value});
      left.pop_back();
      if (trials.back().state == TrialState::measured) best = std::max(best, trials.back().value);
      for (std::size_t i = 0; i < 2; ++i) {
        if (best < wanted[i] || reached.trials[i] > 0.0) continue;
        reached.trials[i] = static_cast<double>(trials.size());
        reached.rounds[i] = round;
      }
    }
  }
  for (std::size_t i = 0; i < 2; ++i) {
    if (reached.trials[i] > 0.0) continue;
    reached.trials[i] = static_cast<double>(trials.size());
    reached.rounds[i] = round;
  }
  return reached;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : 0.5 * (values[half - 1] + values[half]);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 6) {
    fmt::print(stderr, "usage: table_search TABLE STRATEGY WIDTH SEEDS TRIALS [FIRST-SEED]\n");
    return 2;
  }
  const Table table = read_table(argv[1]);
  const std::string strategy = argv[2];
  const std::size_t width = std::stoul(argv[3]);
  const std::uint64_t seeds = std::stoull(argv[4]);
  const std::size_t trials_max = std::stoul(argv[5]);
  const std::uint64_t first = argc > 6 ? std::stoull(argv[6]) : 1;
  std::vector<double> trials[2];
  std::vector<double> rounds[2];
  double slowest = 0.0;
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    const Reached reached = play(table, strategy, width, seed, trials_max);
    for (std::size_t i = 0; i < 2; ++i) {
      trials[i].push_back(reached.trials[i]);
      rounds[i].push_back(reached.rounds[i]);
    }
    slowest = std::max(slowest, reached.slowest);
  }
  fmt::print("{{\"trials\": [{}, {}], \"rounds\": [{}, {}], \"slowest_ms\": {:.1f}}}\n",
             median(trials[0]), median(trials[1]), median(rounds[0]), median(rounds[1]), slowest);
  return 0;
}
