// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>

#include "slurmtune/base/error.hpp"
#include "slurmtune/record/node.hpp"
#include "slurmtune/runner/node/gpu_plugin/plugin.hpp"

namespace slurmtune {

/// The plug-in that measures GPUs with cuBLAS and NCCL. It makes contexts on them, which go away
/// with the process.
class GpuProbe {
 public:
  /// Looks for slurmtune-gpu-probe.so beside the running program and in ../lib/slurmtune of it;
  /// `plugin` names another file. Errors: unavailable (not built, no CUDA libraries here).
  [[nodiscard]] static Expected<GpuProbe> load(const std::filesystem::path& plugin = {});

  /// Fills in the figures of GPUs. Errors: unavailable, in CUDA's words.
  [[nodiscard]] Expected<void> measure(NodeFigures& figures,
                                       std::chrono::duration<double> each) const;
  /// The number that all processes of an all-reduce share; one of them makes it.
  [[nodiscard]] Expected<NcclId> nccl_id() const;
  /// Bus bandwidth in bytes/s. Collective. Errors: unavailable.
  [[nodiscard]] Expected<double> all_reduce(const NcclId& id, const NcclPlace& place,
                                            std::size_t bytes) const;

 private:
  GpuMeasure measure_ = nullptr;
  GpuNcclId nccl_id_ = nullptr;
  GpuAllReduce all_reduce_ = nullptr;
};

}  // namespace slurmtune
