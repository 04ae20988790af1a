// SPDX-License-Identifier: MIT
#include "gemm.hpp"

#include <algorithm>
#include <cstring>

#include "vector_clones.hpp"

namespace minitrain {
namespace {

// The register tile: 6 x 16 floats is 12 of the 16 AVX2 registers (6 of 32 with AVX-512), and
// leaves room for the operands.
constexpr std::size_t tile_rows = 6;
constexpr std::size_t tile_columns = 16;
// The cache blocks: A's block (72 KiB) stays in the second-level cache, a panel of B in the first.
constexpr std::size_t block_rows = 72;
constexpr std::size_t block_columns = 256;
constexpr std::size_t block_depth = 256;
static_assert(block_rows % tile_rows == 0 && block_columns % tile_columns == 0);

using Lane = float __attribute__((vector_size(tile_columns * sizeof(float))));

std::size_t round_up(std::size_t value, std::size_t step) {
  return (value + step - 1) / step * step;
}

/// Packs `rows` x `depth` of A into panels of tile_rows, depth-major, short panels padded with 0.
MINITRAIN_VECTOR_CLONES
void pack_a(MatrixView a, std::size_t rows, std::size_t depth, float* packed) {
  for (std::size_t first = 0; first < rows; first += tile_rows) {
    const std::size_t live = std::min(tile_rows, rows - first);
    const float* source = a.data + first * a.row_stride;
    for (std::size_t p = 0; p < depth; ++p) {
      for (std::size_t i = 0; i < live; ++i) {
        packed[i] = source[i * a.row_stride + p * a.column_stride];
      }
      for (std::size_t i = live; i < tile_rows; ++i) packed[i] = 0.0F;
      packed += tile_rows;
    }
  }
}

/// Packs `depth` x `columns` of B into panels of tile_columns, depth-major, padded with 0.
MINITRAIN_VECTOR_CLONES
void pack_b(MatrixView b, std::size_t columns, std::size_t depth, float* packed) {
  for (std::size_t first = 0; first < columns; first += tile_columns) {
    const std::size_t live = std::min(tile_columns, columns - first);
    const float* source = b.data + first * b.column_stride;
    for (std::size_t p = 0; p < depth; ++p) {
      const float* row = source + p * b.row_stride;
      if (live == tile_columns && b.column_stride == 1) {
        std::memcpy(packed, row, tile_columns * sizeof(float));
      } else {
        for (std::size_t j = 0; j < live; ++j) packed[j] = row[j * b.column_stride];
        for (std::size_t j = live; j < tile_columns; ++j) packed[j] = 0.0F;
      }
      packed += tile_columns;
    }
  }
}

/// tile = panel of A times panel of B, over the whole depth.
MINITRAIN_VECTOR_CLONES
void multiply_panels(std::size_t depth, const float* a, const float* b, float* tile) {
  Lane sum[tile_rows] = {};
  for (std::size_t p = 0; p < depth; ++p) {
    Lane b_row;
    std::memcpy(&b_row, b, sizeof b_row);
#pragma GCC unroll 6
    for (std::size_t i = 0; i < tile_rows; ++i) sum[i] += a[i] * b_row;
    a += tile_rows;
    b += tile_columns;
  }
  std::memcpy(tile, sum, sizeof sum);
}

/// Stores the part of a tile that lies inside C.
void store_tile(const float* tile, GemmShape live, float* c, std::size_t c_stride,
                Accumulate accumulate) {
  for (std::size_t i = 0; i < live.rows; ++i) {
    float* row = c + i * c_stride;
    const float* source = tile + i * tile_columns;
    if (accumulate == Accumulate::yes) {
      for (std::size_t j = 0; j < live.columns; ++j) row[j] += source[j];
    } else {
      for (std::size_t j = 0; j < live.columns; ++j) row[j] = source[j];
    }
  }
}

/// C's block from packed A and packed B.
void multiply_block(GemmShape block, const float* packed_a, const float* packed_b, float* c,
                    std::size_t c_stride, Accumulate accumulate) {
  alignas(64) float tile[tile_rows * tile_columns];
  for (std::size_t j = 0; j < block.columns; j += tile_columns) {
    for (std::size_t i = 0; i < block.rows; i += tile_rows) {
      multiply_panels(block.depth, packed_a + i * block.depth, packed_b + j * block.depth, tile);
      const GemmShape live = {.rows = std::min(tile_rows, block.rows - i),
                              .columns = std::min(tile_columns, block.columns - j),
                              .depth = block.depth};
      store_tile(tile, live, c + i * c_stride + j, c_stride, accumulate);
    }
  }
}

}  // namespace

Gemm::Gemm(DeviceMemory& memory)
    : packed_a_{memory, round_up(block_rows, tile_rows) * block_depth},
      packed_b_{memory, round_up(block_columns, tile_columns) * block_depth} {}

void Gemm::multiply(GemmShape shape, MatrixView a, MatrixView b, float* c, Accumulate accumulate) {
  if (shape.depth == 0 && accumulate == Accumulate::no) {
    std::fill_n(c, shape.rows * shape.columns, 0.0F);
  }
  for (std::size_t j = 0; j < shape.columns; j += block_columns) {
    const std::size_t columns = std::min(block_columns, shape.columns - j);
    for (std::size_t p = 0; p < shape.depth; p += block_depth) {
      const std::size_t depth = std::min(block_depth, shape.depth - p);
      const MatrixView b_block = {b.data + p * b.row_stride + j * b.column_stride, b.row_stride,
                                  b.column_stride};
      pack_b(b_block, columns, depth, packed_b_.data());
      const Accumulate mode = p == 0 ? accumulate : Accumulate::yes;
      for (std::size_t i = 0; i < shape.rows; i += block_rows) {
        const std::size_t rows = std::min(block_rows, shape.rows - i);
        const MatrixView a_block = {a.data + i * a.row_stride + p * a.column_stride, a.row_stride,
                                    a.column_stride};
        pack_a(a_block, rows, depth, packed_a_.data());
        multiply_block({rows, columns, depth}, packed_a_.data(), packed_b_.data(),
                       c + i * shape.columns + j, shape.columns, mode);
      }
    }
  }
}

}  // namespace minitrain
