// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "slurmtune/runner/lane/dispatcher.hpp"
#include "slurmtune/runner/lane/lane_leader.hpp"
#include "slurmtune/runner/lane/packet_link.hpp"
#include "slurmtune/runner/lane/trial_host.hpp"
#include "slurmtune/runner/stop_signals.hpp"

namespace slurmtune {

/// What one rank of the runner does until the task is done: hosts the trials' processes of its
/// node, leads the lanes that begin there, and on rank 0 gives out the experiments. One thread, in
/// which nothing waits for anything but in poll(2), and between messages of other ranks a few
/// milliseconds at a time: MPI could only spin.
class NodeLoop {
 public:
  NodeLoop(PacketLink& link, TrialHost& host, StopSignals& stop, std::vector<LanePlace> places)
      : link_(link), host_(host), stop_(stop), places_(std::move(places)) {}

  void lead(std::unique_ptr<LaneLeader> leader);
  /// Until the dispatcher is done, which then sends the other ranks away.
  void run_with(Dispatcher& dispatcher);
  /// Until rank 0 says so.
  void run();

 private:
  /// One round; true if there was something to do.
  bool go_on();
  bool look_at_host();
  void route(const Words& message, int from);
  void wait(bool was_busy);

  PacketLink& link_;
  TrialHost& host_;
  StopSignals& stop_;
  std::vector<LanePlace> places_;
  std::map<int, std::unique_ptr<LaneLeader>> leaders_;
  Dispatcher* dispatcher_ = nullptr;
  std::optional<EndReason> told_;  ///< what rank 0 was told
  bool leaves_ = false;
  int pause_ms_ = 1;
};

}  // namespace slurmtune
