// SPDX-License-Identifier: MIT
#include "layout.hpp"

#include <algorithm>

namespace minitrain {

ShardLayout ShardLayout::make(std::span<const std::size_t> unit_elements, std::size_t ranks) {
  ShardLayout layout;
  layout.ranks_ = ranks;
  for (const std::size_t elements : unit_elements) {
    const std::size_t shard = (elements + ranks - 1) / ranks;
    layout.units_.push_back({.elements = elements,
                             .padded_elements = shard * ranks,
                             .shard_elements = shard,
                             .offset = layout.padded_elements_,
                             .shard_offset = layout.padded_elements_ / ranks});
    layout.elements_ += elements;
    layout.padded_elements_ += shard * ranks;
  }
  return layout;
}

std::vector<Bucket> plan_buckets(const ShardLayout& layout, std::size_t bucket_elements,
                                 UnitOrder order) {
  const std::size_t section_max = std::max<std::size_t>(1, bucket_elements / layout.ranks());
  const std::size_t unit_count = layout.units().size();
  std::vector<Bucket> buckets;
  for (std::size_t i = 0; i < unit_count; ++i) {
    const std::size_t unit = order == UnitOrder::forward ? i : unit_count - 1 - i;
    const std::size_t shard = layout.units()[unit].shard_elements;
    for (std::size_t first = 0; first < shard;) {
      if (buckets.empty() || buckets.back().section == section_max) buckets.emplace_back();
      Bucket& bucket = buckets.back();
      const std::size_t count = std::min(shard - first, section_max - bucket.section);
      bucket.pieces.push_back({.unit = unit, .first = first, .count = count, .at = bucket.section});
      bucket.section += count;
      first += count;
    }
  }
  return buckets;
}

std::size_t buffer_elements(const ShardLayout& layout, std::span<const Bucket> buckets) {
  std::size_t section_max = 0;
  for (const Bucket& bucket : buckets) section_max = std::max(section_max, bucket.section);
  return section_max * layout.ranks();
}

}  // namespace minitrain
