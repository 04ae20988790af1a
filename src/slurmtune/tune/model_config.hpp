// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "slurmtune/base/error.hpp"
#include "slurmtune/input/source_text.hpp"
#include "slurmtune/input/study_spec.hpp"

namespace slurmtune {

/// The config.json that a name stands for: a file, a directory that holds one, or a model of the
/// hub that lies in Hugging Face's cache ($HF_HUB_CACHE, $HF_HOME/hub or ~/.cache/huggingface/hub:
/// models--ORG--NAME/snapshots, the one of refs/main first). Relative names are looked up below
/// `base`. The network is never asked. Nothing if there is none.
[[nodiscard]] std::optional<std::filesystem::path> find_model_config(
    const std::string& name, const std::filesystem::path& base);

/// Says that it is not there: where was looked, and what helps. `gpt2-large is no file and no
/// directory with a config.json below /home/me, nor in …/hub; …`.
[[nodiscard]] std::string not_found_in_words(const std::string& name,
                                             const std::filesystem::path& base);

/// The config.json of a study's model, or a note why it is not known.
struct ModelConfig {
  std::optional<SourceText> text;
  std::string note;  ///< "" = none
};

/// Reads the config.json of a study's model: the one that model.config names (`named`, relative to
/// the study file), else the one that --config_name or --model_name_or_path of trial.command point
/// to, below trial.workdir, if it is there. Errors: invalid_input, `path:line: `, if `named` is not
/// there.
[[nodiscard]] Expected<ModelConfig> load_model_config(const std::optional<std::string>& named,
                                                      const StudySpec& spec,
                                                      const SourceText& study,
                                                      const std::filesystem::path& origin);

}  // namespace slurmtune
