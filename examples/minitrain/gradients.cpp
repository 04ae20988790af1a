// SPDX-License-Identifier: MIT
#include "gradients.hpp"

#include "collectives.hpp"

namespace minitrain {
namespace {

/// Sums a bucket over the ranks, in place. Returns where this rank's own section then lies.
float* sum_bucket(Device& device, const Bucket& bucket, bool reduce_scatter, const Ranks& ranks,
                  float* buffer) {
  const std::span<float> values{buffer, bucket.section * ranks.size()};
  if (reduce_scatter) {
    sum_own_section(device, ranks, values);
    return buffer;
  }
  sum_over_ranks(device, ranks, values);
  return buffer + ranks.index() * bucket.section;
}

/// Copies one piece of every rank's shard from a unit's gradients to its place in the buffer.
void copy_piece(Device& device, const ShardLayout& layout, const Bucket& bucket,
                const BucketPiece& piece, const float* unit_gradients, float* buffer) {
  const std::size_t shard = layout.units()[piece.unit].shard_elements;
  for (std::size_t rank = 0; rank < layout.ranks(); ++rank) {
    device.copy({unit_gradients + rank * shard + piece.first, piece.count},
                buffer + rank * bucket.section + piece.at);
  }
}

}  // namespace

WholeGradients::WholeGradients(const ShardLayout& layout, const ZeroConfig& zero,
                               const Ranks& ranks, DeviceMemory& memory)
    : layout_{layout},
      zero_{zero},
      ranks_{ranks},
      memory_{memory},
      buckets_{plan_buckets(layout, zero.reduce_bucket_size, UnitOrder::backward)},
      gradients_{memory, layout.padded_elements(), Fill::zero} {}

float* WholeGradients::begin(std::size_t unit) {
  return gradients_.data() + layout_.units()[unit].offset;
}

void WholeGradients::end(std::size_t /*unit*/) {}

void WholeGradients::finish_step() {
  if (ranks_.count == 1) return;
  Tensor buffer(memory_, buffer_elements(layout_, buckets_));
  for (const Bucket& bucket : buckets_) {
    for (const BucketPiece& piece : bucket.pieces) {
      copy_piece(memory_.device(), layout_, bucket, piece, begin(piece.unit), buffer.data());
    }
    const bool reduce_scatter = zero_.stage > 0 && zero_.reduce_scatter;
    const float* own = sum_bucket(memory_.device(), bucket, reduce_scatter, ranks_, buffer.data());
    if (zero_.stage > 0) {
      store_average(bucket, own, ranks_.index());
      continue;
    }
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      store_average(bucket, buffer.data() + rank * bucket.section, rank);
    }
  }
}

void WholeGradients::store_average(const Bucket& bucket, const float* sums, std::size_t rank) {
  for (const BucketPiece& piece : bucket.pieces) {
    float* shard = begin(piece.unit) + rank * layout_.units()[piece.unit].shard_elements;
    const std::span<float> target{shard + piece.first, piece.count};
    memory_.device().copy({sums + piece.at, piece.count}, target.data());
    memory_.device().scale(1.0F / static_cast<float>(ranks_.count), target);
  }
}

std::span<const float> WholeGradients::owned(std::size_t unit) const {
  const Unit& place = layout_.units()[unit];
  const float* gradients = gradients_.data() + place.offset;
  if (zero_.stage == 0) return {gradients, place.padded_elements};
  return {gradients + ranks_.index() * place.shard_elements, place.shard_elements};
}

void WholeGradients::clear() { gradients_.zero(); }

PartitionedGradients::PartitionedGradients(const ShardLayout& layout, const ZeroConfig& zero,
                                           const Ranks& ranks, DeviceMemory& memory)
    : layout_{layout},
      zero_{zero},
      ranks_{ranks},
      memory_{memory},
      buckets_{plan_buckets(layout, zero.reduce_bucket_size, UnitOrder::backward)},
      buffer_{memory, buffer_elements(layout, buckets_)},
      shards_{memory, layout.shard_elements(), Fill::zero} {}

float* PartitionedGradients::begin(std::size_t unit) {
  unit_gradients_ = Tensor(memory_, layout_.units()[unit].padded_elements, Fill::zero);
  return unit_gradients_.data();
}

void PartitionedGradients::end(std::size_t unit) {
  // Units end in the order of the buckets: the unit's pieces are the next ones.
  for (bool pending = true; pending;) {
    const Bucket& bucket = buckets_[open_bucket_];
    const BucketPiece& piece = bucket.pieces[open_piece_];
    copy_piece(memory_.device(), layout_, bucket, piece, unit_gradients_.data(), buffer_.data());
    pending = piece.first + piece.count < layout_.units()[unit].shard_elements;
    if (++open_piece_ == bucket.pieces.size()) {
      reduce(bucket);
      open_piece_ = 0;
      open_bucket_ = (open_bucket_ + 1) % buckets_.size();
    }
  }
  unit_gradients_.reset();
}

void PartitionedGradients::reduce(const Bucket& bucket) {
  Device& device = memory_.device();
  float* sums = sum_bucket(device, bucket, zero_.reduce_scatter, ranks_, buffer_.data());
  const std::span<float> section{sums, bucket.section};
  device.scale(1.0F / static_cast<float>(ranks_.count), section);
  for (const BucketPiece& piece : bucket.pieces) {
    float* shard = shards_.data() + layout_.units()[piece.unit].shard_offset + piece.first;
    device.add(section.subspan(piece.at, piece.count), {shard, piece.count});
  }
}

std::span<const float> PartitionedGradients::owned(std::size_t unit) const {
  const Unit& place = layout_.units()[unit];
  return {shards_.data() + place.shard_offset, place.shard_elements};
}

void PartitionedGradients::clear() { shards_.zero(); }

std::unique_ptr<GradientStore> make_gradient_store(const ShardLayout& layout,
                                                   const ZeroConfig& zero, const Ranks& ranks,
                                                   DeviceMemory& memory) {
  if (zero.stage >= 2) {
    return std::make_unique<PartitionedGradients>(layout, zero, ranks, memory);
  }
  return std::make_unique<WholeGradients>(layout, zero, ranks, memory);
}

}  // namespace minitrain
