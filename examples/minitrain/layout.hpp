// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace minitrain {

/// Where the parameters of one layer ("unit": what ZeRO 3 gathers at once) lie.
/// All numbers are in elements.
struct Unit {
  std::size_t elements;         ///< the layer's own parameters
  std::size_t padded_elements;  ///< rounded up to a multiple of the ranks
  std::size_t shard_elements;   ///< one rank's share: padded_elements / ranks
  std::size_t offset;           ///< start in the array of all (padded) parameters
  std::size_t shard_offset;     ///< start in one rank's array of all its shards
};

/// Every layer cut into as many equal shards as there are ranks; rank r owns shard r of each.
class ShardLayout {
 public:
  /// `ranks` must be at least 1.
  [[nodiscard]] static ShardLayout make(std::span<const std::size_t> unit_elements,
                                        std::size_t ranks);

  [[nodiscard]] std::size_t ranks() const { return ranks_; }
  [[nodiscard]] const std::vector<Unit>& units() const { return units_; }
  [[nodiscard]] std::size_t elements() const { return elements_; }
  [[nodiscard]] std::size_t padded_elements() const { return padded_elements_; }
  [[nodiscard]] std::size_t shard_elements() const { return padded_elements_ / ranks_; }

 private:
  std::size_t ranks_ = 1;
  std::vector<Unit> units_;
  std::size_t elements_ = 0;
  std::size_t padded_elements_ = 0;
};

/// A run of elements of one unit's shard, and its place in one rank's section of a bucket.
struct BucketPiece {
  std::size_t unit;
  std::size_t first;  ///< within the shard
  std::size_t count;
  std::size_t at;  ///< within the section
};

/// What one collective carries: `ranks` sections, one after the other, of `section` elements.
struct Bucket {
  std::vector<BucketPiece> pieces;
  std::size_t section = 0;
};

/// The order in which units become ready: forward for parameters, backward for gradients.
enum class UnitOrder { forward, backward };

/// Packs all shards into buckets of at most `bucket_elements` (over all ranks; at least one
/// element a rank), in order; a shard that does not fit is cut. Every element appears once.
[[nodiscard]] std::vector<Bucket> plan_buckets(const ShardLayout& layout,
                                               std::size_t bucket_elements, UnitOrder order);

/// Elements of the buffer that the largest of these buckets needs.
[[nodiscard]] std::size_t buffer_elements(const ShardLayout& layout,
                                          std::span<const Bucket> buckets);

}  // namespace minitrain
