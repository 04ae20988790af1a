// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "slurmtune/study/view.hpp"

namespace slurmtune {

enum class StageProgressState {
  waiting,  ///< its manifest is not written yet
  queued,   ///< no task has begun, or what is left waits for the next window
  running,
  ended,    ///< every experiment has a verdict; the reducer has not concluded
  done,     ///< concluded
  skipped,  ///< not needed, or the study ended before
};
[[nodiscard]] std::string_view name_of(StageProgressState state);

/// How far one stage is. An experiment is done if it has a verdict, whatever it says; running are
/// as many as the open tasks have lanes.
struct StageProgress {
  StageName name;
  StageProgressState state = StageProgressState::waiting;
  std::int64_t experiments = 0;
  std::int64_t done = 0;
  std::int64_t running = 0;
  std::int64_t waiting = 0;
  std::map<Outcome, std::int64_t> outcomes;
};

/// Of every stage, in the order of the plan.
[[nodiscard]] std::vector<StageProgress> progress_of(const StudyView& view);

/// A configuration that is ahead so far.
struct Leader {
  ConfigurationId configuration;
  std::string label;
  std::optional<Interval> throughput;  ///< measured, samples/s
  Interval objective;                  ///< its own value, of the last decision or the verdict
  bool decided = false;                ///< by a decision; else merely the best verdict so far
  std::string value;                   ///< `412.3 samples/s`, `cost = 6`
  std::string rank;                    ///< `best`; undecided: `fastest`, `best so far`
};
/// By the last decision that has one, else the best of all verdicts that can be ranked.
[[nodiscard]] std::optional<Leader> leader_of(const StudyInput& input, const StudyView& view);

/// `z1_gas1_tmbspg8 412.3 samples/s`, `x-4 cost = 6`
[[nodiscard]] std::string in_words(const Leader& leader);

/// The verdict that ended last, and its experiment's label.
struct LastVerdict {
  std::string label;
  Outcome outcome = Outcome::not_started;
};
[[nodiscard]] std::optional<LastVerdict> last_verdict(const StudyView& view);

/// Node-seconds that were really used: of a task that goes on, up to its last sign of life.
[[nodiscard]] std::int64_t used_node_seconds(const StudyView& view);

/// `2 gpu_oom, 1 hang`
[[nodiscard]] std::string in_words(const std::map<Outcome, std::int64_t>& outcomes);

}  // namespace slurmtune
