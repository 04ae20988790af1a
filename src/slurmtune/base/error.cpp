// SPDX-License-Identifier: MIT
#include "slurmtune/base/error.hpp"

#include <cstdio>
#include <cstdlib>

namespace slurmtune {

void assertion_failed(const char* expression, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: internal error: %s does not hold; please report this\n", file, line,
               expression);
  std::abort();
}

}  // namespace slurmtune
