// SPDX-License-Identifier: MIT
#include "slurmtune/runner/node/cpu_probe.hpp"

#include <algorithm>
#include <barrier>
#include <cstdlib>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string_view>
#include <thread>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

#include "slurmtune/execute/cpu_affinity.hpp"
#include "slurmtune/runner/node/matrix_kernel.hpp"
#include "slurmtune/runner/node/vector_clones.hpp"
#include "slurmtune/study/files.hpp"

namespace slurmtune {

namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

/// Does a piece of work again and again, and says how much each time.
using Work = std::function<double()>;

/// Runs what `make` makes (on its core, so that its memory is near) on every core at once; the sum
/// of the threads' rates, in work a second.
double rate_of(const std::function<Work()>& make, Seconds duration) {
  const std::vector<int> cores = allowed_cpus();
  const std::size_t count = std::max<std::size_t>(1, cores.size());
  std::vector<double> rates(count);
  std::barrier together(static_cast<std::ptrdiff_t>(count));
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      // If it is refused the thread may wander, which costs little.
      if (i < cores.size()) CpuSet(std::span(&cores[i], 1)).apply();
      const Work work = make();
      work();  // the first time is always slower
      together.arrive_and_wait();
      const auto began = Clock::now();
      double done = 0.0;
      Seconds lasted{0.0};
      while (lasted < duration) {
        done += work();
        lasted = Clock::now() - began;
      }
      rates[i] = done / lasted.count();
    });
  }
  for (std::thread& thread : threads) thread.join();
  double sum = 0.0;
  for (const double rate : rates) sum += rate;
  return sum;
}

SLURMTUNE_VECTOR_CLONES
void triad(std::size_t size, double* __restrict a, const double* __restrict b,
           const double* __restrict c) {
  constexpr double scalar = 3.0;
  for (std::size_t i = 0; i < size; ++i) a[i] = b[i] + scalar * c[i];
}

/// Cores that share one last-level cache, by the kernel's map of the first core; at least 1.
std::size_t sharers_of_cache() {
  const auto map = read_file("/sys/devices/system/cpu/cpu0/cache/index3/shared_cpu_map");
  std::size_t bits = 0;
  for (const char c : map ? *map : std::string()) {
    const std::size_t digit = std::string_view("0123456789abcdef").find(c);
    if (digit == std::string_view::npos) continue;
    for (std::size_t rest = digit; rest != 0; rest /= 2) bits += rest % 2;
  }
  return std::max<std::size_t>(1, bits);
}

/// Doubles in one thread's share of each of the three arrays.
std::size_t triad_elements(std::size_t threads, std::size_t array_bytes_max) {
  constexpr std::size_t least_bytes = 8U << 20U;
  constexpr std::size_t times_cache = 4;
  constexpr std::size_t part_of_memory = 10;  // at most a tenth of what is free
  const long cache = ::sysconf(_SC_LEVEL3_CACHE_SIZE);
  const std::size_t share =
      cache > 0 ? times_cache * static_cast<std::size_t>(cache) / sharers_of_cache() : 0;
  const auto free_pages = static_cast<std::size_t>(std::max(0L, ::sysconf(_SC_AVPHYS_PAGES)));
  std::size_t free_bytes = free_pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  if (const auto limit = memory_limit({})) {
    const double left = std::max(0.0, limit->limit_bytes - limit->used_bytes);
    free_bytes = std::min(free_bytes, static_cast<std::size_t>(left));
  }
  const std::size_t most = std::min(array_bytes_max, free_bytes / part_of_memory / (3 * threads));
  return std::max<std::size_t>(4096, std::min(std::max(least_bytes, share), most)) / sizeof(double);
}

/// An array in large pages where the kernel has them: touching small ones would take longer than
/// the measurement.
class LargeArray {
 public:
  LargeArray(std::size_t elements, double value) {
    constexpr std::size_t page = std::size_t{2} << 20U;
    const std::size_t bytes = (elements * sizeof(double) + page - 1) / page * page;
    data_.reset(static_cast<double*>(std::aligned_alloc(page, bytes)));
    if (data_ == nullptr) throw std::bad_alloc();
    static_cast<void>(::madvise(data_.get(), bytes, MADV_HUGEPAGE));
    std::fill_n(data_.get(), elements, value);
  }
  [[nodiscard]] double* data() { return data_.get(); }

 private:
  struct Free {
    void operator()(double* data) const { std::free(data); }
  };
  std::unique_ptr<double, Free> data_;
};

Work triad_work(std::size_t elements) {
  auto a = std::make_shared<LargeArray>(elements, 0.0);
  auto b = std::make_shared<LargeArray>(elements, 1.0);
  auto c = std::make_shared<LargeArray>(elements, 2.0);
  return [a, b, c, elements] {
    triad(elements, a->data(), b->data(), c->data());
    return 3.0 * static_cast<double>(elements * sizeof(double));
  };
}

template <class Real>
Work matrix_work() {
  auto kernel = std::make_shared<MatrixKernel<Real>>();
  return [kernel] { return kernel->multiply(); };
}

}  // namespace

void measure_cpu(NodeFigures& figures, const CpuProbe& probe) {
  const std::size_t elements =
      triad_elements(std::max<std::size_t>(1, allowed_cpus().size()), probe.array_bytes_max);
  figures.memory_bytes_per_s = rate_of([=] { return triad_work(elements); }, probe.each);
  figures.fp32_flops = rate_of(matrix_work<float>, probe.each);
  figures.fp64_flops = rate_of(matrix_work<double>, probe.each);
}

NodeRecord probe_for_task(const std::string& node, const Environment& environment,
                          const FactSources& sources) {
  NodeRecord record;
  record.facts = read_node_facts(node, environment, sources);
  constexpr CpuProbe quick{Seconds(0.2), std::size_t{16} << 20U};
  measure_cpu(record.figures, quick);
  record.figures.no_gpu_figures_because =
      record.facts.gpus > 0 ? "not measured by a task; slurmtune probe does" : "no GPU";
  return record;
}

}  // namespace slurmtune
