// SPDX-License-Identifier: MIT
#include <cmath>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "slurmtune/base/random.hpp"
#include "slurmtune/cli/command.hpp"
#include "slurmtune/cli/output.hpp"
#include "slurmtune/report/table.hpp"
#include "slurmtune/space/space_counts.hpp"
#include "slurmtune/space/valid_set.hpp"
#include "slurmtune/tune/create_study.hpp"

namespace slurmtune {

namespace {

struct SpaceArguments {
  std::string study;
  std::uint64_t samples = 5;
  std::uint64_t seed = 1;
  bool json = false;
};

struct SpaceReport {
  ValidSet set;
  SpaceCounts counts;
  std::vector<Configuration> samples;
  bool has_knobs = false;
};

std::string_view type_word(ParameterType type) {
  switch (type) {
    case ParameterType::integer: return "int";
    case ParameterType::real: return "real";
    case ParameterType::ordinal: return "ordinal";
    case ParameterType::categorical: return "categorical";
    case ParameterType::boolean: return "bool";
  }
  return "";
}

/// Different ones, each set of them as likely as every other. Source: Floyd, in Bentley,
/// "Programming pearls: a sample of brilliance", CACM 30 (1987).
std::vector<Configuration> sample(const ValidSet& set, std::uint64_t count, Seed seed) {
  Random chance(seed);
  std::set<std::uint64_t> drawn;
  std::vector<Configuration> samples;
  count = std::min(count, set.size());
  for (std::uint64_t end = set.size() - count + 1; samples.size() < count; ++end) {
    std::uint64_t k = chance.below(end);
    if (!drawn.insert(k).second) drawn.insert(k = end - 1);
    samples.push_back(set.configuration(set.at(k)));
  }
  return samples;
}

// 1,234,567, and what no reader would count digit by digit as 1.2e+30.
std::string count_text(double count) {
  if (count >= 1e15) return fmt::format("{:.3g}", count);
  std::string digits = fmt::format("{:.0f}", count);
  for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

std::string share_text(double share) {
  if (share > 0.0 && share < 0.001) return "< 0.1 %";
  if (share > 0.999 && share < 1.0) return "> 99.9 %";
  return fmt::format("{:.1f} %", 100.0 * share);
}

std::string levels_text(const LevelParameter& parameter) {
  std::string text;
  const std::size_t count = parameter.levels.size();
  for (std::size_t i = 0; i < count; ++i) {
    if (count > 6 && i == 3) {
      text += ", …";
      i = count - 1;
    }
    text += (i == 0 ? "" : ", ") + one_line(format_value(parameter.levels[i]), 24);
  }
  return text;
}

std::string space_text(const SpaceReport& report, Colour colour) {
  Table parameters({{"parameter"}, {"type"}, {"levels", Table::Align::right}, {""}});
  for (const LevelParameter& parameter : report.set.parameters()) {
    parameters.add({parameter.name, std::string(type_word(parameter.type)),
                    parameter.derived ? "follows" : std::to_string(parameter.levels.size()),
                    levels_text(parameter)});
  }
  const SpaceCounts& counts = report.counts;
  std::string text = parameters.render(colour);
  text += fmt::format("\n  combinations  {}\n", count_text(counts.combinations));
  if (counts.applicable != counts.combinations) {
    text += fmt::format("  different     {} (conditions hold)\n", count_text(counts.applicable));
  }
  text += fmt::format("  valid         {} ({})\n", count_text(counts.valid),
                      share_text(counts.valid / counts.applicable));
  if (report.has_knobs) text += "  The knobs of a study with fast = false are not among them.\n";
  Table effects({{"removes", Table::Align::right},
                 {"only it", Table::Align::right},
                 {"constraint"},
                 {"where"}});
  for (const DemandEffect& effect : counts.effects) {
    effects.add({effect.removed_share ? share_text(*effect.removed_share) : "?",
                 effect.removed_alone ? count_text(*effect.removed_alone) : "?", effect.demand.text,
                 effect.demand.where});
  }
  if (!effects.empty()) text += "\n" + effects.render(colour);
  if (!report.samples.empty()) text += "\n  samples\n";
  for (const Configuration& each : report.samples) {
    text += "   ";
    for (const LevelParameter& parameter : report.set.parameters()) {
      const auto value = each.values.find(parameter.name);
      if (value == each.values.end()) continue;
      text += fmt::format(" {}={}", parameter.name, one_line(format_value(value->second)));
    }
    text += "\n";
  }
  return text;
}

Json space_json(const SpaceReport& report, std::uint64_t seed) {
  Json json{{"format", "slurmtune.space"},
            {"version", 1},
            {"combinations", report.counts.combinations},
            {"applicable", report.counts.applicable},
            {"valid", report.set.size()},
            {"seed", seed},
            {"parameters", Json::array()},
            {"constraints", Json::array()},
            {"samples", Json::array()}};
  for (const LevelParameter& parameter : report.set.parameters()) {
    Json levels = Json::array();
    for (const Value& level : parameter.levels) {
      levels.push_back(std::visit([](const auto& value) { return Json(value); }, level));
    }
    json["parameters"].push_back({{"name", parameter.name},
                                  {"type", type_word(parameter.type)},
                                  {"role", parameter.role},
                                  {"derived", parameter.derived},
                                  {"levels", std::move(levels)}});
  }
  const auto number = [](std::optional<double> value) { return value ? Json(*value) : Json(); };
  for (const DemandEffect& effect : report.counts.effects) {
    json["constraints"].push_back({{"expression", effect.demand.text},
                                   {"where", effect.demand.where},
                                   {"removed_share", number(effect.removed_share)},
                                   {"removed_alone", number(effect.removed_alone)}});
  }
  for (const Configuration& each : report.samples) json["samples"].push_back(to_json(each.values));
  return json;
}

Expected<ExitCode> show_space(const SpaceArguments& arguments) {
  SLURMTUNE_TRY(const LoadedStudy loaded, load_study(arguments.study, {}));
  const StudySpec& spec = loaded.input.spec;
  SLURMTUNE_TRY(const Space space, make_space(spec));
  SLURMTUNE_TRY(SpaceCounts counts, count_space(space));
  if (counts.valid == 0.0) return tl::unexpected(nothing_valid(space, counts.conflict));
  SLURMTUNE_TRY(const ValidSet set, make_valid_set(space));
  const SpaceReport report{set, std::move(counts),
                           sample(set, arguments.samples, Seed{arguments.seed}),
                           spec.deepspeed && !spec.deepspeed->fast};
  if (arguments.json) {
    print(space_json(report, arguments.seed));
  } else {
    print(space_text(report, colour_of_output()));
  }
  return ExitCode::done;
}

}  // namespace

void add_space_command(CLI::App& app, Command& selected) {
  CLI::App* command = add_subcommand(
      app, "space", "Count the configurations of a study, and tell what its constraints remove",
      "  slurmtune space study.toml\n"
      "  slurmtune space study.toml --samples 20 --seed 7 --json");
  auto arguments = std::make_shared<SpaceArguments>();
  command->add_option("STUDY", arguments->study, "the study.toml")->required();
  command
      ->add_option("--samples", arguments->samples, "how many configurations to show (default 5)")
      ->check(CLI::Range(0, 1'000'000));
  command->add_option("--seed", arguments->seed, "which ones (default 1)");
  command->add_flag("--json", arguments->json, "print JSON");
  command->callback([arguments, &selected] {
    selected = [arguments]() -> Expected<ExitCode> { return show_space(*arguments); };
  });
}

}  // namespace slurmtune
