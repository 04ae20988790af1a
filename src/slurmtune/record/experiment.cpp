// SPDX-License-Identifier: MIT
#include "slurmtune/record/experiment.hpp"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "slurmtune/record/json_fields.hpp"
#include "slurmtune/record/name_table.hpp"

namespace slurmtune {

namespace {

constexpr NameTable<Purpose, 9> purposes{
    {"baseline", "probe", "profile", "frontier", "curve", "knobs", "grid", "halving", "confirm"}};

Json to_json(const TrialLimits& limits) {
  return {
      {"startup_s", limits.startup_s}, {"stall_s", limits.stall_s}, {"total_s", limits.total_s}};
}

Expected<TrialLimits> limits_from_json(const Json& json, std::string_view where) {
  TrialLimits limits;
  JsonFields fields(json, where);
  fields.required("startup_s", limits.startup_s);
  fields.required("stall_s", limits.stall_s);
  fields.required("total_s", limits.total_s);
  fields.check(limits.startup_s > 0.0 && limits.stall_s > 0.0 && limits.total_s > 0.0,
               "startup_s, stall_s and total_s must be positive");
  return fields.into(limits);
}

Json to_json(const Expectation& expected) {
  Json json = Json::object();
  put(json, "fit_probability", expected.fit_probability);
  put(json, "peak_gpu_bytes", expected.peak_gpu_bytes);
  put(json, "step_s", expected.step_s);
  return json;
}

Expected<Expectation> expectation_from_json(const Json& json, std::string_view where) {
  Expectation expected;
  JsonFields fields(json, where);
  fields.optional("fit_probability", expected.fit_probability);
  fields.optional("peak_gpu_bytes", expected.peak_gpu_bytes);
  fields.optional("step_s", expected.step_s);
  return fields.into(expected);
}

}  // namespace

std::string_view name_of(Purpose purpose) { return purposes.name_of(purpose); }

std::optional<Purpose> purpose_named(std::string_view name) { return purposes.named(name); }

ExperimentId experiment_id(const ConfigurationId& configuration, int max_steps, int repeat) {
  return {fmt::format("{}-s{}-r{}", configuration.text, max_steps, repeat)};
}

Json to_json(const Experiment& experiment) {
  return {{"experiment", experiment.id.text},
          {"configuration", experiment.configuration_id.text},
          {"values", to_json(experiment.configuration.values)},
          {"label", experiment.label},
          {"purpose", name_of(experiment.purpose)},
          {"repeat", experiment.repeat},
          {"attempt", experiment.attempt},
          {"min_steps", experiment.min_steps},
          {"max_steps", experiment.max_steps},
          {"limits", to_json(experiment.limits)},
          {"expected", to_json(experiment.expected)},
          {"needs_other_node_than", texts_of(experiment.needs_other_node_than)}};
}

Expected<Experiment> experiment_from_json(const Json& json, std::string_view where) {
  Experiment experiment;
  JsonFields fields(json, where);
  fields.required("experiment", experiment.id);
  fields.required("configuration", experiment.configuration_id);
  fields.required("values", experiment.configuration.values, values_from_json);
  fields.required("label", experiment.label);
  fields.required_name("purpose", experiment.purpose, purpose_named);
  fields.required("repeat", experiment.repeat);
  fields.optional("attempt", experiment.attempt);
  fields.required("min_steps", experiment.min_steps);
  fields.required("max_steps", experiment.max_steps);
  fields.required("limits", experiment.limits, limits_from_json);
  fields.optional("expected", experiment.expected, expectation_from_json);
  fields.optional("needs_other_node_than", experiment.needs_other_node_than);
  return fields.into(std::move(experiment));
}

}  // namespace slurmtune
