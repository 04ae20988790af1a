// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "slurmtune/base/error.hpp"
#include "slurmtune/record/configuration.hpp"
#include "slurmtune/space/expression_step.hpp"

namespace slurmtune {

/// What an expression sees of a value: booleans are 0 and 1, integers are exact up to 2^53, texts
/// become a number that only an equal text has (so that `optimizer == "adam"` works).
[[nodiscard]] double expression_value(const Value& value);

/// An expression over named numbers: a constraint, a condition, an objective.
///
/// Operators: `+ - * / % ^ == != < <= > >= && || ! ?:`, `%` is the remainder (as `mod(a, b)`).
/// Functions: min, max, abs, floor, ceil, round, sqrt, exp, ln, log2, log10, mod and the
/// trigonometric ones. Texts stand in double quotes, and only beside `==` and `!=`. `true` and
/// `false` are 1 and 0.
///
/// Copies share one compiled expression: not for use from two threads at once.
class Expression {
 public:
  /// `where` (`study.toml:40`) begins every message. Errors: invalid_input if the text is no
  /// expression, assigns (`=`), or compares texts by anything but `==` and `!=`.
  [[nodiscard]] static Expected<Expression> compile(std::string_view text, std::string_view where);

  /// Errors: invalid_input if a name is unknown (naming the nearest of `variables`), or if the
  /// result is not a finite number (a division by zero).
  [[nodiscard]] Expected<double> evaluate(const std::map<std::string, double>& variables) const;

  /// Whether the result is not 0. Errors as above.
  [[nodiscard]] Expected<bool> holds(const std::map<std::string, double>& variables) const;

  /// Checks that every name is one of `known`. Errors: invalid_input, naming the nearest.
  [[nodiscard]] Expected<void> check_names(const std::vector<std::string>& known) const;

  /// The expression as steps for a stack, for those who evaluate it for many values at once. They
  /// give the same result as `evaluate`, to the bit, and live no longer than this expression.
  [[nodiscard]] std::vector<ExpressionStep> steps() const;

  /// The names that the expression uses, sorted.
  [[nodiscard]] const std::vector<std::string>& variables() const;
  [[nodiscard]] const std::string& text() const;
  [[nodiscard]] const std::string& where() const;

 private:
  struct Compiled;
  explicit Expression(std::shared_ptr<Compiled> compiled);

  std::shared_ptr<Compiled> compiled_;
};

/// The names that an expression must not use for its own variables: functions and constants.
[[nodiscard]] bool is_reserved_in_expressions(std::string_view name);

}  // namespace slurmtune
