// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string_view>

#include "slurmtune/base/error.hpp"
#include "slurmtune/generate/trial.hpp"
#include "slurmtune/record/json.hpp"
#include "slurmtune/space/json_path.hpp"

namespace slurmtune {

/// The ds_config of a configuration as JSON; see render_ds_config.
[[nodiscard]] Expected<Json> ds_document(const StudySpec& spec, const Configuration& configuration,
                                         DsConfigUse use);

/// The number or word under a key of a ds_config, as arg_mappings name it: a dotted path, or the
/// name of a key that is anywhere in the document, outermost first. Nothing for "auto", for lists
/// and objects, and for keys that are not there.
[[nodiscard]] std::optional<Value> ds_value(const Json& document, std::string_view key);

}  // namespace slurmtune
