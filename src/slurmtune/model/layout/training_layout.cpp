// SPDX-License-Identifier: MIT
#include "slurmtune/model/layout/training_layout.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "slurmtune/model/memory/buffers.hpp"
#include "slurmtune/model/memory_model.hpp"
#include "slurmtune/model/step_flops.hpp"

namespace slurmtune {

namespace {

/// What a GPU's generation has besides its peak. Data sheets, as in step_flops.cpp: memory and
/// NVLink (or Infinity Fabric) bandwidths, one direction.
struct Generation {
  double least_flops;  ///< of its peak
  double memory;
  double node;
  double network;
};

constexpr std::array<Generation, 5> generations{{
    {1800e12, 6.6e12, 600e9, 40e9},   // Blackwell
    {700e12, 2.9e12, 330e9, 40e9},    // Hopper, CDNA 3
    {250e12, 1.5e12, 155e9, 12.5e9},  // A100
    {180e12, 1.3e12, 120e9, 12.5e9},  // half an MI250X
    {110e12, 0.75e12, 100e9, 6e9},    // V100
}};

double parameter_count(const TransformerShape& shape) {
  return shape.layers * shape.layer_params() + 2.0 * shape.vocabulary * shape.hidden;
}

}  // namespace

MachineRates machine_rates(std::string_view gpu) {
  MachineRates rates;
  const auto peak = gpu_peak_flops(gpu);
  if (!peak) return rates;
  rates.matrix_flops = *peak;
  for (const Generation& generation : generations) {
    if (*peak < generation.least_flops) continue;
    rates.memory_bytes_per_s = generation.memory;
    rates.node_bytes_per_s = generation.node;
    rates.network_bytes_per_s = generation.network;
    return rates;
  }
  // Without links of their own: PCIe.
  rates.memory_bytes_per_s = 0.5e12;
  rates.node_bytes_per_s = 12e9;
  rates.network_bytes_per_s = 6e9;
  return rates;
}

LayoutFacts nominal_facts() {
  LayoutFacts facts;
  ModelSpec model;
  model.hidden = 4096.0;
  model.layers = 32.0;
  model.heads = 32.0;
  model.vocabulary = 50'000.0;
  model.sequence_length = 2048.0;
  facts.shape = *transformer_shape(model);
  facts.setup.precision = Precision::fp16;
  facts.setup.buckets.reduce = 1e8;
  return facts;
}

void set_shape(LayoutFacts& facts, const ModelSpec& model) {
  const auto shape = transformer_shape(model);
  if (!shape) return;
  facts.shape = *shape;
  facts.shape_is_known = true;
  // Norms, biases and positions are a few in a hundred; experts are most of a model.
  constexpr double beyond_doubt = 1.3;
  const double counted = parameter_count(*shape);
  facts.expert_params = shape->params > beyond_doubt * counted ? shape->params - counted : 0.0;
}

LayoutFacts layout_facts(const StudyInput& input, std::string_view gpu) {
  const StudySpec& spec = input.spec;
  LayoutFacts facts = nominal_facts();
  set_shape(facts, spec.model);
  facts.rates = machine_rates(gpu);
  if (input.site.gpus_per_node) facts.rates.gpus_per_node = *input.site.gpus_per_node;
  facts.gpu_bytes = input.site.gpu_bytes;
  if (spec.deepspeed) {
    facts.setup = training_setup(spec);
    facts.zero_stage = spec.deepspeed->zero_stage;
    facts.micro_batch = static_cast<double>(spec.deepspeed->micro_batch);
  }
  facts.gpus = static_cast<double>(spec.ranks());
  if (spec.batch.global) facts.global_batch = static_cast<double>(*spec.batch.global);
  facts.tensor = static_cast<double>(spec.parallel.tensor);
  facts.pipeline = static_cast<double>(spec.parallel.pipeline);
  facts.sequence = static_cast<double>(spec.parallel.sequence);
  return facts;
}

LayoutReader::LayoutReader(std::span<const LevelParameter> parameters, LayoutFacts facts,
                           std::span<const Levels> sample, RoleSource source)
    : parameters_(roled_parameters(parameters, source)), facts_(std::move(facts)) {
  double deepest = 1.0;
  for (const Levels& levels : sample) {
    TrainingLayout layout;
    read_degrees(layout, levels);
    nominal_gpus_ = std::max(nominal_gpus_, layout.tensor * layout.pipeline * layout.sequence);
    deepest = std::max(deepest, layout.pipeline);
  }
  // A pipeline is given enough to do.
  constexpr double fillings = 4.0;
  nominal_micro_batches_ = deepest > 1.0 ? fillings * deepest : 1.0;
}

std::optional<double> LayoutReader::quantity(LayoutRole role,
                                             std::span<const std::int32_t> levels) const {
  std::optional<double> most;
  for (std::size_t i = 0; i < parameters_.size() && i < levels.size(); ++i) {
    const RoledParameter& parameter = parameters_[i];
    if (parameter.role != role || levels[i] < 0) continue;
    // A flag says whether, not how many.
    if (role == LayoutRole::sequence_parallel && parameter.is_flag) continue;
    const auto quantity = parameter.quantities[static_cast<std::size_t>(levels[i])];
    if (quantity) most = std::max(most.value_or(0.0), *quantity);
  }
  return most;
}

bool LayoutReader::is_layout() const {
  return std::ranges::any_of(parameters_, [](const RoledParameter& parameter) {
    return parameter.role != LayoutRole::none;
  });
}

void LayoutReader::read_degrees(TrainingLayout& layout,
                                std::span<const std::int32_t> levels) const {
  const auto degree = [&](LayoutRole role, double otherwise) {
    return std::max(1.0, quantity(role, levels).value_or(otherwise));
  };
  layout.tensor = degree(LayoutRole::tensor_parallel, facts_.tensor);
  layout.pipeline = degree(LayoutRole::pipeline_parallel, facts_.pipeline);
  layout.chunks = degree(LayoutRole::virtual_pipeline, 1.0);
  layout.sequence = degree(LayoutRole::sequence_parallel, facts_.sequence);
  layout.expert = degree(LayoutRole::expert_parallel, 1.0);
  if (const auto data = quantity(LayoutRole::data_parallel, levels)) {
    layout.data = std::max(1.0, *data);
    return;
  }
  double gpus = facts_.gpus.value_or(nominal_gpus_);
  if (const auto nodes = quantity(LayoutRole::nodes, levels)) {
    gpus = *nodes * facts_.rates.gpus_per_node;
  }
  if (const auto given = quantity(LayoutRole::gpus, levels)) gpus = *given;
  layout.data = std::max(1.0, gpus / (layout.tensor * layout.pipeline * layout.sequence));
}

void LayoutReader::read_batch(TrainingLayout& layout, std::span<const std::int32_t> levels) const {
  layout.micro_batch = quantity(LayoutRole::micro_batch, levels).value_or(facts_.micro_batch);
  layout.micro_batches = facts_.accumulation.value_or(nominal_micro_batches_);
  if (const auto local = quantity(LayoutRole::local_batch, levels)) {
    // torchtitan's pipeline takes a sample at a time.
    layout.micro_batch = layout.pipeline > 1.0 ? 1.0 : *local;
    layout.micro_batches = layout.pipeline > 1.0 ? *local : 1.0;
    return;
  }
  if (const auto given = quantity(LayoutRole::gradient_accumulation, levels)) {
    layout.micro_batches = *given;
    return;
  }
  auto global = quantity(LayoutRole::global_batch, levels);
  if (!global) global = facts_.global_batch;
  if (global) {
    layout.micro_batches = std::max(1.0, *global / (layout.micro_batch * layout.data));
  }
}

TrainingLayout LayoutReader::of(std::span<const std::int32_t> levels) const {
  TrainingLayout layout;
  read_degrees(layout, levels);
  read_batch(layout, levels);
  layout.zero_stage = quantity(LayoutRole::zero_stage, levels).value_or(facts_.zero_stage);
  const bool recomputes = facts_.setup.checkpointing == Checkpointing::full;
  const bool selects = facts_.setup.checkpointing != Checkpointing::none;
  layout.checkpointing = quantity(LayoutRole::activation_checkpointing, levels)
                             .value_or(recomputes ? 2.0 : (selects ? 1.0 : 0.0));
  const bool moved = facts_.setup.optimizer_states != Placement::gpu;
  layout.offload = quantity(LayoutRole::offload, levels).value_or(moved ? 1.0 : 0.0);
  layout.sequence_length =
      quantity(LayoutRole::sequence_length, levels).value_or(facts_.shape.sequence);
  layout.bucket = quantity(LayoutRole::bucket_size, levels).value_or(0.0);
  layout.tensor_sequence = facts_.setup.tensor_activations == TensorActivations::sequence_parallel;
  for (std::size_t i = 0; i < parameters_.size() && i < levels.size(); ++i) {
    const RoledParameter& parameter = parameters_[i];
    const bool is_flag = parameter.role == LayoutRole::sequence_parallel && parameter.is_flag;
    if (!is_flag || levels[i] < 0) continue;
    layout.tensor_sequence =
        parameter.quantities[static_cast<std::size_t>(levels[i])].value_or(0.0) > 0.0;
  }
  return layout;
}

}  // namespace slurmtune
