// SPDX-License-Identifier: MIT
#include "ds_config.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "json_section.hpp"

namespace minitrain {
namespace {

/// Collectives count their elements in an int.
constexpr std::int64_t bucket_elements_max = 2'000'000'000;

std::size_t read_bucket_size(const JsonSection& section, std::string_view key,
                             std::size_t otherwise, Findings& findings) {
  const auto value = section.integer(key);
  if (!value) return otherwise;
  if (*value < 1) findings.fail(section.path_of(key), "must be at least 1 element");
  return static_cast<std::size_t>(std::clamp<std::int64_t>(*value, 1, bucket_elements_max));
}

void refuse_offload(const JsonSection& zero, std::string_view key, Findings& findings) {
  const JsonSection offload = zero.section(key);
  const auto device = offload.text("device");
  if (device && *device != "none") {
    findings.fail(zero.path_of(key),
                  "minitrain cannot offload; remove it, or set its device to \"none\"");
  }
}

ZeroConfig read_zero(const JsonSection& root, Findings& findings) {
  ZeroConfig zero;
  const JsonSection section = root.section("zero_optimization");
  const std::int64_t stage = section.integer("stage").value_or(0);
  if (stage < 0 || stage > 3) {
    findings.fail(section.path_of("stage"), fmt::format("must be 0, 1, 2 or 3, not {}", stage));
  }
  zero.stage = static_cast<int>(stage);
  zero.reduce_bucket_size =
      read_bucket_size(section, "reduce_bucket_size", zero.reduce_bucket_size, findings);
  zero.allgather_bucket_size =
      read_bucket_size(section, "allgather_bucket_size", zero.allgather_bucket_size, findings);
  zero.reduce_scatter = section.boolean("reduce_scatter").value_or(true);
  refuse_offload(section, "offload_optimizer", findings);
  refuse_offload(section, "offload_param", findings);
  section.warn_of_others({"stage", "reduce_bucket_size", "allgather_bucket_size", "reduce_scatter",
                          "offload_optimizer", "offload_param"});
  return zero;
}

void read_non_negative(const JsonSection& section, std::string_view key, double& target,
                       Findings& findings) {
  const auto value = section.number(key);
  if (!value) return;
  if (!(*value >= 0.0)) findings.fail(section.path_of(key), "must not be negative");
  target = *value;
}

AdamConfig read_optimizer(const JsonSection& root, Findings& findings) {
  AdamConfig adam;
  const JsonSection section = root.section("optimizer");
  std::string type = section.text("type").value_or("Adam");
  std::transform(type.begin(), type.end(), type.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  if (type != "adam" && type != "adamw") {
    findings.fail(section.path_of("type"), "must be \"Adam\" or \"AdamW\"");
  }
  const JsonSection params = section.section("params");
  read_non_negative(params, "lr", adam.lr, findings);
  read_non_negative(params, "eps", adam.eps, findings);
  read_non_negative(params, "weight_decay", adam.weight_decay, findings);
  if (const auto betas = params.numbers("betas")) {
    const auto usable = [](double beta) { return beta >= 0.0 && beta < 1.0; };
    if (betas->size() == 2 && std::all_of(betas->begin(), betas->end(), usable)) {
      adam.beta1 = (*betas)[0];
      adam.beta2 = (*betas)[1];
    } else {
      findings.fail(params.path_of("betas"), "must be two numbers from 0 to below 1");
    }
  }
  adam.decoupled_decay = type == "adamw" || params.boolean("adam_w_mode").value_or(true);
  section.warn_of_others({"type", "params"});
  params.warn_of_others({"lr", "eps", "weight_decay", "betas", "adam_w_mode", "torch_adam"});
  return adam;
}

std::optional<std::string> read_model_info_path(const JsonSection& root) {
  const JsonSection autotuning = root.section("autotuning");
  const bool enabled = autotuning.boolean("enabled").value_or(false);
  const bool profile = autotuning.section("model_info").boolean("profile").value_or(false);
  const auto path = autotuning.text("model_info_path");
  if (!enabled || !profile) return std::nullopt;
  return path.value_or("autotuning_model_info.json");  // DeepSpeed's own default
}

void refuse_half_precision(const JsonSection& root, Findings& findings) {
  for (const std::string_view key : {"fp16", "bf16"}) {
    if (root.section(key).boolean("enabled").value_or(false)) {
      findings.fail(root.path_of(key), "minitrain computes in float32; remove this section");
    }
  }
}

DsConfig read_sections(const JsonSection& root, Findings& findings) {
  DsConfig config{};
  config.zero = read_zero(root, findings);
  config.adam = read_optimizer(root, findings);
  config.activation_checkpointing =
      root.section("activation_checkpointing").boolean("enabled").value_or(false);
  config.steps_per_print = root.integer("steps_per_print").value_or(config.steps_per_print);
  if (config.steps_per_print < 1) findings.fail("steps_per_print", "must be at least 1");
  config.model_info_path = read_model_info_path(root);
  refuse_half_precision(root, findings);
  root.warn_of_others({"train_batch_size", "train_micro_batch_size_per_gpu",
                       "gradient_accumulation_steps", "zero_optimization", "optimizer",
                       "activation_checkpointing", "steps_per_print", "autotuning", "fp16",
                       "bf16"});
  return config;
}

}  // namespace

Expected<Batch> resolve_batch(const BatchKeys& keys, std::size_t ranks) {
  const auto world = static_cast<std::int64_t>(ranks);
  auto train = keys.train_batch_size;
  auto micro = keys.train_micro_batch_size_per_gpu;
  auto steps = keys.gradient_accumulation_steps;
  const std::array<std::pair<std::string_view, std::optional<std::int64_t>>, 3> given = {
      {{"train_batch_size", train},
       {"train_micro_batch_size_per_gpu", micro},
       {"gradient_accumulation_steps", steps}}};
  for (const auto& [key, value] : given) {
    if (value && (*value < 1 || *value > bucket_elements_max)) {
      return tl::unexpected(fmt::format("{}: has to be greater than 0 (and below 2e9)", key));
    }
  }
  if (!train && !micro) {
    return tl::unexpected(
        std::string{"Either train_batch_size or train_micro_batch_size_per_gpu needs to be "
                    "provided"});
  }
  if (!train) {
    steps = steps.value_or(1);
    train = *micro * *steps * world;
  } else if (micro && !steps) {
    steps = *train / *micro / world;
  } else if (!micro) {
    steps = steps.value_or(1);
    micro = *train / world / *steps;
  }
  if (*micro < 1 || *steps < 1 || *train != *micro * *steps * world) {
    return tl::unexpected(fmt::format(
        "Check batch related parameters. train_batch_size is not equal to micro_batch_per_gpu * "
        "gradient_acc_step * world_size {} != {} * {} * {}",
        *train, *micro, *steps, world));
  }
  return Batch{.global = static_cast<std::size_t>(*train),
               .micro = static_cast<std::size_t>(*micro),
               .accumulation = static_cast<std::size_t>(*steps)};
}

Expected<DsConfig> parse_ds_config(std::string_view text, const std::string& file,
                                   std::size_t ranks) {
  const auto parsed = parse_json_object(text, file);
  if (!parsed) return tl::unexpected(parsed.error());
  Findings findings;
  findings.file = file;
  const JsonSection root(&*parsed, "", findings);
  DsConfig config = read_sections(root, findings);
  const BatchKeys keys = {
      .train_batch_size = root.integer("train_batch_size"),
      .train_micro_batch_size_per_gpu = root.integer("train_micro_batch_size_per_gpu"),
      .gradient_accumulation_steps = root.integer("gradient_accumulation_steps")};
  if (!findings.error.empty()) return tl::unexpected(findings.error);
  const auto batch = resolve_batch(keys, ranks);
  if (!batch) return tl::unexpected(fmt::format("{}: {}", file, batch.error()));
  config.batch = *batch;
  config.warnings = std::move(findings.warnings);
  return config;
}

}  // namespace minitrain
