// SPDX-License-Identifier: MIT
#include "slurmtune/generate/ds_document.hpp"

#include <algorithm>
#include <deque>
#include <string>
#include <utility>
#include <variant>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "slurmtune/space/stage_template.hpp"

namespace slurmtune {

namespace {

constexpr std::string_view stage_path = "zero_optimization.stage";
constexpr std::string_view micro_batch_path = "train_micro_batch_size_per_gpu";
constexpr std::string_view accumulation_path = "gradient_accumulation_steps";
constexpr std::string_view json_target = "json:";

Json json_of(const Value& value) {
  return std::visit([](const auto& held) { return Json(held); }, value);
}

/// Sets the value at a dotted path, making the objects on the way.
Expected<void> put_at(Json& document, std::string_view path, const Value& value) {
  Json* at = &document;
  std::string_view rest = path;
  for (;;) {
    const std::size_t dot = rest.find('.');
    const std::string key(rest.substr(0, dot));
    if (key.empty()) {
      return invalid_input(
          fmt::format("'{}' is no path in a ds_config; write names with dots "
                      "between, as in zero_optimization.reduce_bucket_size",
                      path));
    }
    if (dot == std::string_view::npos) {
      (*at)[key] = json_of(value);
      return {};
    }
    Json& inner = (*at)[key];
    if (inner.is_null()) inner = Json::object();
    if (!inner.is_object()) {
      return invalid_input(
          fmt::format("'{}' cannot be set in the ds_config: '{}' is {} there, "
                      "not an object",
                      path, key, inner.dump()));
    }
    at = &inner;
    rest.remove_prefix(dot + 1);
  }
}

/// Where the user lists values for a knob, the first of them is what every trial uses that says
/// nothing else; a null, which DeepSpeed refuses for most keys, is left out. Nothing else is
/// touched.
Expected<void> settle_knobs(Json& document) {
  SLURMTUNE_TRY(const std::vector<StageTemplate> templates, load_templates());
  for (const StageTemplate& layer : templates) {
    for (const Knob& knob : layer.knobs) {
      const std::string target = knob_target(knob.name);
      if (!target.starts_with(json_target)) continue;
      const std::string path = target.substr(json_target.size());
      const Json* value = json_at(document, path);
      if (value == nullptr || !(value->is_null() || (value->is_array() && !value->empty()))) {
        continue;
      }
      std::string pointer = "/" + path;
      std::ranges::replace(pointer, '.', '/');
      const Json::json_pointer at(pointer);
      if (value->is_array()) {
        const Json first = value->front();
        document[at] = first;
      } else {
        document[at.parent_pointer()].erase(at.back());
      }
    }
  }
  return {};
}

/// The path of a value in the ds_config, "" if it does not go there. A value that is no parameter
/// of the study is a knob, and its name says where it goes.
Expected<std::string> path_of(const StudySpec& spec, const std::string& name) {
  if (name == zero_stage_parameter) return std::string(stage_path);
  if (name == micro_batch_parameter) return std::string(micro_batch_path);
  if (name == accumulation_parameter) return std::string(accumulation_path);
  const auto found =
      std::find_if(spec.parameters.begin(), spec.parameters.end(),
                   [&](const ParameterSpec& parameter) { return parameter.name == name; });
  if (found != spec.parameters.end()) {
    const std::string_view target = found->target;
    return std::string(target.starts_with(json_target) ? target.substr(json_target.size()) : "");
  }
  if (is_knob_name(name)) {
    const std::string target = knob_target(name);
    return target.starts_with(json_target) ? target.substr(json_target.size()) : std::string();
  }
  return invalid_input(
      fmt::format("{}: a configuration has '{}', which is no [[parameter]]", spec.path, name));
}

std::optional<Value> scalar(const Json& json) {
  if (json.is_boolean()) return Value(json.get<bool>());
  if (json.is_number_integer()) return Value(json.get<std::int64_t>());
  if (json.is_number()) return Value(json.get<double>());
  if (json.is_string() && json != "auto") return Value(json.get<std::string>());
  return std::nullopt;
}

}  // namespace

Expected<Json> ds_document(const StudySpec& spec, const Configuration& configuration,
                           DsConfigUse use) {
  if (!spec.deepspeed) {
    return invalid_input(
        fmt::format("{}: there is no ds_config: the study has no [deepspeed] section", spec.path));
  }
  const DeepSpeedSpec& user = *spec.deepspeed;
  SLURMTUNE_TRY(Json document, parse_json(user.config_json, user.config_path));
  document.erase("train_batch_size");  // follows from the other two, and three may contradict
  const auto zero = document.find("zero_optimization");
  if (zero == document.end() || !zero->is_object()) {
    document["zero_optimization"] = Json::object();  // `true` is an old spelling of "on"
  }

  const std::int64_t stage = configuration.integer(zero_stage_parameter).value_or(user.zero_stage);
  SLURMTUNE_CHECK(settle_knobs(document));
  document["zero_optimization"]["stage"] = stage;
  document[std::string(micro_batch_path)] = user.micro_batch;
  document[std::string(accumulation_path)] = user.gradient_accumulation;
  for (const auto& [name, value] : configuration.values) {
    SLURMTUNE_TRY(const std::string path, path_of(spec, name));
    if (path.empty()) continue;
    if (auto put = put_at(document, path, value); !put) {
      return in_context(spec.path + ": parameter '" + name + "'", std::move(put).error());
    }
  }
  // Only printed steps can be timed; DeepSpeed prints every tenth, if it is told nothing.
  if (use == DsConfigUse::experiment) document["steps_per_print"] = 1;
  return document;
}

std::optional<Value> ds_value(const Json& document, std::string_view key) {
  if (const Json* found = json_at(document, key)) return scalar(*found);
  const std::string name(key);
  std::deque<const Json*> level{&document};
  while (!level.empty()) {
    const Json& object = *level.front();
    level.pop_front();
    if (object.contains(name)) return scalar(object[name]);
    for (const Json& inner : object) {
      if (inner.is_object()) level.push_back(&inner);
    }
  }
  return std::nullopt;
}

Expected<std::string> render_ds_config(const StudySpec& spec, const Configuration& configuration,
                                       DsConfigUse use) {
  SLURMTUNE_TRY(const Json document, ds_document(spec, configuration, use));
  return document.dump(2) + "\n";
}

}  // namespace slurmtune
