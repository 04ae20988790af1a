// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "slurmtune/record/outcome.hpp"

namespace slurmtune {

/// When a rule may be applied.
enum class RuleScope {
  any,
  before_first_step,  ///< what cannot be told from a crash later on
  no_rank_failed,     ///< the launcher named no rank that failed by itself
  exit_2,             ///< before the first step, with exit code 2: how programs refuse arguments
};

/// A form of error line that tells why a trial failed. Rules are asked only about a trial that did
/// fail by its exit status: a word in a log is never enough by itself.
struct FailureRule {
  std::string_view name;  ///< the verdict's reason is `rule:<name>`
  Outcome outcome;
  RuleScope scope;
  std::string_view expression;  ///< ECMAScript, searched in a line without launcher prefixes
};

/// All rules, the weightiest first: if several match, the first of them counts.
[[nodiscard]] std::span<const FailureRule> failure_rules();

/// The line without what launchers put before it: `[rank3]: `, `[1,3]<stderr>:`, `3: `. The rank
/// they tell, if they do.
struct OutputLine {
  std::string_view text;
  std::optional<int> rank;
};
[[nodiscard]] OutputLine strip_prefix(std::string_view line);

/// The first rule that matches one of `lines` (oldest first, prefixes stripped), and that line.
struct RuleMatch {
  const FailureRule* rule;
  std::size_t line;
};
struct FailureContext {
  bool had_steps = false;
  bool rank_failed = false;
  std::optional<int> exit_code;
};
[[nodiscard]] std::optional<RuleMatch> match_failure(std::span<const std::string> lines,
                                                     const FailureContext& context);

/// The line that says most about a failure that no rule knows: the last that looks like an
/// exception or an error, else the last of the trial's own; empty without output.
[[nodiscard]] std::string_view telling_line(std::span<const std::string> lines);

/// True for lines of mpirun and srun about the job, not of the trial.
[[nodiscard]] bool is_launcher_line(std::string_view line);

}  // namespace slurmtune
