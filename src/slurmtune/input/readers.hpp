// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "slurmtune/base/error.hpp"
#include "slurmtune/input/node.hpp"
#include "slurmtune/input/site.hpp"
#include "slurmtune/input/study_spec.hpp"

namespace slurmtune {

// The steps of read_study. They get nodes that check_keys has passed, and check what needs more
// than one key to be seen. All errors are invalid_input, `path:line: …`.

/// A value and the line it stands on.
template <class T>
struct Located {
  T value{};
  int line = 1;
};

/// How many ranks share something, as a key of the config says.
struct NamedDegree {
  std::string key;
  std::int64_t value = 1;
  int line = 1;
};

/// A dotted path in the config, and its line.
struct LocatedKey {
  std::string path;
  int line = 1;
};

/// What a ds_config says of [parallel]; more than one key may say the same.
struct DsParallel {
  std::vector<NamedDegree> tensor;    ///< autotuning.mp_size, tensor_parallel.autotp_size
  std::vector<NamedDegree> pipeline;  ///< pipeline.stages
  std::vector<NamedDegree> sequence;  ///< sequence_parallel_size
};

/// A ds_config.json, as far as it says something about the study.
struct DsConfig {
  std::string path;
  std::string json;                                      ///< canonical, without "autotuning"
  std::optional<Located<std::vector<int>>> zero_stages;  ///< "auto" and absent = none
  std::optional<Located<std::vector<std::int64_t>>> micro_batches;  ///< a list
  std::optional<Located<std::int64_t>> micro_batch;
  std::optional<Located<std::int64_t>> accumulation;
  std::optional<Located<std::int64_t>> train_batch;
  bool micro_batch_auto = false;
  bool accumulation_auto = false;
  DsParallel parallel;
  Node root;                          ///< all of it but "autotuning"
  std::vector<LocatedKey> auto_keys;  ///< what is "auto", outside of "autotuning" and "pipeline"

  // "autotuning"
  bool has_autotuning = false;
  std::optional<bool> fast;
  std::optional<Located<std::string>> metric;
  std::map<std::string, std::string> arg_mappings;  ///< trimmed
  int arg_mappings_line = 1;
  std::optional<Located<std::int64_t>> max_train_batch;
  std::optional<Located<std::int64_t>> min_train_batch;
  std::optional<Located<std::int64_t>> micro_batch_cap;
  std::optional<Located<std::int64_t>> micro_batch_floor;
  std::optional<Located<std::int64_t>> tuner_num_trials;
  std::optional<Located<std::int64_t>> tuner_early_stopping;
  ModelSpec model;
  std::vector<std::string> unused;  ///< keys that move nothing here, each with the reason
  std::vector<std::string> notes;   ///< what was taken in good will
};

[[nodiscard]] Expected<DsConfig> read_ds_config(const SourceText& source);

/// Checks the section "autotuning" and puts it into `config`.
[[nodiscard]] Expected<void> read_autotuning(const Node& section, DsConfig& config);

/// Trims keys and values and checks that the values are flags, each of one key.
[[nodiscard]] Expected<std::map<std::string, std::string>> read_arg_mappings(const Node& node,
                                                                             std::string_view path);

[[nodiscard]] Expected<TrialSpec> read_trial(const Node& node, std::string_view path);
[[nodiscard]] Expected<std::vector<ParameterSpec>> read_parameters(const Node& study,
                                                                   std::string_view path);
[[nodiscard]] Expected<ObjectiveSpec> read_objective(const Node& node, std::string_view path);
[[nodiscard]] Expected<MeasureSpec> read_measure(const Node& study, std::string_view path);
[[nodiscard]] Expected<SearchSpec> read_search(const Node& study, std::string_view path);
[[nodiscard]] Expected<BudgetSpec> read_budget(const Node& node, std::string_view path);
[[nodiscard]] TrainingSpec read_training(const Node& node);

/// Checks site keys one by one.
[[nodiscard]] Expected<void> check_site_keys(const Node& node, std::string_view path);
/// Checks `site`, over which `node` was put last, for keys that contradict each other.
[[nodiscard]] Expected<void> check_site_layer(const Node& node, std::string_view path,
                                              const Site& site);

/// Fills deepspeed, batch, model, and objective and notes where the config says something.
[[nodiscard]] Expected<void> merge_ds_config(const Node& study, const DsConfig& config,
                                             StudySpec& spec);

/// Fills spec.parallel of [parallel] alone. Errors: it does not divide the ranks.
[[nodiscard]] Expected<void> read_parallel(const Node& study, StudySpec& spec);
/// Errors: spec.parallel does not divide the ranks; `where` is what said so.
[[nodiscard]] Expected<void> check_parallel(const StudySpec& spec, std::string_view where);

/// Takes the shape of the model from [model], then, where that is silent, from the config.json of a
/// Hugging Face model and the length of a sequence from flags of trial.command; notes say so. A
/// config that [model] does not name and that cannot be read is said in a note.
[[nodiscard]] Expected<void> complete_model(const Node& study,
                                            const std::optional<SourceText>& config,
                                            StudySpec& spec);

/// Checks [batch] and fills it for a study without [deepspeed].
[[nodiscard]] Expected<void> read_generic_batch(const Node& study, StudySpec& spec);

/// Checks the placeholders of trial.command, and that every parameter goes somewhere.
[[nodiscard]] Expected<void> check_placeholders(const Node& study, const StudySpec& spec);

/// The last value of `flag` in an argv (`--flag 4` or `--flag=4`), and its index.
struct FlagValue {
  std::string value;
  std::size_t index = 0;
};
[[nodiscard]] std::optional<FlagValue> find_flag(const std::vector<std::string>& argv,
                                                 std::string_view flag);

// --- Values of checked nodes ---

[[nodiscard]] std::string text_or(const Node& table, std::string_view key,
                                  std::string_view fallback);
[[nodiscard]] std::int64_t integer_or(const Node& table, std::string_view key,
                                      std::int64_t fallback);
[[nodiscard]] double real_or(const Node& table, std::string_view key, double fallback);
[[nodiscard]] bool boolean_or(const Node& table, std::string_view key, bool fallback);
[[nodiscard]] std::optional<double> real_at(const Node& table, std::string_view key);
[[nodiscard]] std::vector<std::string> strings_of(const Node* array);
[[nodiscard]] std::map<std::string, std::string> string_map_of(const Node* table);
/// An integer or an array of integers.
[[nodiscard]] std::vector<std::int64_t> integers_of(const Node& node);

/// The line of `section.key` in a study.toml, for messages; that of the section, or 1, if it is not
/// there.
[[nodiscard]] int line_of_key(const SourceText& study, std::string_view section,
                              std::string_view key);

/// `[A-Za-z_][A-Za-z0-9_]*`
[[nodiscard]] bool is_identifier(std::string_view text);
[[nodiscard]] std::string_view trimmed(std::string_view text);

}  // namespace slurmtune
