// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "slurmtune/base/error.hpp"
#include "slurmtune/input/study_input.hpp"
#include "slurmtune/space/space.hpp"

namespace slurmtune {

/// A note for each list of values in the ds_config (`"reduce_bucket_size": [1e8, 5e8]`) that
/// nothing chooses from, or only under some of the ZeRO stages: elsewhere its first value is used.
[[nodiscard]] Expected<std::vector<std::string>> unused_lists(const StudyInput& input,
                                                              const Space& space);

}  // namespace slurmtune
