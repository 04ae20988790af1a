// SPDX-License-Identifier: MIT
#include "slurmtune/model/memory_model.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <tuple>
#include <vector>

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

/// Whether a section is enabled; "auto" counts.
bool is_enabled(const Json& config, const char* section) {
  const Json* found = member(config, section);
  const Json* enabled = found ? member(*found, "enabled") : nullptr;
  if (!enabled) return false;
  return enabled->is_boolean() ? enabled->get<bool>() : *enabled == "auto";
}

bool is_auto(const Json* value) { return value != nullptr && value->is_string(); }

OptimizerKind optimizer_of(const Json& config) {
  const Json* section = member(config, "optimizer");
  const Json* type = section ? member(*section, "type") : nullptr;
  if (!type || !type->is_string()) return OptimizerKind::adam;
  const OptimizerKind kind =
      optimizer_named(type->get<std::string>()).value_or(OptimizerKind::adam);
  if (kind != OptimizerKind::plain) return kind;
  const Json* params = member(*section, "params");
  const Json* momentum = params ? member(*params, "momentum") : nullptr;
  const bool plain = !momentum || (momentum->is_number() && momentum->get<double>() == 0.0);
  return plain ? OptimizerKind::plain : OptimizerKind::momentum;
}

Placement placement_of(const Json* zero, const char* section) {
  const Json* offload = zero ? member(*zero, section) : nullptr;
  const Json* device = offload ? member(*offload, "device") : nullptr;
  if (!device || !device->is_string() || *device == "none") return Placement::gpu;
  return *device == "nvme" ? Placement::nvme : Placement::cpu;
}

GradientType gradients_of(const Json& config) {
  const Json* section = member(config, "data_types");
  const Json* type = section ? member(*section, "grad_accum_dtype") : nullptr;
  if (!type || !type->is_string()) return GradientType::automatic;
  return *type == "fp32" ? GradientType::fp32 : GradientType::as_parameters;
}

void take_number(const Json* section, const char* key, double& into) {
  const Json* value = section ? member(*section, key) : nullptr;
  if (value && value->is_number() && value->get<double>() >= 0.0) into = value->get<double>();
}

ZeroBuckets buckets_of(const Json* zero) {
  ZeroBuckets buckets;
  take_number(zero, "reduce_bucket_size", buckets.reduce);
  take_number(zero, "stage3_prefetch_bucket_size", buckets.prefetch);
  take_number(zero, "stage3_param_persistence_threshold", buckets.persistence_threshold);
  take_number(zero, "stage3_max_live_parameters", buckets.max_live);
  take_number(zero, "stage3_max_reuse_distance", buckets.max_reuse_distance);
  take_number(zero, "sub_group_size", buckets.sub_group);
  const Json* overlap = zero ? member(*zero, "overlap_comm") : nullptr;
  if (overlap && overlap->is_boolean()) buckets.overlap_comm = overlap->get<bool>();
  const Json* contiguous = zero ? member(*zero, "contiguous_gradients") : nullptr;
  if (contiguous && contiguous->is_boolean()) {
    buckets.contiguous_gradients = contiguous->get<bool>();
  }
  return buckets;
}

/// The value of a flag of Hugging Face's parser; "" if it stands alone, nothing if it is not there.
std::optional<std::string> flag_of(const std::vector<std::string>& argv, std::string_view flag) {
  std::optional<std::string> found;
  for (std::size_t i = 0; i < argv.size(); ++i) {
    const std::string_view word = argv[i];
    if (word == flag) {
      const bool has_value = i + 1 < argv.size() && !argv[i + 1].starts_with("-");
      found = has_value ? argv[i + 1] : "";
    } else if (word.starts_with(flag) && word.size() > flag.size() && word[flag.size()] == '=') {
      found = std::string(word.substr(flag.size() + 1));
    }
  }
  return found;
}

bool is_on(const std::vector<std::string>& argv, std::string_view flag) {
  const auto value = flag_of(argv, flag);
  return value && *value != "False" && *value != "false" && *value != "0" && *value != "no";
}

void apply_flags(const std::vector<std::string>& argv, const Json& config, TrainingSetup& setup) {
  if (is_on(argv, "--gradient_checkpointing")) setup.checkpointing = Checkpointing::full;
  if (flag_of(argv, "--attn_implementation") == "eager") {
    setup.attention = Attention::materialised;
  }
  // A section that is not there stays off whatever the flag says.
  for (const auto& [flag, section, precision] :
       {std::tuple{"--bf16", "bf16", Precision::bf16}, {"--fp16", "fp16", Precision::fp16}}) {
    if (is_enabled(config, section) && is_on(argv, flag)) setup.precision = precision;
  }
  const auto optimizer = flag_of(argv, "--optim");
  if (optimizer && !member(config, "optimizer")) {
    setup.optimizer = optimizer_named(*optimizer).value_or(setup.optimizer);
  }
}

void resolve_buckets(const Json* zero, double hidden, ZeroBuckets& buckets) {
  if (!zero) return;
  if (is_auto(member(*zero, "reduce_bucket_size"))) buckets.reduce = hidden * hidden;
  if (is_auto(member(*zero, "stage3_prefetch_bucket_size"))) {
    buckets.prefetch = 0.9 * hidden * hidden;
  }
  if (is_auto(member(*zero, "stage3_param_persistence_threshold"))) {
    buckets.persistence_threshold = 10.0 * hidden;
  }
}

std::string figures(const StudySpec& spec, double params, const TrainingSetup& setup,
                    int zero_stage) {
  const StateBytes bytes = state_bytes_per_parameter(setup, zero_stage);
  return fmt::format("{:.6g} parameters, {:g}+{:g}+{:g} bytes each, {} ranks", params,
                     bytes.parameters, bytes.gradients, bytes.optimizer, spec.sharding_ranks());
}

}  // namespace

TrainingSetup training_setup(const DeepSpeedSpec& spec) {
  const std::string& text = spec.resolved_json.empty() ? spec.config_json : spec.resolved_json;
  const Json config = Json::parse(text, nullptr, false);
  if (config.is_discarded()) return {};
  const Json* zero = member(config, "zero_optimization");
  TrainingSetup setup;
  if (is_enabled(config, "fp16")) setup.precision = Precision::fp16;
  if (is_enabled(config, "bf16") || is_enabled(config, "bfloat16")) {
    setup.precision = Precision::bf16;
  }
  setup.gradients = gradients_of(config);
  setup.optimizer = optimizer_of(config);
  setup.optimizer_states = placement_of(zero, "offload_optimizer");
  setup.parameters = placement_of(zero, "offload_param");
  setup.buckets = buckets_of(zero);
  if (const Json* section = member(config, "activation_checkpointing")) {
    const Json* host = member(*section, "cpu_checkpointing");
    if (host && host->is_boolean() && host->get<bool>()) setup.checkpoints = Placement::cpu;
    const Json* split = member(*section, "partition_activations");
    if (split && split->is_boolean() && split->get<bool>()) {
      setup.tensor_activations = TensorActivations::sequence_parallel;
    }
  }
  return setup;
}

TrainingSetup training_setup(const StudySpec& spec) {
  if (!spec.deepspeed) return {};
  TrainingSetup setup = training_setup(*spec.deepspeed);
  const Json config = Json::parse(spec.deepspeed->config_json, nullptr, false);
  if (config.is_discarded()) return setup;
  apply_flags(spec.trial.command, config, setup);
  if (spec.model.hidden) {
    resolve_buckets(member(config, "zero_optimization"), *spec.model.hidden, setup.buckets);
  }
  return setup;
}

ParallelLayout parallel_layout(const StudySpec& spec) {
  return {spec.trial.nodes, spec.trial.processes_per_node, spec.parallel.tensor,
          spec.parallel.pipeline, spec.parallel.sequence};
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

std::optional<MemoryQuestion> memory_question(const StudySpec& spec, const History& history,
                                              int zero_stage) {
  if (!spec.deepspeed) return std::nullopt;
  ModelSpec model = spec.model;
  model.params = model_params(spec, history);
  const auto shape = transformer_shape(model);
  if (!shape) return std::nullopt;
  return MemoryQuestion{*shape, training_setup(spec), parallel_layout(spec), zero_stage};
}

std::string cannot_fit(const StudySpec& spec, const Site& site, const History& history,
                       int zero_stage) {
  const auto capacity = gpu_capacity(site, history);
  if (!capacity || !spec.deepspeed) return "";
  const TrainingSetup setup = training_setup(spec);
  const auto question = memory_question(spec, history, zero_stage);
  const auto params =
      question ? std::optional(question->shape.params) : model_params(spec, history);
  if (!params) return "";
  const double trainable = std::min(*params, spec.model.trainable_params.value_or(*params));
  const double states =
      model_states(*params, trainable, zero_stage, parallel_layout(spec), setup).total();
  if (states > *capacity) {
    return fmt::format("model states need {} of {} ({})", format_bytes(states),
                       format_bytes(*capacity), figures(spec, *params, setup, zero_stage));
  }
  if (!question) return "";
  const auto& given = spec.batch.micro_batches;
  const auto first = std::min_element(given.begin(), given.end());
  const double smallest = first == given.end() ? 1.0 : static_cast<double>(*first);
  const MemoryBreakdown peak = peak_memory(*question, smallest);
  const double surely = peak.total() - 2.0 * model_deviation * (peak.total() - peak.states());
  if (surely <= *capacity) return "";
  return fmt::format(
      "micro_batch {:g} is predicted to need {} of {}: model states {}, activations {}, logits {}, "
      "the rest {} ({})",
      smallest, format_bytes(peak.total()), format_bytes(*capacity), format_bytes(peak.states()),
      format_bytes(peak.activations), format_bytes(peak.logits),
      format_bytes(peak.total() - peak.states() - peak.activations - peak.logits),
      figures(spec, *params, setup, zero_stage));
}

std::optional<AffineFit> memory_line(const StudyInput& input, const History& history,
                                     int zero_stage, std::span<const Point> peaks, double first,
                                     double last) {
  const auto question = memory_question(input.spec, history, zero_stage);
  if (question) {
    return calibrated(memory_prior(*question, first, last), peaks,
                      gpu_capacity(input.site, history));
  }
  if (const auto fit = fit_affine(peaks)) return fit;
  const auto params = model_params(input.spec, history);
  if (peaks.empty() || !params || !input.spec.deepspeed) return std::nullopt;
  const double trainable = std::min(*params, input.spec.model.trainable_params.value_or(*params));
  std::vector<Point> with_states(peaks.begin(), peaks.end());
  with_states.push_back({0.0, model_states(*params, trainable, zero_stage,
                                           parallel_layout(input.spec), training_setup(input.spec))
                                  .total()});
  return fit_affine(with_states);
}

double fit_probability(const AffineFit& fit, double micro_batch, double capacity) {
  const double peak = fit.at(micro_batch);
  const double beyond = fit.slope * (micro_batch - fit.x_mean);
  const double deviation =
      std::hypot(allocator_deviation * capacity, slope_deviation * beyond, fit.residual);
  return normal_cdf(((1.0 - allocator_share) * capacity - peak) / deviation);
}

}  // namespace slurmtune
