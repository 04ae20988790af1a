// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <tl/expected.hpp>

namespace slurmtune {

/// One kind per reaction of a caller; `cli` maps each to an exit code.
enum class ErrorKind {
  invalid_input,  ///< the user must change something: exit code 2
  unavailable,    ///< the cluster, the disk or another process is at fault; try again: exit code 3
  corrupt_data,   ///< a file of a study is not what it must be; never retried: exit code 3
  no_result,      ///< everything worked, and there is nothing to show for it: exit code 1
};

/// What went wrong, where, and what to do, in the words that the user will read.
/// Messages about a file begin with `path:line: `.
struct Error {
  ErrorKind kind = ErrorKind::invalid_input;
  std::string message;

  bool operator==(const Error&) const = default;
};

template <class T>
using Expected = tl::expected<T, Error>;

[[nodiscard]] inline tl::unexpected<Error> invalid_input(std::string message) {
  return tl::unexpected<Error>(Error{ErrorKind::invalid_input, std::move(message)});
}
[[nodiscard]] inline tl::unexpected<Error> unavailable(std::string message) {
  return tl::unexpected<Error>(Error{ErrorKind::unavailable, std::move(message)});
}
[[nodiscard]] inline tl::unexpected<Error> corrupt_data(std::string message) {
  return tl::unexpected<Error>(Error{ErrorKind::corrupt_data, std::move(message)});
}
[[nodiscard]] inline tl::unexpected<Error> no_result(std::string message) {
  return tl::unexpected<Error>(Error{ErrorKind::no_result, std::move(message)});
}

/// Puts `context: ` before the message; the kind stays.
[[nodiscard]] inline tl::unexpected<Error> in_context(std::string_view context, Error error) {
  return tl::unexpected<Error>(
      Error{error.kind, std::string(context) + ": " + std::move(error.message)});
}

/// Ends the process after printing where; for our own bugs only, never for bad input.
[[noreturn]] void assertion_failed(const char* expression, const char* file, int line);

}  // namespace slurmtune

// NOLINTBEGIN(cppcoreguidelines-macro-usage,bugprone-macro-parentheses): early returns need it.
#define SLURMTUNE_CONCAT_INNER(a, b) a##b
#define SLURMTUNE_CONCAT(a, b) SLURMTUNE_CONCAT_INNER(a, b)

/// Declares `declaration` from the value of an Expected, or returns its error.
#define SLURMTUNE_TRY(declaration, expression) \
  SLURMTUNE_TRY_AS(SLURMTUNE_CONCAT(slurmtune_try_, __LINE__), declaration, expression)
#define SLURMTUNE_TRY_AS(name, declaration, expression)                          \
  auto name = (expression);                                                      \
  if (!name) return tl::unexpected<::slurmtune::Error>(std::move(name).error()); \
  declaration = *std::move(name)

/// Returns the error of an Expected<void> (or of any Expected whose value is not needed).
#define SLURMTUNE_CHECK(expression)                                                    \
  do {                                                                                 \
    if (auto slurmtune_checked = (expression); !slurmtune_checked)                     \
      return tl::unexpected<::slurmtune::Error>(std::move(slurmtune_checked).error()); \
  } while (false)

/// States what must hold if our own code is right; checked in every build.
#define SLURMTUNE_ASSERT(condition) \
  ((condition) ? void() : ::slurmtune::assertion_failed(#condition, __FILE__, __LINE__))
// NOLINTEND(cppcoreguidelines-macro-usage,bugprone-macro-parentheses)
