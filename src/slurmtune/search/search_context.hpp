// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include "slurmtune/input/study_input.hpp"
#include "slurmtune/model/history.hpp"
#include "slurmtune/model/objective.hpp"
#include "slurmtune/record/experiment.hpp"
#include "slurmtune/space/space.hpp"

namespace slurmtune {

/// What every strategy sees. Strategies are pure: equal contexts give equal proposals.
struct SearchContext {
  const StudyInput& input;
  const Space& space;
  const History& history;
  const Objective& objective;
};

/// An experiment that a strategy would like to have run.
struct Proposal {
  Configuration configuration;
  Purpose purpose = Purpose::profile;
  int repeat = 0;
  Expectation expected;
  std::optional<int> steps = std::nullopt;  ///< measured at most; absent = measure.max_steps

  bool operator==(const Proposal&) const = default;
};

}  // namespace slurmtune
