// SPDX-License-Identifier: MIT
#pragma once

#include "device.hpp"
#include "memory.hpp"

namespace minitrain {

/// Single-precision matrix product on one core, with its packing buffers.
/// Method: panels of A and B packed for the caches, a register-blocked kernel that the compiler
/// vectorises. Source: Goto and van de Geijn, "Anatomy of High-Performance Matrix
/// Multiplication", ACM TOMS 34(3), 2008.
class Gemm final : public MatrixProduct {
 public:
  /// Allocates the packing buffers (about 350 KiB): they count as device memory too.
  explicit Gemm(DeviceMemory& memory);

  void multiply(GemmShape shape, MatrixView a, MatrixView b, float* c,
                Accumulate accumulate) override;

 private:
  Tensor packed_a_;
  Tensor packed_b_;
};

}  // namespace minitrain
