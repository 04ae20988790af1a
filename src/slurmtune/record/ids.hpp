// SPDX-License-Identifier: MIT
#pragma once

#include <compare>
#include <string>

namespace slurmtune {

/// A string that names one kind of thing; two kinds cannot be mixed up.
template <class Kind>
struct Id {
  std::string text;

  // clang-tidy 14 takes the 0 of the comparison that the compiler writes for a null pointer.
  auto operator<=>(const Id&) const = default;  // NOLINT(modernize-use-nullptr)
  [[nodiscard]] bool empty() const { return text.empty(); }
};

using StudyId = Id<struct StudyIdKind>;                  ///< a UUID, lower case
using ConfigurationId = Id<struct ConfigurationIdKind>;  ///< 20 hexadecimal digits
using ExperimentId = Id<struct ExperimentIdKind>;        ///< `<configuration>-s<steps>-r<repeat>`
using StageName = Id<struct StageNameKind>;              ///< `<nn>-<kind>`, e.g. `03-frontier`

}  // namespace slurmtune
