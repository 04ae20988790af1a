// SPDX-License-Identifier: MIT
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "slurmtune/input/key_table.hpp"

namespace slurmtune {

/// JSON Schema of a table of keys.
[[nodiscard]] nlohmann::json schema_of_keys(const KeyTable& table);

/// JSON Schemas of the files of a study, as the writers in `record` make them. A manifest and a
/// verdict shard hold one JSON text a line: the schema is that of one line.
[[nodiscard]] nlohmann::json manifest_schema();
[[nodiscard]] nlohmann::json verdict_schema();
[[nodiscard]] nlohmann::json decision_schema();

}  // namespace slurmtune
