// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "slurmtune/record/json.hpp"
#include "slurmtune/study/view.hpp"

namespace slurmtune {

/// What has become of the training that mode = "run" ends with: `job 4711 ended with exit code 0
/// after 1 h 2 min`; "" for a study that only tunes. `directory` is the study's, for what to type.
[[nodiscard]] std::string training_in_words(const StudyView& view, const std::string& directory);

/// {"job", "started", "ended", "exit_code"}, null where they are not known; null as a whole while
/// the training has not begun, or if the study only tunes.
[[nodiscard]] Json training_json(const StudyView& view);

}  // namespace slurmtune
