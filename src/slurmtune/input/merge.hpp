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

/// What trial.command gives the flag that a key of the config is mapped to.
struct MappedFlag {
  std::string flag;
  std::int64_t value = 0;
  int line = 1;  ///< of study.toml
};

/// The number behind the flag that `key` is mapped to; none if nothing maps it, the flag is not
/// there, or it holds a placeholder. Errors: it is no whole number from `least` to `most`.
struct MappedRange {
  std::int64_t least = 1;
  std::int64_t most = 1'000'000'000;
};
[[nodiscard]] Expected<std::optional<MappedFlag>> mapped_flag(const Merge& merge,
                                                              std::string_view key,
                                                              MappedRange range = {});

/// The value of a key: the config's, else its flag's. Where both say something else, the config
/// counts, a note says so, and the flag follows in every experiment. Megatron-DeepSpeed reads both,
/// each in another place (the flag for its data, the key for the engine): there it is an error.
[[nodiscard]] Expected<std::optional<std::int64_t>> mapped_or_config(
    const Merge& merge, std::string_view key, const std::optional<Located<std::int64_t>>& theirs);

/// The user's own global batch, and what says so.
struct TrainBatch {
  std::int64_t value = 0;
  std::string said;  ///< `train_batch_size = 64`, `--global-batch-size 64`
  std::string path;
  int line = 1;

  [[nodiscard]] std::string where() const { return fmt::format("{}:{}", path, line); }
  [[nodiscard]] std::string name() const { return said.substr(0, said.find(' ')); }
};
[[nodiscard]] Expected<std::optional<TrainBatch>> train_batch_of(const Merge& merge);

/// Of Megatron-DeepSpeed, --fp16 or --bf16 is not the other's key of the config.
[[nodiscard]] Expected<void> check_mapped_precision(const Merge& merge);

/// Puts the ZeRO stage of a flag that is mapped to it into spec.deepspeed: the stage that the
/// user's own training has.
[[nodiscard]] Expected<void> merge_mapped_stage(const Merge& merge);

/// For messages: `[1, 2]`.
std::string joined(const auto& numbers) { return fmt::format("[{}]", fmt::join(numbers, ", ")); }

/// `8 ranks`, or `4 data-parallel ranks` where ranks share the model.
[[nodiscard]] std::string ranks_text(const StudySpec& spec);

/// Fills spec.parallel of [parallel] and the config, and checks that it divides the ranks.
[[nodiscard]] Expected<void> merge_parallel(const Merge& merge);

/// Fills spec.batch, and the user's own batch in spec.deepspeed, by DeepSpeed's arithmetic.
[[nodiscard]] Expected<void> merge_batch(const Merge& merge);

}  // namespace slurmtune
