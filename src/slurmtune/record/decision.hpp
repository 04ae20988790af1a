// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "slurmtune/record/interval.hpp"
#include "slurmtune/record/json.hpp"
#include "slurmtune/record/manifest.hpp"
#include "slurmtune/record/outcome.hpp"

namespace slurmtune {

/// What follows a reducer's look at a stage.
enum class NextAction { release, repeat, skip_to, finish };

/// Why a study ended.
enum class Stop {
  gain,  ///< a confirmed winner, nothing left that could gain more than search.stop_gain
  budget,
  deadline,
  exhausted,  ///< everything in the space was measured
  baseline_config_error,
  nothing_worked,
  storage_error,
  cancelled,
};

[[nodiscard]] std::string_view name_of(NextAction action);
[[nodiscard]] std::optional<NextAction> next_action_named(std::string_view name);
[[nodiscard]] std::string_view name_of(Stop stop);
[[nodiscard]] std::optional<Stop> stop_named(std::string_view name);

struct BestSoFar {
  ConfigurationId configuration;
  Interval throughput;  ///< the objective's estimate over all repeats
  double probability_best = 0.0;

  bool operator==(const BestSoFar&) const = default;
};

struct BaselineSoFar {
  ConfigurationId configuration;
  Outcome outcome = Outcome::not_started;
  std::optional<Interval> throughput;

  bool operator==(const BaselineSoFar&) const = default;
};

struct Conclusion {
  std::string about;             ///< `zero_stage=1`
  std::string says;              ///< `largest micro_batch that fits: 3 (fits 3, fails 4)`
  std::vector<std::string> why;  ///< ids of experiments

  bool operator==(const Conclusion&) const = default;
};

struct Dropped {
  std::string what;
  std::string because;

  bool operator==(const Dropped&) const = default;
};

[[nodiscard]] Json json_of(const Dropped& dropped);
/// Errors: corrupt_data.
[[nodiscard]] Expected<Dropped> dropped_from_json(const Json& json, std::string_view where);

struct Next {
  NextAction action = NextAction::finish;
  StageName stage;  ///< what runs next; empty on finish
  std::int64_t experiments = 0;
  std::int64_t slices = 0;
  std::int64_t walltime_s = 0;
  std::int64_t worst_node_seconds = 0;
  std::int64_t reserved_node_seconds = 0;
  std::string manifest_sha256;  ///< of the manifest that this releases; empty on finish

  bool operator==(const Next&) const = default;
};

[[nodiscard]] Json json_of(const Next& next);
/// Errors: corrupt_data.
[[nodiscard]] Expected<Next> next_from_json(const Json& json, std::string_view where);

/// A configuration that was measured, for the ranking of a result.
struct Ranked {
  ConfigurationId configuration;
  Values values;
  std::string label;
  Interval throughput;
  std::optional<Interval> step_s;
  std::optional<double> peak_gpu_bytes;
  int repeats = 0;

  bool operator==(const Ranked&) const = default;
};

/// A failed experiment, in its own words.
struct Failure {
  ExperimentId experiment;
  std::string label;
  Outcome outcome = Outcome::crashed;
  std::string line;  ///< what the trial said last
  std::string log;

  bool operator==(const Failure&) const = default;
};

/// What tuning comes to, on every path: the best experiment, or why there is none.
struct TuningResult {
  Stop stop = Stop::nothing_worked;
  std::optional<Ranked> best;      ///< never a failed experiment
  std::optional<Ranked> baseline;  ///< absent if it did not run
  Outcome baseline_outcome = Outcome::not_started;
  std::optional<Interval> speedup;  ///< best over baseline, a ratio of throughputs
  double probability_best = 0.0;
  std::vector<Ranked> ranking;    ///< best first, at most 10
  std::vector<Failure> failures;  ///< at most 20, in manifest order
  std::int64_t experiments_run = 0;
  std::int64_t spent_node_seconds = 0;
  std::string why;  ///< one sentence for people; why there is no best, if there is none

  bool operator==(const TuningResult&) const = default;
};

/// What a reducer concluded, and why: a pure function of manifests, verdicts and spending.
/// It holds no time, host, job id or path of this machine.
struct Decision {
  StudyId study;
  StageName stage;
  int round = 0;
  std::string inputs;
  std::int64_t verdicts_read = 0;
  std::vector<ExperimentId> missing;
  std::int64_t spent_node_seconds = 0;
  std::optional<std::int64_t> budget_node_seconds;  ///< as it was then: it may be extended
  std::optional<std::int64_t> budget_experiments;
  std::optional<BestSoFar> best;
  std::optional<BaselineSoFar> baseline;
  std::vector<Conclusion> conclusions;
  std::vector<Dropped> dropped;
  Next next;
  std::optional<Stop> stop;
  std::optional<TuningResult> result;  ///< present exactly when next.action is finish

  bool operator==(const Decision&) const = default;
};

/// decision.json: canonical JSON and a newline.
[[nodiscard]] Expected<std::string> render_decision(const Decision& decision);
[[nodiscard]] Expected<Decision> parse_decision(std::string_view text, std::string_view where);

[[nodiscard]] Json to_json(const TuningResult& result);
[[nodiscard]] Expected<TuningResult> tuning_result_from_json(const Json& json,
                                                             std::string_view where);

}  // namespace slurmtune
