// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "slurmtune/base/error.hpp"
#include "slurmtune/input/site.hpp"
#include "slurmtune/input/source_text.hpp"
#include "slurmtune/input/study_spec.hpp"

namespace slurmtune {

/// The files that a study.toml names, so that the caller can load them.
struct ReferencedFiles {
  std::optional<std::string> ds_config;  ///< path as written, relative to study.toml
  std::optional<std::string> model;      ///< model.config: a config.json, or its directory
  std::optional<std::string> site;       ///< name (`perlmutter`) or path (has a '/' or ends .toml)
};

/// Errors: invalid_input with `path:line: ` if the text is no TOML or these keys are not strings.
[[nodiscard]] Expected<ReferencedFiles> referenced_files(const SourceText& source);

/// Everything that is asked, as texts.
struct StudySources {
  SourceText study;
  std::optional<SourceText> ds_config;
  std::optional<SourceText> model_config;  ///< config.json of a Hugging Face model
  SourceText site;                         ///< a site file; the generic one if the study names none
};

/// What was asked, validated.
struct StudyInput {
  StudySpec spec;
  Site site;
  /// What the site leaves to the study (its key `ask`) and the study does not say, with file and
  /// line: such a study cannot be submitted.
  std::optional<std::string> unanswered;
};

/// Parses, merges and validates everything. Every key is checked; an unknown key is an error that
/// names the nearest known one. Errors: invalid_input, `path:line: what is wrong; what to write`;
/// the first error only.
[[nodiscard]] Expected<StudyInput> read_study(const StudySources& sources);

/// Parses one site file alone: what holds where jobs go by default. Errors as above.
[[nodiscard]] Expected<Site> parse_site(const SourceText& source);

/// JSON Schema (draft 2020-12) of one input format, made from the same table of keys that the
/// parser checks against: `study`, `site`. Also `verdict`, `manifest`, `decision` for readers of
/// results. Errors: invalid_input naming the known schemas.
[[nodiscard]] Expected<std::string> schema_of(std::string_view name);
[[nodiscard]] std::span<const std::string_view> schema_names();

}  // namespace slurmtune
