// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "slurmtune/base/error.hpp"
#include "slurmtune/model/memory/estimate.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): the name is CLI11's
class App;
}

namespace slurmtune {

/// What the command line of `slurmtune estimate` says.
struct EstimateArguments {
  std::string study;  ///< study.toml or a study's directory; "" = none
  std::string model;  ///< config.json, its directory, or a model in Hugging Face's cache
  ModelSpec shape;
  std::string gpu_memory;
  std::string host_memory;
  std::optional<std::int64_t> nodes;
  std::optional<std::int64_t> processes_per_node;
  std::optional<std::int64_t> tensor;
  std::optional<std::int64_t> pipeline;
  std::optional<std::int64_t> sequence_parallel;
  std::string precision;
  std::string gradients;
  std::string optimizer;
  std::string checkpointing;
  std::string attention;
  std::string offload_optimizer;
  std::string offload_param;
  std::string framework;
  bool foreach_step = false;
  bool no_sync = false;
  bool tensor_sequence = false;
  std::optional<std::int64_t> micro_batch;
  std::optional<std::int64_t> accumulation;
  bool json = false;

  void add_to(CLI::App& command);
  /// Puts what was given over `request` and `model`. Errors: invalid_input, naming the option.
  [[nodiscard]] Expected<void> apply(EstimateRequest& request, ModelSpec& model) const;
};

}  // namespace slurmtune
