// SPDX-License-Identifier: MIT
#include "parameters.hpp"

#include <algorithm>

#include "collectives.hpp"

namespace minitrain {
namespace {

/// Sets `values` to those of `unit` from its element `first` on; beyond its elements they stay.
void set_initial(Device& device, const Unit& place, std::size_t unit, std::size_t first,
                 const InitialValue& initial, std::span<float> values) {
  const std::size_t count =
      std::min(values.size(), place.elements - std::min(place.elements, first));
  std::vector<float> staged(device.memory_is_host() ? 0 : count);
  float* host = device.memory_is_host() ? values.data() : staged.data();
  for (std::size_t i = 0; i < count; ++i) host[i] = initial(unit, first + i);
  if (!device.memory_is_host()) device.upload(staged, values.data());
}

}  // namespace

ReplicatedParameters::ReplicatedParameters(const ShardLayout& layout, const ZeroConfig& zero,
                                           const Ranks& ranks, DeviceMemory& memory,
                                           const InitialValue& initial)
    : layout_{layout},
      ranks_{ranks},
      memory_{memory},
      partitioned_{zero.stage > 0},
      buckets_{plan_buckets(layout, zero.allgather_bucket_size, UnitOrder::forward)},
      parameters_{memory, layout.padded_elements(), Fill::zero} {
  for (std::size_t unit = 0; unit < layout.units().size(); ++unit) {
    const Unit& place = layout.units()[unit];
    set_initial(memory.device(), place, unit, 0, initial,
                {parameters_.data() + place.offset, place.elements});
  }
}

const float* ReplicatedParameters::acquire(std::size_t unit) {
  return parameters_.data() + layout_.units()[unit].offset;
}

void ReplicatedParameters::release(std::size_t /*unit*/) {}

std::span<float> ReplicatedParameters::owned(std::size_t unit) {
  const Unit& place = layout_.units()[unit];
  float* values = parameters_.data() + place.offset;
  if (!partitioned_) return {values, place.padded_elements};
  return {values + ranks_.index() * place.shard_elements, place.shard_elements};
}

void ReplicatedParameters::publish() {
  if (!partitioned_ || ranks_.count == 1) return;
  Device& device = memory_.device();
  Tensor buffer(memory_, buffer_elements(layout_, buckets_));
  for (const Bucket& bucket : buckets_) {
    for (const BucketPiece& piece : bucket.pieces) {
      const float* source = owned(piece.unit).data() + piece.first;
      device.copy({source, piece.count},
                  buffer.data() + ranks_.index() * bucket.section + piece.at);
    }
    gather_sections(device, ranks_, buffer.span().first(bucket.section * ranks_.size()));
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      if (rank == ranks_.index()) continue;
      for (const BucketPiece& piece : bucket.pieces) {
        const Unit& place = layout_.units()[piece.unit];
        device.copy({buffer.data() + rank * bucket.section + piece.at, piece.count},
                    parameters_.data() + place.offset + rank * place.shard_elements + piece.first);
      }
    }
  }
}

PartitionedParameters::PartitionedParameters(const ShardLayout& layout, const ZeroConfig& zero,
                                             const Ranks& ranks, DeviceMemory& memory,
                                             const InitialValue& initial)
    : layout_{layout},
      ranks_{ranks},
      memory_{memory},
      section_max_{std::max<std::size_t>(1, zero.allgather_bucket_size / ranks.size())},
      shards_{memory, layout.shard_elements(), Fill::zero},
      gathered_(layout.units().size()) {
  for (std::size_t unit = 0; unit < layout.units().size(); ++unit) {
    const Unit& place = layout.units()[unit];
    set_initial(memory.device(), place, unit, ranks.index() * place.shard_elements, initial,
                {shards_.data() + place.shard_offset, place.shard_elements});
  }
}

const float* PartitionedParameters::acquire(std::size_t unit) {
  const Unit& place = layout_.units()[unit];
  const float* shard = owned(unit).data();
  gathered_[unit] = Tensor(memory_, place.padded_elements);
  float* whole = gathered_[unit].data();
  for (std::size_t first = 0; first < place.shard_elements; first += section_max_) {
    const std::size_t count = std::min(section_max_, place.shard_elements - first);
    gather_into(memory_.device(), ranks_, {shard + first, count}, {first, place.shard_elements},
                whole);
  }
  return whole;
}

void PartitionedParameters::release(std::size_t unit) { gathered_[unit].reset(); }

std::span<float> PartitionedParameters::owned(std::size_t unit) {
  const Unit& place = layout_.units()[unit];
  return {shards_.data() + place.shard_offset, place.shard_elements};
}

std::unique_ptr<ParameterStore> make_parameter_store(const ShardLayout& layout,
                                                     const ZeroConfig& zero, const Ranks& ranks,
                                                     DeviceMemory& memory,
                                                     const InitialValue& initial) {
  if (zero.stage == 3) {
    return std::make_unique<PartitionedParameters>(layout, zero, ranks, memory, initial);
  }
  return std::make_unique<ReplicatedParameters>(layout, zero, ranks, memory, initial);
}

}  // namespace minitrain
