// SPDX-License-Identifier: MIT
#include "slurmtune/base/version.hpp"

namespace slurmtune {

std::string_view version() { return SLURMTUNE_VERSION; }

}  // namespace slurmtune
