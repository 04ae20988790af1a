// SPDX-License-Identifier: MIT
#pragma once

#include <compare>
#include <string>

namespace slurmtune {

/// A string that names one kind of thing; two kinds cannot be mixed up.
template <class Kind>
struct Id {
  std::string text;

  auto operator<=>(const Id&) const = default;
  [[nodiscard]] bool empty() const { return text.empty(); }
};

using StudyId = Id<struct StudyIdKind>;                  ///< a UUID, lower case
using ConfigurationId = Id<struct ConfigurationIdKind>;  ///< 20 hexadecimal digits
using ExperimentId = Id<struct ExperimentIdKind>;        ///< `<configuration>-s<steps>-r<repeat>`
using StageName = Id<struct StageNameKind>;              ///< `<nn>-<kind>`, e.g. `03-frontier`

}  // namespace slurmtune
