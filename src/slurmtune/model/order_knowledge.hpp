// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "slurmtune/model/layout/roles.hpp"
#include "slurmtune/space/valid_set.hpp"

namespace slurmtune {

/// What more of a role does to the memory that a training needs.
enum class MemorySign { unknown, more, less, no_matter };

[[nodiscard]] MemorySign memory_sign(LayoutRole role);

/// How much memory a point asks for, as far as roles say: points of one `group` are compared
/// coordinate by coordinate, more being more.
struct MemoryDemand {
  std::vector<std::int32_t> group;  ///< levels of what has no sign
  std::vector<double> demand;

  bool operator==(const MemoryDemand&) const = default;
};

enum class MemoryComparison { equal, less, more, unrelated };

[[nodiscard]] MemoryComparison compare(const MemoryDemand& one, const MemoryDemand& other);

/// The partial order of memory over a space's points. More micro_batch, sequence_length and
/// bucket_size never need less of it; more zero_stage, tensor_, pipeline_, sequence_ and
/// expert_parallel, activation_checkpointing (none < selective < full), offload, nodes and gpus
/// never more. Accumulation and the global batch do not count. More ranks of data parallelism share
/// the states of ZeRO; but where a space trades them for ranks of tensors, sequence or pipeline,
/// these divide all that data parallelism does, and more: so what counts is the product, the GPUs
/// of a trial. The exception is stage 3, where a pipeline's ends, uneven by the embeddings, may ask
/// for more than an even share: there the product leaves the pipeline out. Everything else, and
/// levels whose words are not known, must be equal in two points that are compared.
/// Sources: Rajbhandari et al., "ZeRO", SC20, table 1; Korthikanti et al., arXiv:2205.05198,
/// table 2; Narayanan et al., SC21, section 2.2 (1F1B holds one model's activations at most).
class MemoryOrder {
 public:
  explicit MemoryOrder(std::span<const LevelParameter> parameters,
                       RoleSource source = RoleSource::given);

  /// Whether any parameter has a sign.
  [[nodiscard]] bool is_known() const { return known_; }
  /// `levels`: one for each parameter, -1 = absent.
  [[nodiscard]] MemoryDemand of(std::span<const std::int32_t> levels) const;

 private:
  [[nodiscard]] double gpus_of(std::span<const std::int32_t> levels) const;

  std::vector<RoledParameter> parameters_;
  bool known_ = false;
  bool trades_ranks_ = false;  ///< data_parallel counts as the product
};

/// What trials settle of a point without a trial of its own.
enum class Settled { open, fits, does_not_fit };

/// Outcomes of memory, and what follows from them: what asks for no more than one that fitted fits;
/// what asks for more than one that did not does not, nor does what asks for the same, unless one
/// that asks for the same, or more, fitted: then the failure had another cause (equal-looking
/// points differ in what was not recorded) and settles nothing. The order in which outcomes come
/// does not matter. A query looks at the largest demands that fitted and the smallest that did not,
/// of the point's group.
class OrderKnowledge {
 public:
  /// Of a GPU's memory only: a trial that filled its node's memory did so by offloading, which is
  /// the other way round.
  void add(const MemoryDemand& point, Settled outcome);

  [[nodiscard]] Settled of(const MemoryDemand& point) const;
  /// Failures that something which asks for as much or more refutes.
  [[nodiscard]] std::size_t refuted() const { return refuted_; }

 private:
  using Demand = std::vector<double>;
  struct Group {
    std::vector<Demand> fits;      ///< largest demands that fitted
    std::vector<Demand> failures;  ///< all that did not, and were not refuted
    std::vector<Demand> fails;     ///< the smallest of these

    void add_smallest(const Demand& failed);
  };
  std::map<std::vector<std::int32_t>, Group> groups_;
  std::size_t refuted_ = 0;
};

/// A candidate for the next trial, or one that its outcome may settle.
struct SettlingPoint {
  MemoryDemand demand;
  double fits = 0.5;    ///< probability
  double weight = 1.0;  ///< what it is worth to have it settled
};

/// For each candidate, the expected weight of `others` that its outcome settles: fits * (others
/// that ask for no more) + (1 - fits) * (others that ask for no less). Points that are settled
/// already should not be among `others`; a candidate may be, which adds its own weight. Costs
/// |candidates| * |others| comparisons: for thousands of points give a sample.
[[nodiscard]] std::vector<double> settling_scores(std::span<const SettlingPoint> candidates,
                                                  std::span<const SettlingPoint> others);

}  // namespace slurmtune
