// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "slurmtune/base/error.hpp"
#include "slurmtune/record/outcome.hpp"

namespace slurmtune {

/// When a rule may be applied.
enum class RuleScope {
  any,
  before_first_step,  ///< what cannot be told from a crash later on
  no_rank_failed,     ///< the launcher named no rank that failed by itself
  exit_2,             ///< before the first step, with exit code 2: how programs refuse arguments
  memory_short,       ///< the kernel killed for memory, or memory was near its limit
};

/// What a line of that form is.
enum class RuleKind {
  cause,
  consequence,  ///< what a rank says because another one failed
  system,       ///< what the batch system says about the job
};

/// A form of error line that tells why a trial failed. Rules are asked only about a trial that did
/// fail by its exit status: a word in a log is never enough by itself.
struct FailureRule {
  std::string name;  ///< the verdict's reason is `rule:<name>`
  Outcome outcome = Outcome::crashed;
  RuleScope scope = RuleScope::any;
  std::string expression;  ///< ECMAScript, searched in a line without launcher prefixes
  RuleKind kind = RuleKind::cause;
};

/// All rules, the weightiest first: those of judge/failure-rules.toml, which is part of the
/// program.
[[nodiscard]] std::span<const FailureRule> failure_rules();

/// Reads a file of rules. Errors: invalid_input with `where:line` for what is no TOML, a key or a
/// word that is not known, a rule without name, outcome or expression, two of one name, an outcome
/// that is a success, or an expression that does not compile.
[[nodiscard]] Expected<std::vector<FailureRule>> parse_failure_rules(std::string_view text,
                                                                     std::string_view where);

/// The line without what launchers put before it: `[rank3]: `, `[1,3]<stderr>:`, `3: `,
/// `[default0]:` (torchrun --tee, which tells no global rank). The rank they tell, if they do.
struct OutputLine {
  std::string_view text;
  std::optional<int> rank;
};
[[nodiscard]] OutputLine strip_prefix(std::string_view line);

/// What is known besides the lines.
struct FailureContext {
  bool had_steps = false;
  bool rank_failed = false;
  std::optional<int> exit_code = {};
  std::optional<int> signal = {};
  std::optional<int> rank = {};  ///< the first that failed
  bool memory_short = false;
};

/// The rule that tells why, and the line that it matched.
struct RuleMatch {
  const FailureRule* rule;
  std::size_t line;
};

/// Looks for the cause in `lines` (oldest first, prefixes stripped), written by `ranks` (absent =
/// unknown; may be shorter than `lines`): what the batch system says; then causes in the lines of
/// the rank that failed first, then in those of unknown ranks, then in those of other ranks, unless
/// that rank died of a fault of its own (SIGSEGV, SIGBUS, SIGFPE, SIGILL); a consequence only if no
/// line of that rank or of an unknown one looks like another error, and no signal explains the end.
[[nodiscard]] std::optional<RuleMatch> match_failure(std::span<const std::string> lines,
                                                     std::span<const std::optional<int>> ranks,
                                                     const FailureContext& context);
[[nodiscard]] std::optional<RuleMatch> match_failure(std::span<const std::string> lines,
                                                     const FailureContext& context);

/// The line that says most about a failure that no rule knows: the last that looks like an
/// exception or an error and is not just a consequence, else the last of the trial's own; empty
/// without output.
[[nodiscard]] std::string_view telling_line(std::span<const std::string> lines);

/// True for lines of mpirun and srun about the job, not of the trial.
[[nodiscard]] bool is_launcher_line(std::string_view line);

}  // namespace slurmtune
