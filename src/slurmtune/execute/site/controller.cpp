// SPDX-License-Identifier: MIT
#include "slurmtune/execute/site/controller.hpp"

#include <algorithm>
#include <numeric>

namespace slurmtune {

namespace {

template <class Named>
const Named* find_named(const std::vector<Named>& all, std::string_view name) {
  const auto found = std::ranges::find(all, name, &Named::name);
  return found == all.end() ? nullptr : &*found;
}

using Limit = std::optional<std::int64_t>;

void fill(UserLimits& limits, const UserLimits& next) {
  const auto take = [](Limit& limit, const Limit& other) {
    if (!limit) limit = other;
  };
  take(limits.walltime_max_s, next.walltime_max_s);
  take(limits.nodes_max, next.nodes_max);
  take(limits.nodes_min, next.nodes_min);
  take(limits.running_jobs_max, next.running_jobs_max);
  take(limits.submit_jobs_max, next.submit_jobs_max);
}

Limit least(const Limit& a, const Limit& b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

/// The association that a job would be charged to; nullptr if there is none, or several.
const Association* association_of(const Controller& controller, const JobPlace& place) {
  const Association* found = nullptr;
  for (const Association& association : controller.associations) {
    if (!place.account.empty() && association.account != place.account) continue;
    if (!association.partition.empty() && association.partition != place.partition) continue;
    if (found != nullptr && found->account != association.account) return nullptr;
    // The one of a partition comes before that of all.
    if (found == nullptr || found->partition.empty()) found = &association;
  }
  return found;
}

}  // namespace

int NodeKind::all_gpus() const {
  return std::accumulate(gpus.begin(), gpus.end(), 0,
                         [](int sum, const auto& type) { return sum + type.second; });
}

const ControllerPartition* Controller::default_partition() const {
  const auto found = std::ranges::find(partitions, true, &ControllerPartition::is_default);
  return found == partitions.end() ? nullptr : &*found;
}

const ControllerPartition* Controller::find_partition(std::string_view name) const {
  return name.empty() ? default_partition() : find_named(partitions, name);
}

const ControllerQos* Controller::find_qos(std::string_view name) const {
  return find_named(qos, name);
}

UserLimits limits_at(const Controller& controller, const JobPlace& place) {
  const ControllerPartition* partition = controller.find_partition(place.partition);
  const Association* association = association_of(controller, place);
  std::string qos = place.qos;
  if (qos.empty() && association != nullptr) qos = association->default_qos;
  const ControllerQos* own = controller.find_qos(qos);
  const ControllerQos* of_partition =
      partition != nullptr ? controller.find_qos(partition->qos) : nullptr;
  UserLimits limits;
  if (own != nullptr && own->over_partition) fill(limits, own->limits);
  if (of_partition != nullptr) fill(limits, of_partition->limits);
  if (own != nullptr) fill(limits, own->limits);
  if (association != nullptr) fill(limits, association->limits);
  if (partition == nullptr) return limits;
  const bool past = own != nullptr && own->past_partition_time && own->limits.walltime_max_s;
  if (!past) limits.walltime_max_s = least(limits.walltime_max_s, partition->walltime_max_s);
  limits.nodes_max = least(limits.nodes_max, partition->nodes_max);
  if (partition->nodes_min > limits.nodes_min.value_or(0)) limits.nodes_min = partition->nodes_min;
  return limits;
}

}  // namespace slurmtune
