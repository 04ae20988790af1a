// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "slurmtune/record/configuration.hpp"
#include "slurmtune/space/valid_set.hpp"

namespace slurmtune {

/// What a parameter of a training means to the models.
enum class LayoutRole {
  none,
  micro_batch,            ///< samples of a rank in one forward pass
  local_batch,            ///< samples of a rank in a step, which a pipeline cuts up (torchtitan)
  gradient_accumulation,  ///< micro-batches of a step
  global_batch,           ///< samples of a step
  sequence_length,        ///< tokens of a sample
  zero_stage,             ///< 0 to 3, or FSDP's words for it
  data_parallel,          ///< ranks that hold the same part of the model
  tensor_parallel,        ///< ranks that share a matrix product
  pipeline_parallel,      ///< stages of a pipeline
  virtual_pipeline,       ///< model chunks of a stage (interleaved schedule)
  sequence_parallel,      ///< ranks that share a sequence; true: Megatron's, of tensor ranks
  expert_parallel,        ///< ranks among which experts are divided
  activation_checkpointing,
  offload,  ///< what lies in host memory
  nodes,
  gpus,         ///< of a trial
  bucket_size,  ///< elements of one of ZeRO's buckets
};

/// The role that a study's word names; `none` for "" and words that are not known.
[[nodiscard]] LayoutRole layout_role(std::string_view word);

/// The role of a parameter that has none, by its name, where it is an option of a known trainer:
/// `micro_batch_size`, `tensor-model-parallel-size`, `mbs`, `pp`, … Case, `-`, `_` and what stands
/// before the last `.` or `/` do not count. A guess: good for priors, not for what excludes.
/// Sources: Megatron-LM (training/arguments.py), DeepSpeed (config-json), torchtitan
/// (job_config.py), llm-foundry, Hugging Face's TrainingArguments.
[[nodiscard]] LayoutRole likely_role(std::string_view name);

/// A level as a quantity of its role: the number that it is; `true` = 1; of zero_stage also
/// `FULL_SHARD` (3), `SHARD_GRAD_OP` (2), `NO_SHARD` and `ddp` (0); of activation_checkpointing 0
/// (none), 1 (selective), 2 (full); of offload 0 (none), 1 (the optimizer's states), 2 (parameters
/// too). Nothing for words that are not known and values that the role cannot have.
[[nodiscard]] std::optional<double> quantity_of(LayoutRole role, const Value& level);

/// A parameter as the models see it.
struct RoledParameter {
  LayoutRole role = LayoutRole::none;
  bool is_flag = false;                           ///< its levels are true and false
  std::vector<std::optional<double>> quantities;  ///< of its levels
};

/// Whether a role is taken from a parameter's name where the study gives none.
enum class RoleSource { given, given_or_named };

/// In the order of `parameters`. Of two parameters of one role the second has none; of buckets,
/// offload (states and parameters) and sequence_parallel (flag and degree) several may be. Numbers
/// of activation_checkpointing are a switch or count layers: the largest is `full`.
[[nodiscard]] std::vector<RoledParameter> roled_parameters(
    std::span<const LevelParameter> parameters, RoleSource source);

}  // namespace slurmtune
