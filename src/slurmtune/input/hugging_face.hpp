// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "slurmtune/base/error.hpp"
#include "slurmtune/input/readers.hpp"

namespace slurmtune {

struct Merge;

/// What the Hugging Face Trainer takes if its command does not say otherwise.
/// Source: transformers/training_args.py, TrainingArguments.
inline constexpr std::int64_t hugging_face_micro_batch = 8;

/// Whether a command is one of the Hugging Face Trainer: it has flags of TrainingArguments, and
/// gives the DeepSpeed config as the value of `--deepspeed`, or in accelerate's variable, or the
/// config has an "auto" that the Trainer fills in. (Scripts with an argparse of their own have some
/// of these flags, too.)
[[nodiscard]] bool is_hugging_face(const TrialSpec& trial, const DsConfig& config);

/// The last value of a flag in either spelling, `--learning_rate` or `--learning-rate`.
struct SpelledFlag {
  std::string flag;   ///< as it is spelled
  std::string value;  ///< "" for a flag without one
  std::size_t index = 0;
};
[[nodiscard]] std::optional<SpelledFlag> find_spelled(const std::vector<std::string>& command,
                                                      std::string_view flag);

/// For a command of the Trainer: maps the batch keys to its flags (which then agree in every
/// experiment, whether the command has them or not), and fills deepspeed.resolved_json.
/// For any other: refuses an "auto" that nobody would fill in.
/// Errors: invalid_input, `path:line: `: a value of the config that contradicts its flag.
/// Source: transformers/integrations/deepspeed.py, HfTrainerDeepSpeedConfig.
[[nodiscard]] Expected<void> merge_hugging_face(const Merge& merge);

}  // namespace slurmtune
