// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "slurmtune/record/json.hpp"

namespace slurmtune {

/// An estimate with its two-sided 95 % confidence interval; low <= mid <= high, one unit for all.
struct Interval {
  double low = 0.0;
  double mid = 0.0;
  double high = 0.0;

  bool operator==(const Interval&) const = default;
};

[[nodiscard]] Json to_json(const Interval& interval);
[[nodiscard]] Expected<Interval> interval_from_json(const Json& json, std::string_view where);

}  // namespace slurmtune
