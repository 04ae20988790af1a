// SPDX-License-Identifier: MIT
#include "examples/minitrain/memory.hpp"

#include <cstdint>
#include <string>
#include <utility>

#include "tests/support/catch.hpp"

using minitrain::DeviceMemory;
using minitrain::Fill;
using minitrain::format_bytes;
using minitrain::OutOfMemoryError;
using minitrain::parse_bytes;
using minitrain::Tensor;

namespace {

std::string refusal_text(DeviceMemory& memory, std::size_t elements) {
  try {
    const Tensor tensor(memory, elements);
  } catch (const OutOfMemoryError& error) {
    return error.what();
  }
  return "nothing was refused";
}

}  // namespace

TEST_CASE("DeviceMemory: counts what is alive, and remembers the peak", "[minitrain]") {
  DeviceMemory memory(std::nullopt);
  {
    const Tensor first(memory, 100);
    CHECK(memory.allocated_bytes() == 400);
    {
      const Tensor second(memory, 50);
      CHECK(memory.allocated_bytes() == 600);
    }
    CHECK(memory.allocated_bytes() == 400);
  }
  CHECK(memory.allocated_bytes() == 0);
  CHECK(memory.peak_bytes() == 600);
}

TEST_CASE("DeviceMemory: the limit may be reached but not passed", "[minitrain]") {
  DeviceMemory memory(1024);
  const Tensor whole(memory, 256);
  CHECK(memory.allocated_bytes() == 1024);
  CHECK_THROWS_AS(Tensor(memory, 1), OutOfMemoryError);
  CHECK(memory.allocated_bytes() == 1024);
  CHECK(memory.peak_bytes() == 1024);
}

TEST_CASE("DeviceMemory: the refusal names size, limit and what is in use", "[minitrain]") {
  DeviceMemory memory(3ULL << 20U);
  const Tensor half(memory, (3U << 20U) / 8);
  CHECK(refusal_text(memory, (2U << 20U) / 4) ==
        "device out of memory. Tried to allocate 2.00 MiB (limit 3.00 MiB; 1.50 MiB already "
        "allocated)");
}

TEST_CASE("Tensor: a move hands the memory on, and an assignment gives back the old",
          "[minitrain]") {
  DeviceMemory memory(std::nullopt);
  Tensor first(memory, 10, Fill::zero);
  first.data()[3] = 7.0F;
  Tensor second(memory, 20);
  second = std::move(first);
  CHECK(memory.allocated_bytes() == 40);
  CHECK(second.size() == 10);
  CHECK(second.data()[3] == 7.0F);
  CHECK(second.data()[4] == 0.0F);
  const Tensor third(std::move(second));
  CHECK(memory.allocated_bytes() == 40);
  CHECK(third.data()[3] == 7.0F);
}

TEST_CASE("parse_bytes: numbers with and without units", "[minitrain]") {
  const auto [text, bytes] = GENERATE(table<std::string, std::uint64_t>({
      {"1", 1},
      {"4096", 4096},
      {"4096B", 4096},
      {"48MiB", 48ULL << 20U},
      {"7.5MiB", 15ULL << 19U},
      {"1GiB", 1ULL << 30U},
      {"2TiB", 2ULL << 40U},
      {"512kB", 512000},
      {"1.5GB", 1500000000},
  }));
  CHECK(parse_bytes(text) == bytes);
}

TEST_CASE("parse_bytes: what is no size is refused", "[minitrain]") {
  const std::string text = GENERATE("", "MiB", "0", "-1", "48 MiB", "48mib", "1e400", "nan", "inf",
                                    "99999999TiB", "4096x", "0.2");
  CHECK(!parse_bytes(text).has_value());
}

TEST_CASE("format_bytes: two decimals in the largest fitting unit", "[minitrain]") {
  CHECK(format_bytes(0) == "0.00 B");
  CHECK(format_bytes(1023) == "1023.00 B");
  CHECK(format_bytes(1024) == "1.00 KiB");
  CHECK(format_bytes(49388979) == "47.10 MiB");
  CHECK(format_bytes(3ULL << 30U) == "3.00 GiB");
}
