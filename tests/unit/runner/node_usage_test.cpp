// SPDX-License-Identifier: MIT
#include <array>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "slurmtune/runner/node/usage_meter.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/temporary_directory.hpp"

namespace slurmtune {

namespace {

constexpr const char* fake_nvml = SLURMTUNE_FAKE_NVML_LIBRARY;
constexpr double gib = 1024.0 * 1024.0 * 1024.0;

/// A /proc and a control-group tree of our own making.
class FakeKernel {
 public:
  [[nodiscard]] KernelFiles files() const { return {place_ / "proc", place_ / "cgroup"}; }

  void process(pid_t pid, int rss_kib, int peak_kib, int pss_kib) const {
    place_.write(fmt::format("proc/{}/status", pid),
                 fmt::format("Name:\ttrain\nVmPeak:\t 9 kB\nVmHWM:\t {} kB\nVmRSS:\t {} kB\n",
                             peak_kib, rss_kib));
    place_.write(fmt::format("proc/{}/smaps_rollup", pid),
                 fmt::format("00400000-7ffd r-xp 00000000 00:00 0 [rollup]\nRss: {} kB\n"
                             "Pss: {} kB\nPss_Anon: 1 kB\n",
                             rss_kib, pss_kib));
  }
  void write(std::string_view name, std::string_view text) const { place_.write(name, text); }
  [[nodiscard]] std::string path(std::string_view name) const { return place_ / name; }

 private:
  TemporaryDirectory place_;
};

}  // namespace

TEST_CASE("UsageMeter: pages that processes share count once, the peak stays", "[runner]") {
  const FakeKernel kernel;
  auto meter = UsageMeter::start({}, kernel.files(), "/no/such/library.so");
  const std::vector<pid_t> pids{11, 12, 13};
  kernel.process(11, 4000, 4500, 2500);
  kernel.process(12, 2000, 2000, 500);
  meter.sample(pids);  // 13 has ended before it was looked at
  CHECK(*meter.usage().peak_host_bytes == Approx(3000 * 1024.0));
  CHECK(*meter.usage().peak_process_bytes == 4500 * 1024.0);

  kernel.process(11, 400, 4500, 250);
  meter.sample(pids);
  CHECK(*meter.usage().peak_host_bytes == Approx(3000 * 1024.0));
  CHECK(meter.usage().samples == 2);
  CHECK_THAT(meter.usage().no_gpu_because, Catch::Contains("/no/such/library.so"));
  CHECK_FALSE(meter.usage().peak_gpu_bytes);
  CHECK_FALSE(meter.usage().memory_limit_bytes);
}

TEST_CASE("UsageMeter: measures this very process", "[runner]") {
  const std::array<pid_t, 1> own{::getpid()};
  auto meter = UsageMeter::start({});
  std::vector<char> block(64U << 20U, 'x');
  meter.sample(own);
  CHECK(block[block.size() / 2] == 'x');
  REQUIRE(meter.usage().peak_host_bytes);
  CHECK(*meter.usage().peak_host_bytes > 64.0 * 1024 * 1024);
  CHECK(*meter.usage().peak_host_bytes < 4 * gib);
  CHECK(*meter.usage().peak_process_bytes >= *meter.usage().peak_host_bytes);
}

TEST_CASE("memory_limit: the tightest of version 2's groups, less what the kernel drops first",
          "[runner]") {
  const FakeKernel kernel;
  kernel.write("proc/self/cgroup", "0::/slurm/job_7/step_0\n");
  kernel.write("cgroup/slurm/job_7/step_0/memory.max", "max\n");
  kernel.write("cgroup/slurm/job_7/memory.max", "8000\n");
  kernel.write("cgroup/slurm/job_7/memory.current", "7000\n");
  kernel.write("cgroup/slurm/job_7/memory.stat", "anon 5000\ninactive_file 1000\n");
  kernel.write("cgroup/slurm/memory.max", "9000\n");
  kernel.write("cgroup/slurm/memory.current", "8999\n");
  const auto limit = memory_limit(kernel.files());
  REQUIRE(limit);
  CHECK(limit->limit_bytes == 8000.0);
  CHECK(limit->used_bytes == 6000.0);

  auto meter = UsageMeter::start({}, kernel.files(), "/no/such/library.so");
  meter.sample({});
  kernel.write("cgroup/slurm/job_7/memory.current", "3000\n");
  meter.sample({});
  CHECK(meter.usage().memory_limit_bytes == 8000.0);
  CHECK(*meter.usage().memory_limit_fraction == Approx(0.75));
}

TEST_CASE("memory_limit: version 1, and its way to say that there is none", "[runner]") {
  const FakeKernel kernel;
  kernel.write("proc/self/cgroup", "5:cpu:/x\n4:memory:/slurm/job_7\n0::/\n");
  kernel.write("cgroup/memory/slurm/job_7/memory.limit_in_bytes", "9223372036854771712\n");
  CHECK_FALSE(memory_limit(kernel.files()));
  kernel.write("cgroup/memory/slurm/job_7/memory.limit_in_bytes", "4096\n");
  kernel.write("cgroup/memory/slurm/job_7/memory.usage_in_bytes", "2048\n");
  const auto limit = memory_limit(kernel.files());
  REQUIRE(limit);
  CHECK(limit->limit_bytes == 4096.0);
  CHECK(limit->used_bytes == 2048.0);
}

TEST_CASE("memory_limit: a container that sees its own group as the root", "[runner]") {
  const FakeKernel kernel;
  kernel.write("proc/self/cgroup", "0::/docker/0123456789abcdef\n");
  kernel.write("cgroup/memory.max", "1000\n");
  kernel.write("cgroup/memory.current", "10\n");
  REQUIRE(memory_limit(kernel.files()));
  CHECK(memory_limit(kernel.files())->limit_bytes == 1000.0);
}

TEST_CASE("UsageMeter: memory of the trial's processes, utilisation and clocks of its GPUs only",
          "[runner]") {
  const FakeKernel kernel;
  const ScopedVariable fake("SLURMTUNE_FAKE_NVML", kernel.path("gpus"));
  kernel.write("gpus",
               "GPU-aa H100 1000 100 50 10 1000 0 0\n"
               "GPU-bb H100 1000 100 50 90 2000 77 20\n");
  auto meter = UsageMeter::start({{"CUDA_VISIBLE_DEVICES", "1"}}, kernel.files(), fake_nvml);
  const std::array<pid_t, 1> ours{77};
  meter.sample(ours);
  CHECK(meter.usage().peak_gpu_bytes == 20.0);
  kernel.write("gpus",
               "GPU-aa H100 1000 100 950 100 1980 78 900\n"
               "GPU-bb H100 1000 100 750 70 1000 77 700\n");
  meter.sample(ours);
  kernel.write("gpus",
               "GPU-aa H100 1000 100 950 100 1980 78 900\n"
               "GPU-bb H100 1000 100 60 -1 1500 77 10\n");
  meter.sample(ours);
  const NodeUsage usage = meter.usage();
  CHECK(usage.peak_gpu_bytes == 700.0);
  CHECK(*usage.gpu_utilisation == Approx(0.8));  // of the two samples that told it
  CHECK(*usage.sm_clock_hz == Approx(1.5e9));
  CHECK(usage.no_gpu_because.empty());
}

TEST_CASE("UsageMeter: where the driver knows other process ids, what came since the start counts",
          "[runner]") {
  const FakeKernel kernel;
  const ScopedVariable fake("SLURMTUNE_FAKE_NVML", kernel.path("gpus"));
  kernel.write("gpus", "GPU-aa A100 1000 0 300 0 1000 0 0\n");
  auto meter = UsageMeter::start({}, kernel.files(), fake_nvml);
  kernel.write("gpus", "GPU-aa A100 1000 0 900 0 1000 4711 600\n");
  const std::array<pid_t, 1> ours{12};
  meter.sample(ours);
  CHECK(meter.usage().peak_gpu_bytes == 600.0);
}

TEST_CASE("Nvml: facts of the GPUs, without what the driver keeps for itself", "[runner]") {
  const FakeKernel kernel;
  const ScopedVariable fake("SLURMTUNE_FAKE_NVML", kernel.path("gpus"));
  const auto without_driver = Nvml::load(fake_nvml);
  REQUIRE_FALSE(without_driver);
  CHECK_THAT(without_driver.error().message, Catch::Contains("Driver Not Loaded"));
  kernel.write("gpus", "");
  REQUIRE_FALSE(Nvml::load(fake_nvml));
  kernel.write("gpus", "GPU-aa NVIDIA_H100 1000 100 0 0 0 0 0\n");
  const auto nvml = Nvml::load(fake_nvml);
  REQUIRE(nvml);
  CHECK(nvml->driver() == "580.65.06");
  REQUIRE(nvml->gpus().size() == 1);
  CHECK(nvml->gpus().front().name == "NVIDIA_H100");
  CHECK(nvml->gpus().front().uuid == "GPU-aa");
  CHECK(nvml->gpus().front().bytes == 900.0);
}

TEST_CASE("Nvml: another library is none, and is named", "[runner]") {
  const auto nvml = Nvml::load("libc.so.6");
  REQUIRE_FALSE(nvml);
  CHECK_THAT(nvml.error().message, Catch::Contains("libc.so.6"));
}

TEST_CASE("visible_gpus: CUDA's list, Slurm's list, or all", "[runner]") {
  const std::vector<GpuFacts> four{
      {0, "GPU-a0", "", 0}, {1, "GPU-b1", "", 0}, {2, "GPU-c2", "", 0}, {3, "GPU-d3", "", 0}};
  const std::vector<GpuFacts> two{{0, "GPU-a0", "", 0}, {1, "GPU-b1", "", 0}};
  using Places = std::vector<std::size_t>;
  CHECK(visible_gpus(four, {}) == Places{0, 1, 2, 3});
  CHECK(visible_gpus(four, {{"CUDA_VISIBLE_DEVICES", "2, 0"}}) == Places{2, 0});
  CHECK(visible_gpus(four, {{"CUDA_VISIBLE_DEVICES", "GPU-d3,GPU-b"}}) == Places{3, 1});
  CHECK(visible_gpus(four, {{"CUDA_VISIBLE_DEVICES", "1,-1,2"}}) == Places{1});
  CHECK(visible_gpus(four, {{"CUDA_VISIBLE_DEVICES", ""}}).empty());
  CHECK(visible_gpus(four, {{"SLURM_JOB_GPUS", "1,3"}}) == Places{1, 3});
  CHECK(visible_gpus(four, {{"SLURM_STEP_GPUS", "0"}, {"SLURM_JOB_GPUS", "1,3"}}) == Places{0});
  // The job's control group hides the others, and Slurm's numbers are still the node's.
  CHECK(visible_gpus(two, {{"SLURM_JOB_GPUS", "2,3"}}) == Places{0, 1});
}

TEST_CASE("usage: travels as one line, and nodes are merged", "[runner]") {
  NodeUsage usage;
  usage.peak_host_bytes = 1e9;
  usage.peak_process_bytes = 5e8;
  usage.peak_gpu_bytes = 3e9;
  usage.gpu_utilisation = 0.5;
  usage.sm_clock_hz = 1.5e9;
  usage.memory_limit_bytes = 1e10;
  usage.memory_limit_fraction = 0.25;
  usage.samples = 3;
  const auto text = render_usage(usage);
  REQUIRE(text);
  CHECK(text->find('\n') == std::string::npos);
  CHECK(*parse_usage(*text) == usage);
  CHECK_FALSE(parse_usage("{}"));

  NodeUsage other;
  other.peak_host_bytes = 2e9;
  other.gpu_utilisation = 1.0;
  other.memory_limit_bytes = 5e9;
  other.memory_limit_fraction = 0.75;
  other.samples = 4;
  const std::array<NodeUsage, 2> nodes{usage, other};
  const NodeUsage all = usage_over_nodes(nodes);
  CHECK(all.peak_host_bytes == 2e9);
  CHECK(all.peak_gpu_bytes == 3e9);
  CHECK(all.gpu_utilisation == 0.75);
  CHECK(all.memory_limit_bytes == 5e9);
  CHECK(all.memory_limit_fraction == 0.75);
  CHECK(all.samples == 7);
}

}  // namespace slurmtune
