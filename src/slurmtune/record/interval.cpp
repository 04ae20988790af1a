// SPDX-License-Identifier: MIT
#include "slurmtune/record/interval.hpp"

#include <nlohmann/json.hpp>

#include "slurmtune/record/json_fields.hpp"

namespace slurmtune {

Json to_json(const Interval& interval) {
  return {{"low", interval.low}, {"mid", interval.mid}, {"high", interval.high}};
}

Expected<Interval> interval_from_json(const Json& json, std::string_view where) {
  Interval interval;
  JsonFields fields(json, where);
  fields.required("low", interval.low);
  fields.required("mid", interval.mid);
  fields.required("high", interval.high);
  return fields.into(interval);
}

}  // namespace slurmtune
