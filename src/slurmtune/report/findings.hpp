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
  std::string unit;  ///< of what stands for the objective
  std::vector<SpaceFinding> spaces;
  std::vector<Conclusion> conclusions;
  std::vector<Dropped> dropped;  ///< by the plan, the decisions and the models, each thing once
};

[[nodiscard]] Findings findings_of(const StudyInput& input, const StudyView& view);

/// The unit of a row of the ranking: samples/s, s, or the objective's expression.
[[nodiscard]] std::string unit_of(const Ranked& row, const StudyInput& input);

/// Absolute path of a failed trial's log, or of the directory where it would be; "" if no manifest
/// holds the experiment.
[[nodiscard]] std::string log_of(const Failure& failure, const StudyDirectory& directory,
                                 const StudyView& view);

/// `z1_gas2_tmbspg4`, of the experiment of that id; the id itself if no manifest holds it.
[[nodiscard]] std::string asked_label(const std::string& experiment, const StudyView& view);

/// The derived files of best/ and the table of results, those that are there.
[[nodiscard]] std::vector<std::string> written_files(const StudyDirectory& directory);

/// `149.2 samples/s (95 % interval 148.1 to 149.9)`
[[nodiscard]] std::string in_words(const Interval& interval, std::string_view unit);

/// `1.42 times (95 % interval 1.40 to 1.44)`
[[nodiscard]] std::string speedup_in_words(const Interval& speedup);

/// `0.93`, `more than 0.998`
[[nodiscard]] std::string probability_in_words(double probability);

}  // namespace slurmtune
