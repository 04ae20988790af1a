// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace slurmtune {

/// Belief about B, the largest micro-batch that fits, between what is known to fit and what is
/// known not to.
///
/// The prior is a mixture: nine tenths the model (probability that a micro-batch fits, by its
/// predicted peak), one tenth a heavy tail P(B >= m) ~ 1/sqrt(m), which takes over where the model
/// is contradicted, and is all there is where no model is known: its quantiles are a geometric
/// doubling. Evidence truncates it.
class Boundary {
 public:
  /// P(a micro-batch fits), falling with the micro-batch.
  using FitModel = std::function<double(std::int64_t micro_batch)>;

  struct Evidence {
    std::int64_t smallest = 1;          ///< smallest admissible micro-batch
    std::optional<std::int64_t> fits;   ///< largest that is known to fit
    std::optional<std::int64_t> fails;  ///< smallest that is known not to; above `fits`
  };

  /// `model` may be empty: nothing is known of memory.
  Boundary(const Evidence& evidence, FitModel model);

  /// P(B >= micro_batch), given the evidence; 1 up to `fits`, 0 from `fails`.
  [[nodiscard]] double survival(std::int64_t micro_batch) const;

  /// At most `count` of `candidates` (sorted, strictly between the bounds), at the quantiles
  /// 1/(count+1), 2/(count+1), … of B; fewer where quantiles fall on one candidate. Never empty
  /// unless `candidates` or `count` is.
  [[nodiscard]] std::vector<std::int64_t> probes(std::span<const std::int64_t> candidates,
                                                 std::size_t count) const;

 private:
  [[nodiscard]] double prior(std::int64_t micro_batch) const;

  Evidence evidence_;
  FitModel model_;
};

}  // namespace slurmtune
