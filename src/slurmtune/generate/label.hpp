// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "slurmtune/record/configuration.hpp"

namespace slurmtune {

/// A short readable name of a configuration, unique in its study and fit for a file name. ZeRO
/// stage and batch as in DeepSpeed's autotuner (`z1_gas2_tmbspg4`), everything else by name and
/// value (`bucket-5e+08_overlap-true`). Knobs follow, sorted by their full names, abbreviated as
/// DeepSpeed's autotuner does (`rbs5.0e+07`: first letters; T and F; one decimal above 9000), and
/// the first 8 digits of the configuration's id, because abbreviations are not unique. Where that
/// would be long, or a value has other characters than letters, digits, dot and plus, it ends with
/// the first 8 digits of the configuration's id.
[[nodiscard]] std::string label_of(const Configuration& configuration);

}  // namespace slurmtune
