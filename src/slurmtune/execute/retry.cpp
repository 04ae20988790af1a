// SPDX-License-Identifier: MIT
#include "slurmtune/execute/retry.hpp"

#include <algorithm>
#include <thread>
#include <utility>

namespace slurmtune {

Backoff::Backoff(RetryPolicy policy, Seed seed, Sleep sleep)
    : policy_(policy), random_(seed), sleep_(std::move(sleep)) {
  if (!sleep_) {
    sleep_ = [](std::chrono::milliseconds pause) { std::this_thread::sleep_for(pause); };
  }
}

bool Backoff::next() {
  if (attempts_ >= policy_.attempts_max) return false;
  ++attempts_;
  if (attempts_ == 1) return true;
  std::chrono::milliseconds pause = policy_.first_pause;
  for (int i = 2; i < attempts_ && pause < policy_.pause_max; ++i) pause *= 2;
  pause = std::min(pause, policy_.pause_max);
  const double share = 0.5 + 0.5 * random_.uniform();
  sleep_(std::chrono::milliseconds(
      static_cast<std::chrono::milliseconds::rep>(static_cast<double>(pause.count()) * share)));
  return true;
}

}  // namespace slurmtune
