// SPDX-License-Identifier: MIT
#include "slurmtune/generate/templates.hpp"

#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "slurmtune/generate/ds_document.hpp"
#include "slurmtune/generate/label.hpp"
#include "slurmtune/generate/task_time.hpp"

namespace slurmtune {

namespace {

constexpr std::string_view stage_path = "zero_optimization.stage";

using Choices = std::map<std::string, std::vector<Value>>;

std::optional<Value> plain_value(const Json& json) {
  if (json.is_boolean()) return Value(json.get<bool>());
  if (json.is_number_integer()) return Value(json.get<std::int64_t>());
  if (json.is_number()) return Value(json.get<double>());
  if (json.is_string()) return Value(json.get<std::string>());
  return std::nullopt;
}

Expected<std::vector<Value>> choices_of(const Json& json, std::string_view where) {
  std::vector<Value> values;
  const Json list = json.is_array() ? json : Json::array({json});
  for (const Json& item : list) {
    auto value = plain_value(item);
    if (!value) {
      return invalid_input(fmt::format(
          "{}: {} is neither a number, a text, true nor false; write a value, or a list of values "
          "to choose from",
          where, item.dump()));
    }
    values.push_back(*std::move(value));
  }
  if (values.empty()) {
    return invalid_input(
        fmt::format("{}: an empty list leaves nothing to choose; write a value", where));
  }
  return values;
}

/// Flattens an object into paths.
Expected<void> flatten(const Json& object, const std::string& prefix, std::string_view where,
                       Choices& choices) {
  for (const auto& [key, value] : object.items()) {
    const std::string path = prefix.empty() ? key : prefix + "." + key;
    if (value.is_object()) {
      SLURMTUNE_CHECK(flatten(value, path, where, choices));
      continue;
    }
    SLURMTUNE_TRY(choices[path], choices_of(value, fmt::format("{}: {}", where, path)));
  }
  return {};
}

}  // namespace

Expected<StageTemplate> load_template(std::string_view text, std::string_view where) {
  SLURMTUNE_TRY(const Json document, parse_json(text, where));
  if (!document.is_object()) {
    return corrupt_data(fmt::format("{}: a template must be a JSON object", where));
  }
  StageTemplate loaded;
  SLURMTUNE_CHECK(flatten(document, "", where, loaded.choices));
  return loaded;
}

Expected<StageTemplate> fill_template(const StageTemplate& stage_template,
                                      std::string_view user_config) {
  constexpr std::string_view where = "ds_config";
  SLURMTUNE_TRY(const Json user, parse_json(user_config, where));
  StageTemplate filled = stage_template;
  for (auto& [path, choices] : filled.choices) {
    const Json* value = json_at(user, path);
    if (path == stage_path || value == nullptr || value->is_null() || *value == "auto") continue;
    SLURMTUNE_TRY(choices, choices_of(*value, fmt::format("{}: {}", where, path)));
  }
  return filled;
}

std::vector<Proposal> prune_configs(std::vector<Proposal> proposals, const SearchContext& context) {
  std::vector<Proposal> kept;
  std::set<ExperimentId> seen;
  const int max_steps = context.input.spec.measure.max_steps;
  for (Proposal& proposal : proposals) {
    const ConfigurationId configuration = configuration_id(proposal.configuration);
    const ExperimentId id = experiment_id(configuration, max_steps, proposal.repeat);
    const bool is_baseline = proposal.configuration == context.space.baseline();
    if (!is_baseline && !context.space.contains(proposal.configuration)) continue;
    if (context.history.find(id) != nullptr || !seen.insert(id).second) continue;
    kept.push_back(std::move(proposal));
  }
  return kept;
}

Experiment build_experiment(const Proposal& proposal, const MeasureSpec& measure) {
  Experiment experiment;
  experiment.configuration = proposal.configuration;
  experiment.configuration_id = configuration_id(proposal.configuration);
  experiment.id = experiment_id(experiment.configuration_id, measure.max_steps, proposal.repeat);
  experiment.label = label_of(proposal.configuration);
  if (proposal.repeat > 0) experiment.label += fmt::format("_r{}", proposal.repeat);
  experiment.purpose = proposal.purpose;
  experiment.repeat = proposal.repeat;
  experiment.min_steps = measure.min_steps;
  experiment.max_steps = measure.max_steps;
  experiment.limits = trial_limits(measure);
  experiment.expected = proposal.expected;
  return experiment;
}

}  // namespace slurmtune
