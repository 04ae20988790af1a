// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

namespace slurmtune {

// What measures GPUs is a plug-in (slurmtune-gpu-probe.so): the runner must start on nodes without
// CUDA. This is all that the two know of each other; only C types pass.

inline constexpr std::size_t gpu_error_bytes = 256;
/// As ncclUniqueId.
inline constexpr std::size_t nccl_id_bytes = 128;

/// Of the slowest GPU that this process may use; 0 = not measured.
struct GpuFigures {
  int version = 1;  ///< of this interface
  int gpus = 0;
  double memory_bytes_per_s = 0.0;  ///< copy within the device's memory, read and written
  double fp32_flops = 0.0;
  double fp16_flops = 0.0;
  double bf16_flops = 0.0;
};

struct NcclId {
  char bytes[nccl_id_bytes];
};

/// The GPUs of this process among all of an all-reduce.
struct NcclPlace {
  int first_rank = 0;
  int ranks = 0;
};

// Each returns 0, or another number and the reason in `error` (gpu_error_bytes long).

inline constexpr const char* gpu_measure_entry = "slurmtune_gpu_measure";
using GpuMeasure = int (*)(double seconds_each, GpuFigures* figures, char* error);

inline constexpr const char* gpu_nccl_id_entry = "slurmtune_gpu_nccl_id";
using GpuNcclId = int (*)(NcclId* id, char* error);

/// Collective over all processes. `bytes_per_s` is the bus bandwidth.
inline constexpr const char* gpu_all_reduce_entry = "slurmtune_gpu_all_reduce";
using GpuAllReduce = int (*)(const NcclId* id, const NcclPlace* place, std::size_t bytes,
                             double* bytes_per_s, char* error);

}  // namespace slurmtune
