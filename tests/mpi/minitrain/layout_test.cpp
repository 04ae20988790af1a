// SPDX-License-Identifier: MIT
#include "examples/minitrain/layout.hpp"

#include <cstddef>
#include <vector>

#include "tests/support/catch.hpp"

using minitrain::Bucket;
using minitrain::plan_buckets;
using minitrain::ShardLayout;
using minitrain::UnitOrder;

TEST_CASE("ShardLayout: equal shards, padded to the ranks, one after the other", "[minitrain]") {
  const std::vector<std::size_t> units = {10, 3, 8};
  const ShardLayout layout = ShardLayout::make(units, 4);
  CHECK(layout.elements() == 21);
  CHECK(layout.padded_elements() == 12 + 4 + 8);
  CHECK(layout.shard_elements() == 6);
  CHECK(layout.units()[0].shard_elements == 3);
  CHECK(layout.units()[1].offset == 12);
  CHECK(layout.units()[2].offset == 16);
  CHECK(layout.units()[2].shard_offset == 4);
}

TEST_CASE("plan_buckets: every element of every shard appears once, in order", "[minitrain]") {
  const std::vector<std::size_t> elements = {10, 3, 8, 41};
  const std::size_t ranks = GENERATE(1U, 2U, 3U);
  const std::size_t bucket_elements = GENERATE(1U, 2U, 7U, 16U, 1000U);
  const UnitOrder order = GENERATE(UnitOrder::forward, UnitOrder::backward);
  const ShardLayout layout = ShardLayout::make(elements, ranks);
  const std::vector<Bucket> buckets = plan_buckets(layout, bucket_elements, order);

  std::vector<std::size_t> next(elements.size(), 0);
  std::vector<std::size_t> visited;
  for (const Bucket& bucket : buckets) {
    CHECK(bucket.section <= std::max<std::size_t>(1, bucket_elements / ranks));
    std::size_t at = 0;
    for (const auto& piece : bucket.pieces) {
      CHECK(piece.at == at);
      CHECK(piece.first == next[piece.unit]);
      CHECK(piece.count > 0);
      at += piece.count;
      next[piece.unit] += piece.count;
      if (visited.empty() || visited.back() != piece.unit) visited.push_back(piece.unit);
    }
    CHECK(bucket.section == at);
  }
  for (std::size_t unit = 0; unit < elements.size(); ++unit) {
    CHECK(next[unit] == layout.units()[unit].shard_elements);
  }
  const std::vector<std::size_t> forward = {0, 1, 2, 3};
  const std::vector<std::size_t> backward = {3, 2, 1, 0};
  CHECK(visited == (order == UnitOrder::forward ? forward : backward));
}

TEST_CASE("buffer_elements: no more than all parameters, however large the bucket", "[minitrain]") {
  const std::vector<std::size_t> elements = {10, 3, 8};
  const ShardLayout layout = ShardLayout::make(elements, 2);
  CHECK(minitrain::buffer_elements(layout,
                                   plan_buckets(layout, 500'000'000, UnitOrder::backward)) == 22);
  CHECK(minitrain::buffer_elements(layout, plan_buckets(layout, 6, UnitOrder::backward)) == 6);
}
