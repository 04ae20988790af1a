// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "layout.hpp"
#include "memory.hpp"
#include "model.hpp"
#include "ranks.hpp"
#include "zero_config.hpp"

namespace minitrain {

/// Collects the gradients of one optimizer step and averages them over the ranks.
class GradientStore : public GradientSink {
 public:
  /// After the last micro-batch: all of `owned` holds the average over the ranks. Collective.
  virtual void finish_step() = 0;
  /// The averaged gradients of the elements that this rank's optimizer updates.
  [[nodiscard]] virtual std::span<const float> owned(std::size_t unit) const = 0;
  /// Forgets them: the next micro-batch begins a new sum.
  virtual void clear() = 0;
};

/// ZeRO 0 and 1: every rank sums whole gradients over the micro-batches, and communicates once a
/// step. Stage 0 needs all averages (all-reduce), stage 1 its own shards (reduce-scatter).
/// The bucket buffer exists only while it communicates.
class WholeGradients final : public GradientStore {
 public:
  WholeGradients(const ShardLayout& layout, const ZeroConfig& zero, const Ranks& ranks,
                 DeviceMemory& memory);

  [[nodiscard]] float* begin(std::size_t unit) override;
  void end(std::size_t unit) override;
  void finish_step() override;
  [[nodiscard]] std::span<const float> owned(std::size_t unit) const override;
  void clear() override;

 private:
  void store_average(const Bucket& bucket, const float* sums, std::size_t rank);

  const ShardLayout& layout_;
  ZeroConfig zero_;
  Ranks ranks_;
  DeviceMemory& memory_;
  std::vector<Bucket> buckets_;
  Tensor gradients_;
};

/// ZeRO 2 and 3: a unit's gradients live until they are copied into the bucket; a full bucket is
/// reduced at once, in every micro-batch, and each rank keeps the sums of its own shards.
/// The bucket buffer exists during the whole step, and so counts against the activations.
class PartitionedGradients final : public GradientStore {
 public:
  PartitionedGradients(const ShardLayout& layout, const ZeroConfig& zero, const Ranks& ranks,
                       DeviceMemory& memory);

  [[nodiscard]] float* begin(std::size_t unit) override;
  void end(std::size_t unit) override;
  void finish_step() override {}  // averaged as it went
  [[nodiscard]] std::span<const float> owned(std::size_t unit) const override;
  void clear() override;

 private:
  void reduce(const Bucket& bucket);

  const ShardLayout& layout_;
  ZeroConfig zero_;
  Ranks ranks_;
  DeviceMemory& memory_;
  std::vector<Bucket> buckets_;
  std::size_t open_bucket_ = 0;  ///< the bucket that is being filled
  std::size_t open_piece_ = 0;   ///< its first piece that is still missing
  Tensor buffer_;
  Tensor unit_gradients_;
  Tensor shards_;
};

[[nodiscard]] std::unique_ptr<GradientStore> make_gradient_store(const ShardLayout& layout,
                                                                 const ZeroConfig& zero,
                                                                 const Ranks& ranks,
                                                                 DeviceMemory& memory);

}  // namespace minitrain
