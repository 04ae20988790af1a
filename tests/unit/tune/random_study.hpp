// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "slurmtune/base/random.hpp"

#include "tests/unit/tune/simulated_study.hpp"

namespace slurmtune {

class PerformanceSurface;

/// A study drawn by a seed, on a cluster that does its worst: tasks are preempted, requeued by
/// hand, lost, hang before they can write a line or are cancelled; nodes fail; jobs wait in the
/// queue. Tasks take the time that they take and are bounded as the runner bounds them; the batch
/// system bills what it gave.
class RandomStudy {
 public:
  explicit RandomStudy(std::uint64_t seed);
  ~RandomStudy();
  RandomStudy(const RandomStudy&) = delete;
  RandomStudy& operator=(const RandomStudy&) = delete;

  /// What was drawn, for messages.
  [[nodiscard]] const std::string& what() const { return what_; }
  /// False if the plan was refused: its budget is too tight for what cannot be left out.
  [[nodiscard]] bool is_planned() const { return study_ != nullptr; }
  /// Submits it, lets the cluster work, and resumes it each evening while it is not finished.
  void run();

  [[nodiscard]] SimulatedStudy& study() { return *study_; }
  [[nodiscard]] std::optional<double> cap_node_seconds() const { return cap_node_seconds_; }
  [[nodiscard]] std::optional<std::int64_t> cap_experiments() const { return cap_experiments_; }
  /// All starts of all array tasks, and of reducers, guard and final by their share of a node.
  [[nodiscard]] double billed_node_seconds() const;
  /// How often each experiment was run to an end that counts.
  [[nodiscard]] const std::map<ExperimentId, int>& measured() const { return measured_; }
  /// Whether a trial ran while the window was closed.
  [[nodiscard]] bool left_the_window() const { return left_the_window_; }
  /// The study was not finished when its deadline came.
  [[nodiscard]] bool missed_deadline() const { return missed_deadline_; }

 private:
  /// [budget] is its last section, and lacks the cap.
  [[nodiscard]] std::string draw_study();
  [[nodiscard]] std::string budget_line() const;
  [[nodiscard]] FakeRun array_task(const FakeTask& task, const StageName& stage);
  void write_shard(const FakeTask& task, const StageName& stage, std::int64_t slice,
                   std::vector<ShardLine> lines);
  void do_harm();
  [[nodiscard]] bool chance(double probability) { return random_.uniform() < probability; }
  [[nodiscard]] std::int64_t between(std::int64_t low, std::int64_t high);

  Random random_;
  std::string what_;
  std::optional<double> cap_node_seconds_;
  std::optional<std::int64_t> cap_experiments_;
  bool is_tight_ = false;  ///< its budget hardly holds what cannot be left out
  bool has_window_ = false;
  double harm_ = 0.0;     ///< chance of harm in each hour
  double silence_ = 0.0;  ///< chance of a task that never writes a line
  std::set<std::string> down_;
  std::unique_ptr<PerformanceSurface> surface_;
  std::map<ExperimentId, int> measured_;
  bool left_the_window_ = false;
  bool missed_deadline_ = false;
  std::unique_ptr<SimulatedStudy> study_;
};

}  // namespace slurmtune
