// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "slurmtune/input/study_spec.hpp"
#include "slurmtune/record/configuration.hpp"

namespace slurmtune {

/// One configuration: for each parameter the index of its level, -1 = absent (conditional).
using Levels = std::vector<std::int32_t>;

/// A parameter whose values are counted off.
struct LevelParameter {
  std::string name;
  ParameterType type = ParameterType::integer;
  Scale scale = Scale::linear;
  std::string role;  ///< "" = none
  std::vector<Value> levels;
};

}  // namespace slurmtune
