// SPDX-License-Identifier: MIT
#include "parameters.hpp"

#include <algorithm>

namespace minitrain {

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
    float* values = parameters_.data() + layout.units()[unit].offset;
    for (std::size_t i = 0; i < layout.units()[unit].elements; ++i) values[i] = initial(unit, i);
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
  Tensor buffer(memory_, buffer_elements(layout_, buckets_));
  for (const Bucket& bucket : buckets_) {
    for (const BucketPiece& piece : bucket.pieces) {
      const float* source = owned(piece.unit).data() + piece.first;
      std::copy_n(source, piece.count, buffer.data() + ranks_.index() * bucket.section + piece.at);
    }
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, buffer.data(),
                  static_cast<int>(bucket.section), MPI_FLOAT, ranks_.communicator);
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      if (rank == ranks_.index()) continue;
      for (const BucketPiece& piece : bucket.pieces) {
        const Unit& place = layout_.units()[piece.unit];
        std::copy_n(buffer.data() + rank * bucket.section + piece.at, piece.count,
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
    const std::span<float> shard = owned(unit);
    const std::size_t first = ranks.index() * layout.units()[unit].shard_elements;
    const std::size_t elements = layout.units()[unit].elements;
    for (std::size_t i = 0; i < shard.size() && first + i < elements; ++i) {
      shard[i] = initial(unit, first + i);
    }
  }
}

const float* PartitionedParameters::acquire(std::size_t unit) {
  const Unit& place = layout_.units()[unit];
  const float* shard = owned(unit).data();
  gathered_[unit] = Tensor(memory_, place.padded_elements);
  float* whole = gathered_[unit].data();
  std::vector<int> counts(ranks_.size());
  std::vector<int> offsets(ranks_.size());
  for (std::size_t first = 0; first < place.shard_elements; first += section_max_) {
    const std::size_t count = std::min(section_max_, place.shard_elements - first);
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      counts[rank] = static_cast<int>(count);
      offsets[rank] = static_cast<int>(rank * place.shard_elements + first);
    }
    MPI_Allgatherv(shard + first, static_cast<int>(count), MPI_FLOAT, whole, counts.data(),
                   offsets.data(), MPI_FLOAT, ranks_.communicator);
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
