// SPDX-License-Identifier: MIT
#include "slurmtune/execute/cpu_affinity.hpp"

#include <thread>

#include "tests/support/catch.hpp"

namespace slurmtune {

TEST_CASE("CpuSet: a thread that is bound may run there alone, and no other is", "[execute]") {
  const std::vector<int> before = allowed_cpus();
  REQUIRE_FALSE(before.empty());
  const std::vector<int> last{before.back()};
  std::vector<int> bound;
  std::thread([&] {
    CHECK(CpuSet(last).apply());
    bound = allowed_cpus();
  }).join();
  CHECK(bound == last);
  CHECK(allowed_cpus() == before);
}

TEST_CASE("CpuSet: CPUs that are not there are refused", "[execute]") {
  std::thread([] {
    const std::vector<int> far{5000};
    CHECK_FALSE(CpuSet(far).apply());
  }).join();
}

}  // namespace slurmtune
