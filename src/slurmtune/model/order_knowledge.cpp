// SPDX-License-Identifier: MIT
#include "slurmtune/model/order_knowledge.hpp"

#include <algorithm>

namespace slurmtune {

namespace {

/// Whether a role's degree is a factor of the number of GPUs.
bool divides_gpus(const RoledParameter& parameter) {
  switch (parameter.role) {
    case LayoutRole::data_parallel:
    case LayoutRole::tensor_parallel:
    case LayoutRole::pipeline_parallel: return true;
    case LayoutRole::sequence_parallel: return !parameter.is_flag;
    default: return false;
  }
}

bool has_role(std::span<const RoledParameter> parameters, LayoutRole role) {
  return std::ranges::find(parameters, role, &RoledParameter::role) != parameters.end();
}

/// Whether each coordinate of `one` is at most that of `other`.
bool is_within(std::span<const double> one, std::span<const double> other) {
  for (std::size_t i = 0; i < one.size(); ++i) {
    if (one[i] > other[i]) return false;
  }
  return true;
}

}  // namespace

MemorySign memory_sign(LayoutRole role) {
  switch (role) {
    case LayoutRole::micro_batch:
    case LayoutRole::local_batch:
    case LayoutRole::sequence_length:
    case LayoutRole::bucket_size: return MemorySign::more;
    case LayoutRole::zero_stage:
    case LayoutRole::data_parallel:
    case LayoutRole::tensor_parallel:
    case LayoutRole::pipeline_parallel:
    case LayoutRole::sequence_parallel:
    case LayoutRole::expert_parallel:
    case LayoutRole::activation_checkpointing:
    case LayoutRole::offload:
    case LayoutRole::nodes:
    case LayoutRole::gpus: return MemorySign::less;
    case LayoutRole::gradient_accumulation:
    case LayoutRole::global_batch: return MemorySign::no_matter;
    // Chunks cost memory, but how much depends on the stages.
    case LayoutRole::virtual_pipeline:
    case LayoutRole::none: break;
  }
  return MemorySign::unknown;
}

MemoryComparison compare(const MemoryDemand& one, const MemoryDemand& other) {
  if (one.group != other.group) return MemoryComparison::unrelated;
  const bool less = is_within(one.demand, other.demand);
  const bool more = is_within(other.demand, one.demand);
  if (less && more) return MemoryComparison::equal;
  if (less) return MemoryComparison::less;
  return more ? MemoryComparison::more : MemoryComparison::unrelated;
}

MemoryOrder::MemoryOrder(std::span<const LevelParameter> parameters, RoleSource source)
    : parameters_(roled_parameters(parameters, source)) {
  known_ = std::ranges::any_of(parameters_, [](const RoledParameter& parameter) {
    const MemorySign sign = memory_sign(parameter.role);
    return sign == MemorySign::more || sign == MemorySign::less;
  });
  // Where nodes or GPUs vary by themselves they are coordinates of their own.
  trades_ranks_ = has_role(parameters_, LayoutRole::data_parallel);
}

double MemoryOrder::gpus_of(std::span<const std::int32_t> levels) const {
  double stage = 0.0;
  double product = 1.0;
  double pipeline = 1.0;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const auto level = levels[i];
    if (level < 0) continue;
    const auto quantity = parameters_[i].quantities[static_cast<std::size_t>(level)];
    if (parameters_[i].role == LayoutRole::zero_stage) stage = quantity.value_or(3.0);
    if (!quantity || !divides_gpus(parameters_[i])) continue;
    const bool is_pipeline = parameters_[i].role == LayoutRole::pipeline_parallel;
    (is_pipeline ? pipeline : product) *= std::max(1.0, *quantity);
  }
  return stage >= 3.0 ? product : product * pipeline;
}

MemoryDemand MemoryOrder::of(std::span<const std::int32_t> levels) const {
  MemoryDemand point;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const RoledParameter& parameter = parameters_[i];
    const std::int32_t level = levels[i];
    const MemorySign sign = memory_sign(parameter.role);
    if (sign == MemorySign::no_matter) continue;
    const auto quantity = level < 0 || sign == MemorySign::unknown
                              ? std::nullopt
                              : parameter.quantities[static_cast<std::size_t>(level)];
    // A group tells absent levels and those without a quantity from those that are compared.
    point.group.push_back(quantity ? -2 : level);
    double demand = 0.0;
    if (quantity) {
      const bool is_product = trades_ranks_ && parameter.role == LayoutRole::data_parallel;
      const double amount = is_product ? gpus_of(levels) : *quantity;
      demand = sign == MemorySign::more ? amount : -amount;
    }
    point.demand.push_back(demand);
  }
  return point;
}

void OrderKnowledge::Group::add_smallest(const Demand& failed) {
  for (const Demand& smaller : fails) {
    if (is_within(smaller, failed)) return;
  }
  std::erase_if(fails, [&](const Demand& larger) { return is_within(failed, larger); });
  fails.push_back(failed);
}

void OrderKnowledge::add(const MemoryDemand& point, Settled outcome) {
  if (outcome == Settled::open) return;
  Group& group = groups_[point.group];
  const auto is_above = [&](const Demand& fitted) { return is_within(point.demand, fitted); };
  const auto is_below = [&](const Demand& other) { return is_within(other, point.demand); };
  const bool fitted_above = std::ranges::any_of(group.fits, is_above);
  if (outcome == Settled::does_not_fit) {
    if (fitted_above) {
      ++refuted_;
      return;
    }
    group.failures.push_back(point.demand);
    group.add_smallest(point.demand);
    return;
  }
  if (fitted_above) return;
  std::erase_if(group.fits, is_below);
  group.fits.push_back(point.demand);
  const auto refuted = std::erase_if(group.failures, is_below);
  if (refuted == 0) return;
  refuted_ += refuted;
  // Those that the refuted ones stood for are smallest now.
  group.fails.clear();
  for (const Demand& failed : group.failures) group.add_smallest(failed);
}

Settled OrderKnowledge::of(const MemoryDemand& point) const {
  const auto found = groups_.find(point.group);
  if (found == groups_.end()) return Settled::open;
  for (const auto& fitted : found->second.fits) {
    if (is_within(point.demand, fitted)) return Settled::fits;
  }
  for (const auto& failed : found->second.fails) {
    if (is_within(failed, point.demand)) return Settled::does_not_fit;
  }
  return Settled::open;
}

std::vector<double> settling_scores(std::span<const SettlingPoint> candidates,
                                    std::span<const SettlingPoint> others) {
  std::map<std::vector<std::int32_t>, std::vector<const SettlingPoint*>> groups;
  for (const SettlingPoint& other : others) groups[other.demand.group].push_back(&other);
  std::vector<double> scores;
  scores.reserve(candidates.size());
  for (const SettlingPoint& candidate : candidates) {
    double score = 0.0;
    const auto group = groups.find(candidate.demand.group);
    if (group != groups.end()) {
      for (const SettlingPoint* other : group->second) {
        const auto& demand = other->demand.demand;
        if (is_within(demand, candidate.demand.demand)) score += candidate.fits * other->weight;
        if (is_within(candidate.demand.demand, demand)) {
          score += (1.0 - candidate.fits) * other->weight;
        }
      }
    }
    scores.push_back(score);
  }
  return scores;
}

}  // namespace slurmtune
