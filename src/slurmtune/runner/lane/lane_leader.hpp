// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include "slurmtune/runner/lane/lane_trial.hpp"
#include "slurmtune/runner/lane/packet_link.hpp"
#include "slurmtune/runner/trial_setup.hpp"

namespace slurmtune {

/// Runs the experiments that the dispatcher (rank 0) gives to one lane, on the lane's first node,
/// and sends it a verdict for each.
///
/// To the dispatcher: `next LANE` (give me another), `verdict LANE JSON`, `error LANE KIND WHY`
/// (our own files failed). From it: `run LANE EXPERIMENT ATTEMPT <NodeReport>…`. To the hosts:
/// `host LANE …`; from them `node LANE NODE …`.
class LaneLeader {
 public:
  /// `refusal`: nothing can be started, for this reason; every experiment is a launch_error then.
  LaneLeader(TrialFrame frame, PacketLink& link, std::optional<Error> refusal)
      : frame_(std::move(frame)), link_(link), refusal_(std::move(refusal)) {}

  /// Asks for the first experiment.
  void begin();
  /// `nodes`: a NodeReport of each node of the lane.
  void run(const std::string& experiment, int attempt, WordReader& nodes);
  void on_event(std::size_t node, const NodeEvent& event);
  /// To be called often; `stop` is what the task was told.
  void go_on(std::optional<EndReason> stop);

  [[nodiscard]] bool is_idle() const { return !trial_; }
  [[nodiscard]] int lane() const { return frame_.lane; }

 private:
  Expected<void> start();
  void finish();
  void send(const Verdict& verdict);
  void fail(const Error& error);
  void take(const Expected<void>& done);

  static constexpr int port_tries_max = 3;

  TrialFrame frame_;
  PacketLink& link_;
  std::optional<Error> refusal_;
  Experiment experiment_;
  Instant started_;
  std::optional<LaneTrial> trial_;
  int port_tries_ = 0;
};

}  // namespace slurmtune
