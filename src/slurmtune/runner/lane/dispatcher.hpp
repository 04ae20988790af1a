// SPDX-License-Identifier: MIT
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "slurmtune/runner/lane/lane_layout.hpp"
#include "slurmtune/runner/lane/node_report.hpp"
#include "slurmtune/runner/lane/packet_link.hpp"
#include "slurmtune/runner/shard_writer.hpp"
#include "slurmtune/runner/trial_setup.hpp"

namespace slurmtune {

/// By experiment the nodes that it has failed on.
using NodesToAvoid = std::map<ExperimentId, std::set<std::string>>;

/// Gives the experiments of a slice to the lanes that ask for one, and writes the shard: on rank 0.
/// For what LaneLeader sends and understands see there.
class Dispatcher {
 public:
  /// `frame` is that of any lane: for verdicts of what never ran.
  Dispatcher(const TrialFrame& frame, std::vector<Experiment> open, std::vector<LanePlace> places,
             ShardWriter& shard, PacketLink& link);

  /// Nodes that experiments are better not run on again (`needs_other_node_than`): they wait for a
  /// lane on others while there is one, and else are run all the same. Before anything is given
  /// out.
  void avoid(NodesToAvoid nodes) { avoided_ = std::move(nodes); }

  /// A rank tells of its node (NodeReport). Nothing is given out before all have.
  void node(int rank, WordReader& words);
  /// Lane `lane` asks for an experiment.
  void next(int lane);
  void verdict(WordReader& words);
  void error(WordReader& words);
  /// To be called often; `stop` is what the task was told.
  void go_on(std::optional<EndReason> stop);

  /// True once all lanes have ended.
  [[nodiscard]] bool is_done() const { return lanes_running_ == 0; }
  /// Writes the last line. Errors: what went wrong with our files, or a trial's.
  [[nodiscard]] Expected<void> end();

 private:
  void begin_lanes();
  /// Why no trial can run on the lane's nodes; "" if none is known.
  [[nodiscard]] std::string problem_of(int lane) const;
  [[nodiscard]] bool any_lane_fits() const;
  /// Whether the experiment is better not run on the lane's nodes.
  [[nodiscard]] bool avoids(const Experiment& experiment, std::size_t lane) const;
  /// The experiment that the lane gets: the first that does not avoid it, else the first that no
  /// other lane will take; the end of the list if there is none.
  [[nodiscard]] std::deque<Experiment>::iterator choice_of(std::size_t lane);
  void give(int lane, const Experiment& experiment);
  [[nodiscard]] bool has_time_for(const Experiment& experiment) const;
  void write(const Expected<void>& written);
  void write(const Verdict& verdict);
  void drop_the_rest(std::string reason);

  const TrialFrame& frame_;
  std::deque<Experiment> open_;
  std::vector<LanePlace> places_;
  ShardWriter& shard_;
  PacketLink& link_;
  std::size_t lanes_running_;
  std::vector<bool> lane_ended_;
  NodesToAvoid avoided_;
  std::map<int, NodeReport> nodes_;  ///< by rank
  std::vector<int> early_;           ///< lanes that asked before all nodes were known
  Instant last_beat_;
  std::string reason_ = "done";
  std::optional<double> longest_trial_s_;
  std::optional<Error> failure_;
};

}  // namespace slurmtune
