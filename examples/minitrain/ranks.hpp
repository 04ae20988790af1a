// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <mpi.h>

namespace minitrain {

/// The data-parallel group: every rank trains on its own samples.
struct Ranks {
  MPI_Comm communicator;
  int rank;
  int count;

  [[nodiscard]] std::size_t index() const { return static_cast<std::size_t>(rank); }
  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(count); }
};

}  // namespace minitrain
