// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "slurmtune/record/decision.hpp"
#include "slurmtune/report/text.hpp"

namespace slurmtune {

/// What was measured in a part of the space: a ZeRO stage, or all of it.
struct SpaceFinding {
  std::string name;              ///< `z1`, or `all`
  std::int64_t experiments = 0;  ///< that have a verdict
  std::int64_t failed = 0;       ///< of them, those that did not work
  std::string best;              ///< label; "" if nothing in it could be ranked
  std::optional<Interval> objective;
};

/// What a study knows beyond its result, folded from all verdicts so far.
struct Findings {
  std::string unit;  ///< of what stands for the objective: samples/s, or its expression
  std::vector<SpaceFinding> spaces;
  std::vector<Conclusion> conclusions;
  std::vector<NodeRecord> slow_nodes;  ///< against all nodes that the study's tasks have measured
  std::vector<Dropped> dropped;  ///< by the plan, the decisions and the models, each thing once
};

[[nodiscard]] Findings findings_of(const StudyInput& input, const StudyView& view);

/// Absolute path of a failed trial's log, or of the directory where it would be; "" if no manifest
/// holds the experiment.
[[nodiscard]] std::string log_of(const Failure& failure, const StudyDirectory& directory,
                                 const StudyView& view);

/// `z1_gas2_tmbspg4`, of the experiment of that id; the id itself if no manifest holds it.
[[nodiscard]] std::string asked_label(const std::string& experiment, const StudyView& view);

/// The derived files of best/ and the table of results, those that are there.
[[nodiscard]] std::vector<std::string> written_files(const StudyDirectory& directory);

/// `149.2 samples/s (95 % interval 148.1 to 149.9)`, `cost = 6 (95 % interval 5.9 to 6.1)`.
[[nodiscard]] std::string objective_in_words(const Interval& value, const StudyInput& input);

/// What a speed-up is called, and is: `speed-up`, `1.42 times (95 % interval 1.40 to 1.44)`; where
/// the objective is no speed, how its values compare: `ratio`, `0.75 times the cost (...)`.
struct SpeedupWords {
  std::string name;
  std::string words;
};
[[nodiscard]] SpeedupWords speedup_in_words(const Interval& speedup, const StudyInput& input);

/// `0.93`, `more than 0.998`
[[nodiscard]] std::string probability_in_words(double probability);

}  // namespace slurmtune
