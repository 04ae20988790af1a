// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include "slurmtune/study/decide.hpp"

#include "tests/support/catch.hpp"

namespace slurmtune {

inline const Instant noon = parse_instant("2026-11-30T12:00:00Z").value();

/// What a role does next at noon. Fails the test where `decide` refuses.
inline std::optional<Action> next(const StudyView& view, Role role, std::size_t stage = 0) {
  const auto action = decide(view, {role, stage}, noon);
  INFO((action ? "" : action.error().message));
  REQUIRE(action);
  return *action;
}

}  // namespace slurmtune
