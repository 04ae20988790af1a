// SPDX-License-Identifier: MIT
#include "slurmtune/runner/node/node_facts.hpp"

#include <algorithm>
#include <ctime>
#include <string>
#include <thread>
#include <vector>

#include <sched.h>

#include "slurmtune/model/slow_nodes.hpp"
#include "slurmtune/runner/node/cpu_probe.hpp"
#include "slurmtune/runner/node/gpu_probe.hpp"
#include "slurmtune/runner/node/matrix_kernel.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/temporary_directory.hpp"

namespace slurmtune {

namespace {

std::vector<NodeRecord> nodes_with_memory(const std::vector<double>& rates) {
  std::vector<NodeRecord> nodes;
  for (std::size_t i = 0; i < rates.size(); ++i) {
    NodeRecord node;
    node.facts.node = "n" + std::to_string(i + 1);
    node.figures.memory_bytes_per_s = rates[i];
    nodes.push_back(node);
  }
  judge_nodes(nodes);
  return nodes;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("read_node_facts: what the kernel and NVML tell of a node", "[runner]") {
  const TemporaryDirectory place;
  place.write("proc/meminfo", "MemTotal:       1000 kB\nMemFree:  9 kB\n");
  place.write("proc/cpuinfo", "processor\t: 0\nmodel name\t: AMD EPYC 7763\nflags\t: x\n");
  place.write("proc/self/cgroup", "0::/\n");
  place.write("cgroup/memory.max", "500000\n");
  place.write("net/eth0/speed", "25000\n");
  place.write("net/eth0/operstate", "up\n");
  place.write("net/eth1/speed", "-1\n");
  place.write("net/eth1/operstate", "down\n");
  place.write("net/lo/operstate", "unknown\n");
  place.write("ib/mlx5_0/ports/1/rate", "200 Gb/sec (4X HDR)\n");
  place.write("ib/mlx5_0/ports/1/state", "4: ACTIVE\n");
  place.write("gpus",
              "GPU-aa NVIDIA_A100 4000 100 0 0 0 0 0\n"
              "GPU-bb NVIDIA_A100 3000 100 0 0 0 0 0\n"
              "GPU-cc NVIDIA_A100 2000 100 0 0 0 0 0\n");
  const ScopedVariable fake("SLURMTUNE_FAKE_NVML", place / "gpus");
  const FactSources sources{.kernel = {place / "proc", place / "cgroup"},
                            .net = place / "net",
                            .infiniband = place / "ib",
                            .nvml = SLURMTUNE_FAKE_NVML_LIBRARY};
  const NodeFacts facts = read_node_facts("n1", {{"CUDA_VISIBLE_DEVICES", "0,1"}}, sources);
  CHECK(facts.node == "n1");
  CHECK(facts.processor == "AMD EPYC 7763");
  CHECK(facts.host_bytes == 1'024'000.0);
  CHECK(facts.memory_limit_bytes == 500'000.0);
  CHECK(facts.gpu == "NVIDIA_A100");
  CHECK(facts.gpus == 2);
  CHECK(facts.gpu_bytes == 2900.0);
  CHECK(facts.driver == "580.65.06");
  CHECK(facts.no_gpu_because.empty());
  CHECK(facts.interfaces == std::vector<NetworkInterface>{{"eth0", "up", 25e9},
                                                          {"eth1", "down", std::nullopt},
                                                          {"mlx5_0/1", "active", 200e9}});
  CHECK(facts.cores >= 1);
  CHECK(facts.cores <= facts.cores_online);
}

TEST_CASE("read_node_facts: cores are those that the process is bound to", "[runner]") {
  int bound = 0;
  std::thread([&bound] {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<std::size_t>(::sched_getcpu()), &set);
    REQUIRE(::sched_setaffinity(0, sizeof set, &set) == 0);  // of this thread only
    bound = read_node_facts("n1", {}, {.nvml = "/no/such/library.so"}).cores;
  }).join();
  CHECK(bound == 1);
}

TEST_CASE(
    "check_node: a runner that is bound to fewer cores than its job has is told what to write",
    "[runner]") {
  NodeFacts facts;
  facts.node = "n7";
  facts.cores = 1;
  facts.cores_online = 64;
  const auto bound = check_node(facts, {.processes = 4}, 8);
  REQUIRE_FALSE(bound);
  CHECK(bound.error().kind == ErrorKind::invalid_input);
  CHECK_THAT(bound.error().message, Catch::Contains("node n7") && Catch::Contains("1 of 8 cores") &&
                                        Catch::Contains("--cpu-bind=none"));
  CHECK_FALSE(check_node(facts, {.processes = 4}, 0));
  // Not bound, only small: more ranks than cores are the user's choice.
  CHECK(check_node(facts, {.processes = 4}, 1));
  CHECK(check_node(facts, {.processes = 1}, 8));
  facts.cores = 8;
  CHECK(check_node(facts, {.processes = 16}, 8));
}

TEST_CASE("check_node: GPUs that the job did not get are missed before a trial does", "[runner]") {
  NodeFacts facts;
  facts.node = "n7";
  facts.cores = facts.cores_online = 8;
  facts.gpus = 2;
  CHECK(check_node(facts, {.processes = 4, .gpus = 2}, 8));
  const auto missing = check_node(facts, {.processes = 4, .gpus = 4}, 8);
  REQUIRE_FALSE(missing);
  CHECK_THAT(missing.error().message,
             Catch::Contains("4 GPUs") && Catch::Contains("gpus_per_node = 4"));
  CHECK(cores_of_job({{"SLURM_CPUS_ON_NODE", "8"}}) == 8);
  CHECK(cores_of_job({}) == 0);
}

TEST_CASE("judge_nodes: a node far below its peers is slow, and by how much is said", "[runner]") {
  const auto nodes = nodes_with_memory({100.0, 101.0, 99.0, 70.0, 100.5});
  CHECK(slow_nodes(nodes) == Names{"n4"});
  CHECK(nodes[3].slow == "memory_bytes_per_s 70, 30 % below the median of 100");
}

TEST_CASE("judge_nodes: neither a small difference nor a wide spread makes a node slow",
          "[runner]") {
  CHECK(slow_nodes(nodes_with_memory({100.0, 100.1, 99.9, 91.0})).empty());  // under 10 %
  CHECK(slow_nodes(nodes_with_memory({100.0, 60.0, 120.0, 80.0, 140.0})).empty());
  CHECK(slow_nodes(nodes_with_memory({100.0, 100.0, 100.0, 89.0})) == Names{"n4"});  // MAD 0
}

TEST_CASE("judge_nodes: two nodes are no peers", "[runner]") {
  CHECK(slow_nodes(nodes_with_memory({100.0, 50.0})).empty());
  CHECK(slow_nodes(nodes_with_memory({100.0, 100.0, 50.0})) == Names{"n3"});
}

TEMPLATE_TEST_CASE("MatrixKernel: is a matrix product", "[runner]", float, double) {
  MatrixKernel<TestType> kernel;
  constexpr auto n = MatrixKernel<TestType>::n;
  CHECK(kernel.multiply() == 2.0 * n * n * n);
  for (std::size_t row = 0; row < n; row += 5) {
    for (std::size_t column = 0; column < n; column += 7) {
      REQUIRE(kernel.element(row, column) == kernel.expected(row, column));
    }
  }
}

TEST_CASE("probe_for_task: facts and figures of this machine, in under 2 s", "[runner]") {
  // Of processor time: other programs may keep ours waiting for as long as they like.
  const std::clock_t began = std::clock();
  const NodeRecord record = probe_for_task("here", {}, {.nvml = "/no/such/library.so"});
  const double each_core_s =
      static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC / std::max(1, record.facts.cores);
  CHECK(each_core_s < 2.0);
  CHECK(record.facts.node == "here");
  REQUIRE(record.figures.memory_bytes_per_s);
  CHECK(*record.figures.memory_bytes_per_s > 1e8);
  CHECK(*record.figures.memory_bytes_per_s < 1e13);
  CHECK(*record.figures.fp64_flops > 1e7);
  CHECK(*record.figures.fp32_flops < 1e15);
  CHECK_FALSE(record.figures.gpu_fp32_flops);
  CHECK(record.figures.no_gpu_figures_because == "no GPU");
}

TEST_CASE("GpuProbe: a plug-in that is not there, or is none, is said", "[runner]") {
  const auto missing = GpuProbe::load("/no/such/plugin.so");
  REQUIRE_FALSE(missing);
  CHECK_THAT(missing.error().message, Catch::Contains("is not installed"));
  const auto other = GpuProbe::load(SLURMTUNE_FAKE_NVML_LIBRARY);
  REQUIRE_FALSE(other);
  CHECK_THAT(other.error().message, Catch::Contains("not of this version"));
}

}  // namespace slurmtune
