// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "slurmtune/input/study_input.hpp"

namespace slurmtune {

inline const std::string generic_study = R"(format = 1
name   = "example"
[trial]
command = ["./solver", "--block", "{p:block}"]
[[parameter]]
name   = "block"
type   = "int"
values = [1, 2, 4]
)";

/// A DeepSpeed study of 2 x 4 ranks; `rest` follows the section [deepspeed].
inline std::string deepspeed_study(std::string_view rest = "",
                                   std::string_view command = R"("train.py", "{ds_config}")") {
  return R"(format = 1
name   = "example"
[trial]
nodes              = 2
processes_per_node = 4
command            = [)" +
         std::string(command) + R"(]
[deepspeed]
config = "ds_config.json"
)" + std::string(rest);
}

inline Expected<StudyInput> read_texts(std::string study,
                                       std::optional<std::string> ds_config = std::nullopt,
                                       std::string site = "name = \"generic\"\n") {
  StudySources sources;
  sources.study = {"study.toml", std::move(study)};
  sources.site = {"generic.toml", std::move(site)};
  if (ds_config) sources.ds_config = SourceText{"ds_config.json", *std::move(ds_config)};
  return read_study(sources);
}

/// The message of an error, or "accepted".
inline std::string message_of(const Expected<StudyInput>& input) {
  return input ? "accepted" : input.error().message;
}

}  // namespace slurmtune
