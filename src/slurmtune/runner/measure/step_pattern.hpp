// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string_view>

#include "slurmtune/base/error.hpp"
#include "slurmtune/input/named_pattern.hpp"
#include "slurmtune/runner/measure/step_report.hpp"

namespace slurmtune {

/// The user's own step line: measure.pattern, an ECMAScript regular expression with named groups
/// `(?<step>…)` or `(?P<step>…)`. Groups: step, step_s, samples, loss; any other name becomes a
/// metric of that name. Found anywhere in a line; only a line that matches ends a step.
class StepPattern {
 public:
  /// Errors: invalid_input, for a broken expression, or one without a named group.
  [[nodiscard]] static Expected<StepPattern> compile(std::string_view pattern);

  /// What the line says; nothing if it does not match. Lines of more than 4096 bytes are cut:
  /// std::regex recurses once a character.
  [[nodiscard]] std::optional<StepReport> match(std::string_view line) const;

 private:
  NamedPattern pattern_;
};

}  // namespace slurmtune
