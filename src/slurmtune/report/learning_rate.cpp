// SPDX-License-Identifier: MIT
#include "slurmtune/report/learning_rate.hpp"

#include <cmath>
#include <optional>

#include <fmt/format.h>

namespace slurmtune {

namespace {

std::optional<std::int64_t> integer_in(const Values& values, std::string_view name) {
  const auto found = values.find(std::string(name));
  if (found == values.end() || !std::holds_alternative<std::int64_t>(found->second)) {
    return std::nullopt;
  }
  return std::get<std::int64_t>(found->second);
}

std::optional<std::int64_t> global_batch(const StudySpec& spec, const Values& values) {
  const auto micro_batch = integer_in(values, micro_batch_parameter);
  const auto accumulation = integer_in(values, accumulation_parameter);
  if (!micro_batch || !accumulation) return std::nullopt;
  return *micro_batch * *accumulation * spec.data_parallel();
}

}  // namespace

std::string learning_rate_note(const StudySpec& spec, const TuningResult& result) {
  if (!spec.deepspeed || !result.best || !result.baseline) return "";
  const auto ours = global_batch(spec, result.best->values);
  const auto theirs = global_batch(spec, result.baseline->values);
  if (!ours || !theirs || *ours == *theirs) return "";
  const double factor = static_cast<double>(*ours) / static_cast<double>(*theirs);
  return fmt::format(
      "the global batch is {}, {:.4g} times the baseline's {}: scale the learning rate by {:.4g} "
      "with SGD (Goyal et al. 2017), by {:.4g} with Adam and its kin (Malladi et al. 2022), or "
      "give "
      "train_batch_size to keep it",
      *ours, factor, *theirs, factor, std::sqrt(factor));
}

}  // namespace slurmtune
