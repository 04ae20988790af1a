// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "slurmtune/model/memory/training_setup.hpp"
#include "slurmtune/model/memory/transformer_shape.hpp"
#include "slurmtune/model/statistics.hpp"

namespace slurmtune {

/// When memory is fullest.
enum class PeakPhase {
  loss,      ///< at the turn from forward to backward: all activations, and the logits
  backward,  ///< while a layer's backward runs
  step,      ///< in the optimizer's step
};

[[nodiscard]] std::string_view name_of(PeakPhase phase);

/// What fills the memory of the fullest GPU at its peak, in bytes.
struct MemoryBreakdown {
  double parameters = 0.0;
  double gradients = 0.0;
  double optimizer = 0.0;
  double buffers = 0.0;      ///< buckets, and what the optimizer's step takes beside its states
  double gathered = 0.0;     ///< stage 3: parameters of other ranks, and their gradients
  double activations = 0.0;  ///< kept and in work
  double logits = 0.0;       ///< and what the loss makes of them
  double fragments = 0.0;    ///< what the caching allocator holds and cannot use
  double overhead = 0.0;     ///< outside of the allocator: context, cuBLAS, NCCL
  PeakPhase phase = PeakPhase::loss;
  double host_per_node = 0.0;  ///< bytes of host memory that a node's processes take

  [[nodiscard]] double states() const { return parameters + gradients + optimizer; }
  /// What the framework's allocator has handed out (`max_memory_allocated`).
  [[nodiscard]] double allocated() const {
    return states() + buffers + gathered + activations + logits;
  }
  /// What it has reserved (`max_memory_reserved`).
  [[nodiscard]] double reserved() const { return allocated() + fragments; }
  /// What the device shows (nvidia-smi).
  [[nodiscard]] double total() const { return reserved() + overhead; }
};

/// Where a model is trained, and how.
struct MemoryQuestion {
  TransformerShape shape;
  TrainingSetup setup;
  ParallelLayout layout;
  int zero_stage = 0;
};

/// The peak with micro-batches of `micro_batch` samples: the largest of three moments, of which
/// each has what it needs and the model states. Fragments are 4 % of what is allocated. Overhead is
/// 0.5 GiB of CUDA context and its libraries' code, 32 MiB of cuBLAS workspace (PyTorch,
/// CUBLAS_WORKSPACE_CONFIG), and 0.4 GiB of NCCL's buffers where there is more than one rank.
[[nodiscard]] MemoryBreakdown peak_memory(const MemoryQuestion& question, double micro_batch);

/// How far the model is from what is measured, relative to what is not model states: one standard
/// deviation (docs/user/memory-model.md has the figures).
inline constexpr double model_deviation = 0.15;

/// The probability that a predicted peak fits into `capacity` bytes.
[[nodiscard]] double fit_probability(const MemoryBreakdown& predicted, double capacity);

/// The largest micro-batch whose predicted peak is at most `capacity`, up to `most`; 0 if none.
[[nodiscard]] std::int64_t largest_micro_batch(const MemoryQuestion& question, double capacity,
                                               std::int64_t most);

/// Peak bytes against micro-batch from a prior line (0 and its slope: a sample more) and measured
/// points. Without points the prior stands. One point moves it to pass through: what the model does
/// not know is mostly the same for all micro-batches (context, buffers, fragments), what it counts
/// grows with them. With points of two micro-batches these say both, and the prior has nothing to
/// add: weighing it in would bend a line that is measured to less than a per cent. But points of
/// small micro-batches may lie where the optimizer's step is fullest, which is level: if they rise
/// less than half as much as the prior and are above it, the prior stands, as the lower bound that
/// it is there of the peak beyond them. `residual` holds what is not sure: the model's deviation,
/// of all of it or of what lies between the (highest) point and `capacity`. Nothing without prior
/// and points.
struct MemoryPrior {
  double at_first = 0.0;  ///< bytes at micro-batch `first`
  double slope = 0.0;     ///< bytes of a sample
  double first = 1.0;
};
[[nodiscard]] std::optional<AffineFit> calibrated(const std::optional<MemoryPrior>& prior,
                                                  std::span<const Point> points,
                                                  std::optional<double> capacity);

/// The prior of a question: its peaks at `first` and `last`, a straight line through them.
[[nodiscard]] MemoryPrior memory_prior(const MemoryQuestion& question, double first, double last);

}  // namespace slurmtune
