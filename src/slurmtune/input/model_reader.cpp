// SPDX-License-Identifier: MIT
#include <array>
#include <charconv>
#include <utility>

#include <fmt/core.h>

#include "slurmtune/input/hf_config.hpp"
#include "slurmtune/input/model_figures.hpp"
#include "slurmtune/input/readers.hpp"

namespace slurmtune {

namespace {

using Field = std::optional<double> ModelSpec::*;

constexpr std::array<std::pair<std::string_view, Field>, 9> fields{
    {{"params", &ModelSpec::params},
     {"trainable_params", &ModelSpec::trainable_params},
     {"hidden", &ModelSpec::hidden},
     {"layers", &ModelSpec::layers},
     {"heads", &ModelSpec::heads},
     {"kv_heads", &ModelSpec::kv_heads},
     {"intermediate", &ModelSpec::intermediate},
     {"vocabulary", &ModelSpec::vocabulary},
     {"sequence_length", &ModelSpec::sequence_length}}};

// What trainers call the tokens of a sample: Transformers' examples, TRL, Qwen and FastChat,
// Megatron-LM.
constexpr std::array<std::string_view, 7> length_flags{
    {"--block_size", "--max_seq_length", "--model_max_length", "--max_length",
     "--max_source_length", "--seq-length", "--seq_length"}};

void take_length(StudySpec& spec) {
  if (spec.model.sequence_length) return;
  for (const std::string_view flag : length_flags) {
    const auto found = find_flag(spec.trial.command, flag);
    if (!found) continue;
    std::int64_t tokens = 0;
    const char* const end = found->value.data() + found->value.size();
    const auto [stop, problem] = std::from_chars(found->value.data(), end, tokens);
    if (problem != std::errc{} || stop != end || tokens < 1) continue;
    spec.model.sequence_length = static_cast<double>(tokens);
    return;
  }
}

void take_config(const HfModel& model, const std::string& path, StudySpec& spec) {
  std::string taken;
  for (const auto& [name, field] : fields) {
    std::optional<double>& ours = spec.model.*field;
    const std::optional<double>& theirs = model.shape.*field;
    if (ours || !theirs) continue;
    ours = theirs;
    taken += fmt::format("{}{} = {:.12g}", taken.empty() ? "" : ", ", name, *theirs);
  }
  if (!spec.model.gated_mlp) spec.model.gated_mlp = model.shape.gated_mlp;
  if (taken.empty()) return;
  spec.notes.push_back(fmt::format("the model's {} from {} ({})", taken, path, model.model_type));
}

/// What the sources of a model's figures say must be those of one model.
Expected<void> check_model(const Node& study, const StudySpec& spec) {
  const Node* section = study.find("model");
  const bool gives_heads = section != nullptr && section->find("heads") != nullptr;
  auto problem = problem_of(spec.model, gives_heads ? HeadSize::of_hidden : HeadSize::its_own);
  const char* remedy = "correct it, or what it contradicts";
  if (problem) {
    const Node* given = section != nullptr ? section->find(problem->field) : nullptr;
    const int line = given != nullptr ? given->line : section != nullptr ? section->line : 1;
    return fail_at(spec.path, line, fmt::format("model.{} {}", problem->field, problem->what),
                   remedy);
  }
  problem = problem_of_pipeline(spec.model, spec.parallel.pipeline);
  if (!problem) return {};
  const Node* parallel = study.find("parallel");
  const Node* given = parallel != nullptr ? parallel->find("pipeline") : nullptr;
  return fail_at(spec.path, given != nullptr ? given->line : 1,
                 fmt::format("parallel.pipeline {}", problem->what), remedy);
}

}  // namespace

Expected<void> complete_model(const Node& study, const std::optional<SourceText>& config,
                              StudySpec& spec) {
  const Node* section = study.find("model");
  if (section != nullptr) {
    for (const auto& [name, field] : fields) {
      if (const auto given = real_at(*section, name)) spec.model.*field = given;
    }
  }
  take_length(spec);
  if (!config) return check_model(study, spec);
  const auto model = read_hf_config(*config);
  if (model) {
    take_config(*model, config->path, spec);
    return check_model(study, spec);
  }
  const bool asked_for = section != nullptr && section->find("config") != nullptr;
  if (asked_for) return tl::unexpected<Error>(model.error());
  spec.notes.push_back(fmt::format("the model's shape is not known: {}", model.error().message));
  return check_model(study, spec);
}

}  // namespace slurmtune
