// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>

#include "device.hpp"
#include "expected.hpp"

namespace minitrain {

// CUDA comes as a plug-in (minitrain-cuda.so): minitrain must start on nodes without it.

/// What the plug-in exports, with C linkage: makes a device for the process that is the
/// `local_rank`th of this node, or returns nullptr and says why in `error`.
inline constexpr const char* device_entry = "minitrain_make_device";
inline constexpr std::size_t device_error_bytes = 256;
using MakeDevice = Device* (*)(int local_rank, char* error);

/// Loads minitrain-cuda.so from beside this program or from ../lib/slurmtune of it, or the file
/// that MINITRAIN_CUDA names. Error: why there is no such device.
[[nodiscard]] Expected<std::unique_ptr<Device>> load_cuda_device(int local_rank);

}  // namespace minitrain
