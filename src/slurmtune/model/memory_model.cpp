// SPDX-License-Identifier: MIT
#include "slurmtune/model/memory_model.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "slurmtune/base/units.hpp"

namespace slurmtune {

namespace {

constexpr double allocator_share = 0.04;
constexpr double allocator_deviation = 0.03;
constexpr double slope_deviation = 0.05;

/// The member of an object, or null.
const Json* member(const Json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto at = object.find(key);
  return at == object.end() ? nullptr : &*at;
}

bool is_16_bit(const Json& config, const char* section) {
  const Json* found = member(config, section);
  const Json* enabled = found ? member(*found, "enabled") : nullptr;
  if (!enabled) return false;
  return enabled->is_boolean() ? enabled->get<bool>() : *enabled == "auto";
}

OptimizerKind optimizer_of(const Json& config) {
  const Json* section = member(config, "optimizer");
  const Json* type = section ? member(*section, "type") : nullptr;
  if (!type || !type->is_string()) return OptimizerKind::adam;
  std::string name = type->get<std::string>();
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  if (name == "lion" || name == "muon" || name == "adagrad") return OptimizerKind::momentum;
  if (name != "sgd") return OptimizerKind::adam;
  const Json* params = member(*section, "params");
  const Json* momentum = params ? member(*params, "momentum") : nullptr;
  const bool plain = !momentum || (momentum->is_number() && momentum->get<double>() == 0.0);
  return plain ? OptimizerKind::plain : OptimizerKind::momentum;
}

Placement placement_of(const Json* zero, const char* section) {
  const Json* offload = zero ? member(*zero, section) : nullptr;
  const Json* device = offload ? member(*offload, "device") : nullptr;
  const bool moved = device && device->is_string() && *device != "none";
  return moved ? Placement::elsewhere : Placement::gpu;
}

}  // namespace

TrainingSetup training_setup(const DeepSpeedSpec& spec) {
  const std::string& text = spec.resolved_json.empty() ? spec.config_json : spec.resolved_json;
  const Json config = Json::parse(text, nullptr, false);
  if (config.is_discarded()) return {};
  const Json* zero = member(config, "zero_optimization");
  TrainingSetup setup;
  const bool mixed = is_16_bit(config, "fp16") || is_16_bit(config, "bf16");
  setup.precision = mixed ? Precision::mixed : Precision::full;
  setup.optimizer = optimizer_of(config);
  setup.optimizer_states = placement_of(zero, "offload_optimizer");
  setup.parameters = placement_of(zero, "offload_param");
  return setup;
}

StateBytes state_bytes_per_parameter(Precision precision, OptimizerKind optimizer) {
  constexpr double half = 2.0;
  constexpr double single = 4.0;
  double states = 0.0;
  switch (optimizer) {
    case OptimizerKind::adam: states = 2.0 * single; break;
    case OptimizerKind::momentum: states = single; break;
    case OptimizerKind::plain: break;
  }
  if (precision == Precision::full) return {single, single, states};
  return {half, half, single + states};
}

double model_state_bytes(double params, int zero_stage, std::int64_t data_parallel,
                         const TrainingSetup& setup) {
  StateBytes bytes = state_bytes_per_parameter(setup.precision, setup.optimizer);
  const auto ranks = static_cast<double>(data_parallel);
  if (zero_stage >= 1) bytes.optimizer /= ranks;
  if (zero_stage >= 2) bytes.gradients /= ranks;
  if (zero_stage >= 3) bytes.parameters /= ranks;
  if (setup.optimizer_states == Placement::elsewhere) bytes.optimizer = 0.0;
  if (setup.parameters == Placement::elsewhere && zero_stage == 3) bytes.parameters = 0.0;
  return params * (bytes.parameters + bytes.gradients + bytes.optimizer);
}

std::optional<double> model_params(const StudySpec& spec, const History& history) {
  if (spec.model.params) return spec.model.params;
  std::optional<double> params;
  for (const Trial& trial : history.trials()) {
    if (!trial.verdict || !trial.verdict->metrics.params) continue;
    const double told = *trial.verdict->metrics.params;
    if (is_comparable(told)) params = std::max(params.value_or(0.0), told);
  }
  return params;
}

std::optional<double> gpu_capacity(const Site& site, const History& history) {
  std::optional<double> capacity;
  for (const Trial& trial : history.trials()) {
    if (!trial.verdict || !trial.verdict->hardware.gpu_bytes) continue;
    const double bytes = *trial.verdict->hardware.gpu_bytes;
    if (is_comparable(bytes)) capacity = std::min(capacity.value_or(bytes), bytes);
  }
  return capacity ? capacity : site.gpu_bytes;
}

std::string cannot_fit(const StudySpec& spec, const Site& site, const History& history,
                       int zero_stage) {
  const auto params = model_params(spec, history);
  const auto capacity = gpu_capacity(site, history);
  if (!params || !capacity || !spec.deepspeed) return "";
  const TrainingSetup setup = training_setup(*spec.deepspeed);
  const double needed = model_state_bytes(*params, zero_stage, spec.sharding_ranks(), setup);
  if (needed <= *capacity) return "";
  const StateBytes bytes = state_bytes_per_parameter(setup.precision, setup.optimizer);
  return fmt::format(
      "model states need {} of {} ({:.6g} parameters, {:g}+{:g}+{:g} bytes each, {} ranks)",
      format_bytes(needed), format_bytes(*capacity), *params, bytes.parameters, bytes.gradients,
      bytes.optimizer, spec.sharding_ranks());
}

double fit_probability(const AffineFit& fit, double micro_batch, double capacity) {
  const double peak = fit.at(micro_batch);
  const double beyond = fit.slope * (micro_batch - fit.x_mean);
  const double deviation =
      std::hypot(allocator_deviation * capacity, slope_deviation * beyond, fit.residual);
  return normal_cdf(((1.0 - allocator_share) * capacity - peak) / deviation);
}

}  // namespace slurmtune
