// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <functional>

namespace slurmtune {

/// What a step of a compiled expression does with the last values of the stack.
enum class Operation {
  number,    ///< puts a number on the stack
  variable,  ///< puts a variable on it
  less_equal,
  greater_equal,
  not_equal,
  equal,
  less,
  greater,
  add,
  subtract,
  multiply,
  divide,
  power,
  remainder,
  logical_and,
  logical_or,
  logical_not,
  select,  ///< `condition ? second : third`
  call,    ///< a function of `arity` values
};

/// A step of an expression in reverse Polish order: what the parser's library has compiled, in
/// words that need no header of it.
struct ExpressionStep {
  Operation operation = Operation::number;
  double number = 0.0;
  std::size_t variable = 0;  ///< index into Expression::variables()
  std::size_t arity = 0;     ///< values taken from the stack, each leaves one
  std::function<double(const double*)> function = nullptr;  ///< of `call` only
  const void* function_id = nullptr;                        ///< equal for equal functions
};

}  // namespace slurmtune
