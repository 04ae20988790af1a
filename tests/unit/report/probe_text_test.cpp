// SPDX-License-Identifier: MIT
#include "tests/support/catch.hpp"
#include "tests/unit/report/report_fixture.hpp"

using namespace slurmtune;
using namespace slurmtune::test;

namespace {

NodeRecord host(const std::string& name) {
  NodeRecord node;
  node.facts.node = name;
  node.facts.cores = 8;
  node.facts.cores_online = 16;
  node.facts.host_bytes = 64e9;
  node.facts.no_gpu_because = "no NVML";
  node.facts.interfaces = {{"eth0", "up", 25e9}};
  node.figures.memory_bytes_per_s = 1.234e11;
  node.figures.fp32_flops = 9.996e11;
  return node;
}

}  // namespace

TEST_CASE("a probe's text has a row a node, and what lies between them", "[report]") {
  ProbeResult result;
  result.nodes = {host("n1"), host("n2")};
  result.nodes[1].facts.memory_limit_bytes = 32e9;
  result.mpi_all_reduce_bytes_per_s = 1.1e9;
  result.mpi_all_reduce_latency_s = 25e-6;
  result.notes = {"one\nnote"};
  const std::string text = probe_text(result, Colour::never);
  CHECK(contains(text, "8 of 16"));
  CHECK(contains(text, "64 GB"));
  CHECK(contains(text, "32 GB"));
  CHECK(contains(text, "123 GB/s"));
  CHECK(contains(text, "1 TFLOP/s"));
  CHECK(contains(text, "n1, n2: eth0 (up, 25 Gbit/s)"));
  CHECK(contains(text, "n1, n2: no figures of GPUs: no NVML"));
  CHECK(contains(text, "MPI: 1.1 GB/s bus bandwidth, 25 us for 8 bytes"));
  CHECK(contains(text, "Note: one note\n"));
  CHECK_FALSE(contains(text, "GPUs  "));
  CHECK_FALSE(contains(text, "exclude"));
  CHECK_FALSE(contains(text, "NCCL"));
}

TEST_CASE("a probe's text tells slow nodes and what to write to leave them out", "[report]") {
  ProbeResult result;
  result.nodes = {host("n1"), host("n2"), host("n3")};
  for (const std::size_t slow : {0U, 2U}) {
    result.nodes[slow].slow = "fp32_flops 5e+11, 50 % below the median of 1e+12";
  }
  const std::string text = probe_text(result, Colour::never);
  CHECK(contains(text, "n3 is slow: fp32_flops 5e+11, 50 % below"));
  CHECK(contains(text, "  [slurm]\n  exclude = [\"n1\", \"n3\"]\n"));
}

TEST_CASE("a probe's text has the figures of GPUs where there are any", "[report]") {
  ProbeResult result;
  NodeRecord node = host("n1");
  node.facts.no_gpu_because.clear();
  node.facts.gpu = "NVIDIA H100";
  node.facts.gpus = 4;
  node.facts.gpu_bytes = 85e9;
  node.figures.gpu_bf16_flops = 7.5e14;
  result.nodes = {node};
  result.nccl_all_reduce_bytes_per_s = 4e11;
  const std::string text = probe_text(result, Colour::never);
  CHECK(contains(text, "NVIDIA H100"));
  CHECK(contains(text, "750 TFLOP/s"));
  CHECK(contains(text, "NCCL: 400 GB/s"));
  CHECK_FALSE(contains(text, "no figures"));
}
