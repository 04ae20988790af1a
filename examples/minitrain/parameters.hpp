// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "layout.hpp"
#include "memory.hpp"
#include "model.hpp"
#include "ranks.hpp"
#include "zero_config.hpp"

namespace minitrain {

/// Value of element `index` of unit `unit`, before training.
using InitialValue = std::function<float(std::size_t unit, std::size_t index)>;

/// Holds the parameters: lends them to the model, and lets the optimizer change this rank's own.
class ParameterStore : public ParameterSource {
 public:
  /// The elements of a unit that this rank's optimizer updates.
  [[nodiscard]] virtual std::span<float> owned(std::size_t unit) = 0;
  /// Makes what every rank has updated visible to all. Collective.
  virtual void publish() = 0;
};

/// ZeRO 0, 1, 2: every rank has all parameters. From stage 1 on it updates only its own shards,
/// and `publish` gathers the others', `allgather_bucket_size` elements at a time.
class ReplicatedParameters final : public ParameterStore {
 public:
  ReplicatedParameters(const ShardLayout& layout, const ZeroConfig& zero, const Ranks& ranks,
                       DeviceMemory& memory, const InitialValue& initial);

  [[nodiscard]] const float* acquire(std::size_t unit) override;
  void release(std::size_t unit) override;
  [[nodiscard]] std::span<float> owned(std::size_t unit) override;
  void publish() override;

 private:
  const ShardLayout& layout_;
  Ranks ranks_;
  DeviceMemory& memory_;
  bool partitioned_;
  std::vector<Bucket> buckets_;
  Tensor parameters_;
};

/// ZeRO 3: every rank keeps its shards; a unit is gathered while the model computes with it.
class PartitionedParameters final : public ParameterStore {
 public:
  PartitionedParameters(const ShardLayout& layout, const ZeroConfig& zero, const Ranks& ranks,
                        DeviceMemory& memory, const InitialValue& initial);

  [[nodiscard]] const float* acquire(std::size_t unit) override;
  void release(std::size_t unit) override;
  [[nodiscard]] std::span<float> owned(std::size_t unit) override;
  void publish() override {}  // gathered anew at every use

 private:
  const ShardLayout& layout_;
  Ranks ranks_;
  DeviceMemory& memory_;
  std::size_t section_max_;  ///< elements of a shard that one all-gather takes
  Tensor shards_;
  std::vector<Tensor> gathered_;
};

[[nodiscard]] std::unique_ptr<ParameterStore> make_parameter_store(const ShardLayout& layout,
                                                                   const ZeroConfig& zero,
                                                                   const Ranks& ranks,
                                                                   DeviceMemory& memory,
                                                                   const InitialValue& initial);

}  // namespace minitrain
