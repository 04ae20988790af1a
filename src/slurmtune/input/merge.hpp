// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "slurmtune/input/readers.hpp"

namespace slurmtune {

// The steps of merge_ds_config. All errors are invalid_input, `path:line: …`.

inline constexpr std::string_view train_batch_key = "train_batch_size";
inline constexpr std::string_view micro_batch_key = "train_micro_batch_size_per_gpu";
inline constexpr std::string_view accumulation_key = "gradient_accumulation_steps";

/// study.toml and the config beside it, on their way into one StudySpec.
struct Merge {
  const Node& study;
  const DsConfig& config;
  StudySpec& spec;

  [[nodiscard]] const Node* key(std::string_view section, std::string_view name) const {
    const Node* table = study.find(section);
    return table != nullptr ? table->find(name) : nullptr;
  }
  [[nodiscard]] std::string where(int line) const { return fmt::format("{}:{}", spec.path, line); }
  void note(std::string text) const { spec.notes.push_back(std::move(text)); }
  void note_study_wins(std::string_view name, std::string_view theirs, int line) const {
    note(fmt::format("{} of {} is used, not {} of {}:{}", name, spec.path, theirs, config.path,
                     line));
  }
};

/// For messages: `[1, 2]`.
std::string joined(const auto& numbers) { return fmt::format("[{}]", fmt::join(numbers, ", ")); }

/// `8 ranks`, or `4 data-parallel ranks` where ranks share the model.
[[nodiscard]] std::string ranks_text(const StudySpec& spec);

/// Fills spec.parallel of [parallel] and the config, and checks that it divides the ranks.
[[nodiscard]] Expected<void> merge_parallel(const Merge& merge);

/// Fills spec.batch, and the user's own batch in spec.deepspeed, by DeepSpeed's arithmetic.
[[nodiscard]] Expected<void> merge_batch(const Merge& merge);

}  // namespace slurmtune
