// SPDX-License-Identifier: MIT
#include "slurmtune/model/memory/deepspeed_estimators.hpp"

#include <algorithm>

namespace slurmtune {

namespace {

// Of each parameter: in 16 bits; loaded in 32 bits by a process; masters, moments and 32-bit
// gradients on the host; all states.
constexpr double half = 2.0;
constexpr double loaded = 4.0;
constexpr double on_host = 16.0;
constexpr double all_states = 18.0;

std::int64_t whole(double bytes) { return static_cast<std::int64_t>(bytes); }

}  // namespace

EstimatedNeeds estimate_zero2_model_states_mem_needs(const EstimatorQuestion& asked) {
  const auto gpus = static_cast<double>(asked.nodes * asked.gpus_per_node);
  const double params = asked.total_params;
  if (asked.offload_optimizer) {
    const double host = params * std::max(loaded * gpus, on_host);
    return {whole(host * asked.additional_buffer_factor), whole(half * params)};
  }
  const double host = params * loaded * static_cast<double>(asked.gpus_per_node);
  const bool documented = asked.edition == EstimatorEdition::documented;
  const double own = documented ? loaded : half;
  const double shared = documented ? on_host : all_states;
  return {whole(host * asked.additional_buffer_factor),
          whole(own * params) + whole(shared * params / gpus)};
}

EstimatedNeeds estimate_zero3_model_states_mem_needs(const EstimatorQuestion& asked) {
  const auto gpus = static_cast<double>(asked.nodes * asked.gpus_per_node);
  const auto per_node = static_cast<double>(asked.gpus_per_node);
  const double params = asked.total_params;
  const double share_of_node = 1.0 / static_cast<double>(asked.nodes);
  double gpu = loaded * asked.largest_layer_params;
  double host = 0.0;
  if (asked.offload_optimizer) {
    const double each = asked.offload_param ? all_states : on_host;
    if (!asked.offload_param) gpu += static_cast<double>(whole(half * params / gpus));
    host = asked.zero_init ? params * each * share_of_node
                           : params * std::max(loaded * per_node, each * share_of_node);
  } else {
    gpu += static_cast<double>(whole(all_states * params / gpus));
    host = (asked.zero_init ? asked.largest_layer_params : params) * loaded * per_node;
  }
  return {whole(host * asked.additional_buffer_factor), whole(gpu)};
}

}  // namespace slurmtune
