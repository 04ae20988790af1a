// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include <poll.h>

#include "slurmtune/runner/start/process_spec.hpp"
#include "slurmtune/runner/start/spawner.hpp"

namespace slurmtune {

/// The processes of one trial on this node, seen from the runner: their keeper, and their output.
class LocalTrial {
 public:
  using Listener = std::function<void(const NodeEvent&)>;

  /// Errors: unavailable.
  [[nodiscard]] static Expected<LocalTrial> begin(Spawner& spawner);

  /// Opens outputs for ranks that a launcher on this node starts: each writes into a pipe of ours,
  /// so that every line has its rank, and nothing hangs on what the launcher does with the output
  /// of a rank that fails. They get the indices `first_index`, … Gives their paths, by rank.
  /// Errors: unavailable.
  [[nodiscard]] Expected<std::vector<std::string>> open_outputs(int first_index, int count);

  /// Starts a process, whose standard output and error both come as output of `index`. Whether it
  /// could be started comes as an event. Errors: unavailable.
  [[nodiscard]] Expected<void> start(int index, const ProcessSpec& spec);

  /// Adds what wakes this object up.
  void watch(std::vector<pollfd>& descriptors) const;
  /// Tells what has happened since the last call; does not wait. What a process wrote is told
  /// before that it ended.
  void look(const Listener& listener);

  void signal_all(int signal);
  void signal_leaders(int signal);
  /// SIGKILL to whatever is left; `gone` or `stuck` follows.
  void kill();

  [[nodiscard]] bool is_gone() const { return gone_; }
  /// The process whose descendants are the trial, once it is known.
  [[nodiscard]] std::optional<pid_t> keeper() const { return keeper_; }

 private:
  struct Output {
    int index = 0;
    Descriptor read_end;
    Descriptor write_end;  ///< held only until the ranks have opened it
  };

  void read_outputs(const Listener& listener);
  [[nodiscard]] std::optional<NodeEvent> event_of(const Words& words);

  WordSocket socket_;
  std::vector<Output> outputs_;
  std::optional<pid_t> keeper_;
  bool gone_ = false;
};

}  // namespace slurmtune
