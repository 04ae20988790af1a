// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include <poll.h>

#include "slurmtune/runner/node/nvml.hpp"
#include "slurmtune/runner/node/usage_meter.hpp"
#include "slurmtune/runner/start/local_trial.hpp"
#include "slurmtune/runner/start/private_caches.hpp"
#include "slurmtune/runner/start/spawner.hpp"

namespace slurmtune {

/// The processes of all lanes' trials on this node, one trial a lane, on the word of the lanes'
/// leaders, which may be on other nodes:
///
/// `begin`, `outputs FIRST COUNT`, `start INDEX NODE_VARIABLES… <ProcessSpec>`, `signal N`,
/// `signal-leaders N`, `kill`; after `gone` or `stuck` the lane may begin another trial.
class TrialHost {
 public:
  using Teller = std::function<void(int lane, const NodeEvent&)>;

  /// `own` is this node's environment: it has the last word about what differs from node to node.
  TrialHost(Spawner& spawner, Environment own);

  void obey(int lane, WordReader& words);
  /// Adds what wakes this object up.
  void watch(std::vector<pollfd>& descriptors) const;
  /// Tells what has happened since the last call; does not wait.
  void look(const Teller& tell);

 private:
  struct Hosted {
    LocalTrial trial;
    std::vector<std::string> rank_outputs;
    std::vector<NodeEvent> to_tell;  ///< what happened while we obeyed
    long long oom_kills_before = 0;
    std::optional<UsageMeter> usage;  ///< once a process was started
    std::chrono::steady_clock::time_point next_sample{};
  };

  void begin(int lane);
  void start(Hosted& hosted, WordReader& words);
  void sample(Hosted& hosted);

  Spawner& spawner_;
  Environment own_;
  PrivateCaches caches_;
  std::map<int, Hosted> hosted_;
  std::optional<Nvml> nvml_;          ///< held, so that it is loaded once and not for each trial
  std::map<int, NodeEvent> refused_;  ///< lanes whose trial could not even begin
};

}  // namespace slurmtune
