// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <functional>

#include "slurmtune/base/random.hpp"

namespace slurmtune {

/// How often, and how long apart, something is tried that the cluster did not answer.
struct RetryPolicy {
  int attempts_max = 6;
  std::chrono::milliseconds first_pause{1'000};  ///< doubled each time
  std::chrono::milliseconds pause_max{30'000};
};

/// Pauses that double, each drawn from its upper half, so that the many jobs of a study do not ask
/// a controller that is overloaded at the same instants.
class Backoff {
 public:
  using Sleep = std::function<void(std::chrono::milliseconds)>;

  /// An empty `sleep` really sleeps.
  Backoff(RetryPolicy policy, Seed seed, Sleep sleep);

  /// Sleeps and returns true while there are attempts left; the first attempt has no pause.
  [[nodiscard]] bool next();

 private:
  RetryPolicy policy_;
  Random random_;
  Sleep sleep_;
  int attempts_ = 0;
};

}  // namespace slurmtune
