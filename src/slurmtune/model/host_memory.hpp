// SPDX-License-Identifier: MIT
#pragma once

#include "slurmtune/record/verdict.hpp"

namespace slurmtune {

/// Whether a trial's nodes were looked at and have no GPU. What trainers report as the peak of the
/// GPU's memory (`peak_gpu_bytes`) is host memory there.
/// Source: deepspeed/accelerator/cpu_accelerator.py, whose memory figures are the process's own.
[[nodiscard]] inline bool ran_without_gpu(const Verdict& verdict) {
  const Hardware& hardware = verdict.hardware;
  const bool looked_at = hardware.cores.has_value() || hardware.host_bytes.has_value();
  return looked_at && hardware.gpu.empty() && !hardware.gpu_bytes;
}

}  // namespace slurmtune
