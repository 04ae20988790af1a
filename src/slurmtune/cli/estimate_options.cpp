// SPDX-License-Identifier: MIT
#include "slurmtune/cli/estimate_options.hpp"

#include <algorithm>
#include <string_view>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "slurmtune/cli/plain_number.hpp"
#include "slurmtune/input/model_figures.hpp"
#include "slurmtune/model/gpu_memory.hpp"

namespace slurmtune {

namespace {

Expected<double> gpu_bytes_of(const std::string& text) {
  if (const auto named = gpu_memory_named(text)) return *named;
  if (const auto bytes = parse_bytes(text)) return *bytes;
  return invalid_input(
      fmt::format("--gpu-memory {}: neither a size (80GiB) nor a GPU that is known ({})", text,
                  fmt::join(known_gpus(), ", ")));
}

Expected<double> host_bytes_of(const std::string& text) {
  if (const auto bytes = parse_bytes(text)) return *bytes;
  return invalid_input(fmt::format("--host-memory {}: is no size; write it as 512GiB", text));
}

Placement placement_named(std::string_view word) {
  if (word == "cpu") return Placement::cpu;
  return word == "nvme" ? Placement::nvme : Placement::gpu;
}

Checkpointing checkpointing_named(std::string_view word) {
  if (word == "full") return Checkpointing::full;
  if (word == "selective") return Checkpointing::selective;
  return word == "operators" ? Checkpointing::operators : Checkpointing::none;
}

void add_shape(CLI::App& command, ModelSpec& shape) {
  const auto add = [&](const char* name, std::optional<double>& into, const char* what) {
    command.add_option(name, into, what)->check(check_plain_number);
  };
  add("--params", shape.params, "parameters, as 7e9");
  add("--trainable-params", shape.trainable_params, "those that are trained, with LoRA [all]");
  add("--hidden", shape.hidden, "hidden size");
  add("--layers", shape.layers, "layers");
  add("--heads", shape.heads, "attention heads [hidden / 64, from 4096 on / 128]");
  add("--kv-heads", shape.kv_heads, "heads of keys and values [heads]");
  add("--intermediate", shape.intermediate, "width of the MLP [4 hidden]");
  add("--vocabulary", shape.vocabulary, "words of the vocabulary");
  add("--sequence", shape.sequence_length, "tokens of a sample");
}

/// The option of a figure of [model].
std::string option_of(std::string_view field) {
  if (field == "sequence_length") return "--sequence";
  std::string option = fmt::format("--{}", field);
  std::replace(option.begin(), option.end(), '_', '-');
  return option;
}

/// Whether a model can have these figures, `given` by options or read from elsewhere.
Expected<void> check_model(const ModelSpec& model, const ModelSpec& given, std::int64_t pipeline) {
  const bool gives_heads = given.heads.has_value();
  auto problem = problem_of(model, gives_heads ? HeadSize::of_hidden : HeadSize::its_own);
  if (!problem) problem = problem_of_pipeline(model, pipeline);
  if (!problem) return {};
  return invalid_input(fmt::format("{} {}; correct it, or what it contradicts",
                                   option_of(problem->field), problem->what));
}

Expected<void> check_layout(const ParallelLayout& layout) {
  const std::int64_t parts = layout.tensor * layout.pipeline * layout.sequence;
  if (layout.ranks() % parts == 0) return {};
  return invalid_input(fmt::format(
      "{} ranks (--nodes x --processes-per-node) cannot be divided by {} (--tensor x --pipeline x "
      "--sequence-parallel); change one of them",
      layout.ranks(), parts));
}

}  // namespace

void EstimateArguments::add_to(CLI::App& command) {
  command.add_option("STUDY", study, "a study.toml, or a study's directory: its measured peaks");
  command.add_option("--model", model,
                     "config.json of a Hugging Face model, its directory, or a model in the local "
                     "cache");
  add_shape(command, shape);
  command.add_option("--gpu-memory", gpu_memory, "of one GPU: 80GiB, or its name, as A100-80GB");
  command.add_option("--host-memory", host_memory, "of one node: 512GiB");
  const auto count = CLI::Range(1, 1'000'000);
  command.add_option("--nodes", nodes, "nodes [1]")->check(count);
  command.add_option("--processes-per-node", processes_per_node, "GPUs of each [1]")->check(count);
  command.add_option("--tensor", tensor, "ranks that share each layer [1]")->check(count);
  command.add_option("--pipeline", pipeline, "stages of a pipeline of layers [1]")->check(count);
  command.add_option("--sequence-parallel", sequence_parallel, "ranks that share a sequence [1]")
      ->check(count);
  command.add_flag("--tensor-sequence", tensor_sequence,
                   "tensor-parallel ranks divide the tokens between the layers too (Megatron's "
                   "sequence parallelism)");
  command.add_option("--precision", precision, "fp32, fp16, bf16 or bf16-only [bf16]")
      ->check(CLI::IsMember({"fp32", "fp16", "bf16", "bf16-only"}));
  command.add_option("--gradients", gradients, "what they are accumulated in: fp32 or low")
      ->check(CLI::IsMember({"fp32", "low"}));
  command.add_option("--optimizer", optimizer,
                     "adamw, sgd, momentum, lion, adafactor, adam-8bit, onebitadam, … [adamw]");
  command
      .add_option("--framework", framework,
                  "deepspeed, fsdp, or fsdp-units, where the embeddings are units of their own, "
                  "too [deepspeed]")
      ->check(CLI::IsMember({"deepspeed", "fsdp", "fsdp-units"}));
  command.add_flag("--foreach", foreach_step, "torch's own optimizer, over lists of tensors");
  command.add_flag("--no-sync", no_sync,
                   "gradients are added up over ranks at the last micro-step only");
  command
      .add_option("--checkpointing", checkpointing,
                  "of activations: none, selective, operators or full [none]")
      ->check(CLI::IsMember({"none", "selective", "operators", "full"}));
  command
      .add_option("--flash-attention", attention,
                  "yes, or no where the attention writes its scores to memory [yes]")
      ->check(CLI::IsMember({"yes", "no"}));
  command.add_option("--offload-optimizer", offload_optimizer, "cpu or nvme")
      ->check(CLI::IsMember({"none", "cpu", "nvme"}));
  command.add_option("--offload-param", offload_param, "cpu or nvme (ZeRO 3)")
      ->check(CLI::IsMember({"none", "cpu", "nvme"}));
  command
      .add_option("--micro-batch", micro_batch, "samples of a micro-step to tell memory for [1]")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40));
  command.add_option("--accumulation", accumulation, "micro-steps of a step, for a pipeline")
      ->check(count);
  command.add_flag("--json", json, "print slurmtune.estimate, version 1");
}

Expected<void> EstimateArguments::apply(EstimateRequest& request, ModelSpec& spec) const {
  for (const auto field :
       {&ModelSpec::params, &ModelSpec::trainable_params, &ModelSpec::hidden, &ModelSpec::layers,
        &ModelSpec::heads, &ModelSpec::kv_heads, &ModelSpec::intermediate, &ModelSpec::vocabulary,
        &ModelSpec::sequence_length}) {
    if (shape.*field) spec.*field = shape.*field;
  }
  TrainingSetup& setup = request.setup;
  if (!precision.empty()) setup.precision = precision_named(precision).value_or(setup.precision);
  if (!gradients.empty()) {
    setup.gradients = gradients == "fp32" ? GradientType::fp32 : GradientType::as_parameters;
  }
  if (!optimizer.empty()) {
    const auto kind = optimizer_named(optimizer);
    if (!kind) {
      return invalid_input(fmt::format(
          "--optimizer {}: is not known here; write the one that keeps as much: adamw (two "
          "moments), momentum (one), sgd (none), adafactor, adam-8bit or onebitadam",
          optimizer));
    }
    setup.optimizer = *kind;
  }
  if (foreach_step) setup.optimizer_step = OptimizerStep::foreach;
  if (no_sync) setup.gradient_sync = GradientSync::last;
  if (tensor_sequence) setup.tensor_activations = TensorActivations::sequence_parallel;
  if (!checkpointing.empty()) setup.checkpointing = checkpointing_named(checkpointing);
  if (!attention.empty()) {
    setup.attention = attention == "no" ? Attention::materialised : Attention::flash;
  }
  if (!offload_optimizer.empty()) setup.optimizer_states = placement_named(offload_optimizer);
  if (!offload_param.empty()) setup.parameters = placement_named(offload_param);
  ParallelLayout& layout = request.layout;
  layout.nodes = nodes.value_or(layout.nodes);
  layout.processes_per_node = processes_per_node.value_or(layout.processes_per_node);
  layout.tensor = tensor.value_or(layout.tensor);
  layout.pipeline = pipeline.value_or(layout.pipeline);
  layout.sequence = sequence_parallel.value_or(layout.sequence);
  layout.micro_batches = accumulation.value_or(layout.micro_batches);
  SLURMTUNE_CHECK(check_layout(layout));
  SLURMTUNE_CHECK(check_model(spec, shape, layout.pipeline));
  if (!gpu_memory.empty()) {
    SLURMTUNE_TRY(request.gpu_bytes, gpu_bytes_of(gpu_memory));
  }
  if (!host_memory.empty()) {
    SLURMTUNE_TRY(request.host_bytes, host_bytes_of(host_memory));
  }
  request.micro_batch = micro_batch.value_or(request.micro_batch);
  return {};
}

}  // namespace slurmtune
