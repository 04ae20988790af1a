// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "slurmtune/input/launch_line.hpp"

namespace slurmtune {

/// What a known trainer needs besides, so that a trial is long enough and writes nothing that
/// stays.
struct TrialExtras {
  std::vector<std::string> arguments;  ///< with placeholders
  std::string why;                     ///< one line
};

/// Of scripts over Hugging Face's Trainer and of Megatron's; empty for others. Only flags that
/// every version of the trainer has, or that the line itself has.
[[nodiscard]] TrialExtras trial_extras(const LaunchLine& line);

/// DeepSpeed key -> flag, for Megatron's scripts: both sides must say the same batch.
/// Errors: invalid_input if one has no value.
[[nodiscard]] Expected<std::map<std::string, std::string>> known_mappings(const LaunchLine& line);

/// Key of [parallel], flag and value, of Megatron's flags, also where it is 1.
struct GivenDegree {
  std::string key;
  std::string flag;
  std::string value;
};
/// Errors: invalid_input if one is no number from 1, or two names of one contradict each other.
[[nodiscard]] Expected<std::vector<GivenDegree>> known_degrees(const LaunchLine& line);

/// The last value of a script's flag, `--flag value` or `--flag=value`; "" = not there.
[[nodiscard]] std::string argument_value(const std::vector<std::string>& arguments,
                                         std::string_view flag);

}  // namespace slurmtune
