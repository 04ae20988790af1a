// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>

#include "slurmtune/base/error.hpp"
#include "slurmtune/input/source_text.hpp"
#include "slurmtune/input/study_spec.hpp"

namespace slurmtune {

/// What the config.json of a Hugging Face model says of its shape.
struct HfModel {
  std::string model_type;  ///< `llama`, `gpt2`, …
  ModelSpec shape;         ///< without sequence_length: that is the training's, not the model's
  std::optional<double> positions;  ///< the longest sequence that the model takes
};

/// Reads a config.json and counts the model's parameters as Transformers builds it, matrix by
/// matrix, embeddings that are tied once. Known: gpt2, gpt_neox, llama, mistral, qwen2, qwen3,
/// phi3, gemma, gemma2, bert, opt, bloom, falcon, t5. Errors: invalid_input, `path:line: `: no
/// JSON, no or an unknown model_type, a key of that architecture that is missing or no positive
/// number. Source: transformers 4.46, models/*/configuration_*.py and modeling_*.py.
[[nodiscard]] Expected<HfModel> read_hf_config(const SourceText& source);

}  // namespace slurmtune
