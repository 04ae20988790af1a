// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

namespace minitrain {

/// The part of DeepSpeed's "zero_optimization" that is done here. Sizes are in elements, as in
/// DeepSpeed, whose defaults these are.
struct ZeroConfig {
  int stage = 0;
  std::size_t reduce_bucket_size = 500'000'000;
  std::size_t allgather_bucket_size = 500'000'000;
  /// Stages 1 and 2: false averages with an all-reduce and drops the others' shards.
  bool reduce_scatter = true;
};

}  // namespace minitrain
