// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "slurmtune/base/error.hpp"
#include "slurmtune/runner/start/environment.hpp"

namespace slurmtune {

/// What never changes about a GPU of this node.
struct GpuFacts {
  int index = 0;  ///< NVML's, which is in the order of the PCI bus
  std::string uuid;
  std::string name;
  double bytes = 0.0;  ///< what programs can use: the total less what the driver keeps for itself
};

/// Memory of one process on one GPU.
struct GpuProcess {
  pid_t pid = 0;
  std::optional<double> bytes;  ///< absent where the driver does not tell
};

/// What a GPU is doing now. Absent = NVML does not tell for this GPU.
struct GpuState {
  std::optional<double> used_bytes;   ///< by all programs
  std::optional<double> utilisation;  ///< fraction of the last interval in which a kernel ran
  std::optional<double> sm_clock_hz;
  std::vector<GpuProcess> processes;
};

/// The GPUs of a node as NVIDIA's management library sees them, without a context on any of them.
/// The library is loaded at run time, so that neither the build nor the node need have it.
/// Source: NVML API Reference, "Device Queries"; the declarations that are used are in nvml.cpp.
class Nvml {
 public:
  /// Loads `library`; "" is SLURMTUNE_NVML if that is set, else libnvidia-ml.so.1.
  /// Errors: unavailable, saying why there is nothing to ask (no library, no driver, no device).
  [[nodiscard]] static Expected<Nvml> load(const std::string& library = "");
  Nvml(Nvml&&) noexcept;
  Nvml& operator=(Nvml&&) noexcept;
  ~Nvml();

  [[nodiscard]] const std::string& driver() const;
  [[nodiscard]] const std::vector<GpuFacts>& gpus() const;
  /// `gpu` counts in gpus().
  [[nodiscard]] GpuState state(std::size_t gpu) const;

 private:
  struct Library;
  explicit Nvml(std::unique_ptr<Library> library);

  std::unique_ptr<Library> library_;
};

/// Which of `gpus` a process with this environment may use, as positions in `gpus`: by
/// CUDA_VISIBLE_DEVICES (ordinals, or UUIDs and beginnings of them; ends at the first that is none,
/// as CUDA does), else SLURM_STEP_GPUS or SLURM_JOB_GPUS, else all. Slurm's numbers are of the
/// whole node: where a control group hides the others, all that is seen is ours. Ordinals are taken
/// in the order of the PCI bus; CUDA's own order may differ on nodes with GPUs of several models.
[[nodiscard]] std::vector<std::size_t> visible_gpus(const std::vector<GpuFacts>& gpus,
                                                    const Environment& environment);

}  // namespace slurmtune
