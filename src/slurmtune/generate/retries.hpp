// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "slurmtune/search/search_context.hpp"

namespace slurmtune {

/// The experiments that a stage of this kind must try again, oldest first, each with its attempt
/// raised; on other nodes where the outcome's rule says so. A stage of confirm repeats only
/// experiments of confirm, every other stage only those that are not. Left out is what can no
/// longer matter: a ZeRO stage that was given up (never the baseline), a micro-batch above one that
/// does not fit.
[[nodiscard]] std::vector<Experiment> retries(const SearchContext& context, Purpose kind);

}  // namespace slurmtune
