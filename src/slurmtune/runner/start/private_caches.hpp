// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>

#include "slurmtune/runner/start/environment.hpp"

namespace slurmtune {

/// Directories of one task on this node for what frameworks compile and cache: in a shared home the
/// nodes wait for each other's locks, and a trial that was killed leaves a lock behind. They are
/// below $TMPDIR (/tmp), made when they are first asked for and removed with this object.
class PrivateCaches {
 public:
  /// `own` is this node's environment; the directory is named after its job.
  explicit PrivateCaches(const Environment& own);
  PrivateCaches(const PrivateCaches&) = delete;
  PrivateCaches& operator=(const PrivateCaches&) = delete;
  ~PrivateCaches();

  /// Sets those of the variables that are not set: TORCH_EXTENSIONS_DIR, TORCHINDUCTOR_CACHE_DIR,
  /// TRITON_CACHE_DIR, CUDA_CACHE_PATH, PYTORCH_KERNEL_CACHE_PATH, NUMBA_CACHE_DIR,
  /// MIOPEN_USER_DB_PATH and MIOPEN_CUSTOM_CACHE_DIR. None where no directory can be made.
  void add_to(Environment& environment);

 private:
  [[nodiscard]] bool is_ours() const;

  std::filesystem::path directory_;
  bool is_made_ = false;
};

}  // namespace slurmtune
