// SPDX-License-Identifier: MIT
#include "slurmtune/record/node.hpp"

#include <array>
#include <string>

#include <nlohmann/json.hpp>

#include "slurmtune/record/verdict.hpp"

#include "tests/support/catch.hpp"
#include "tests/unit/record/field_checks.hpp"
#include "tests/unit/record/random_records.hpp"

using namespace slurmtune;

TEST_CASE("parse_probe: version 1 stays readable", "[record]") {
  const std::string text = test_data("formats/probe-v1.json");
  const ProbeResult result = parse_probe(text, "probe-v1.json").value();
  REQUIRE(result.nodes.size() == 2);
  const NodeRecord& first = result.nodes.front();
  CHECK(first.facts.node == "n1");
  CHECK(first.facts.processor == "AMD EPYC 7763");
  CHECK(first.facts.cores == 64);
  CHECK(first.facts.cores_online == 128);
  CHECK(first.facts.memory_limit_bytes == 2.5e11);
  CHECK(first.facts.gpu == "NVIDIA A100-SXM4-40GB");
  CHECK(first.facts.gpus == 4);
  CHECK(first.facts.interfaces ==
        std::vector<NetworkInterface>{{"hsn0", "up", 2e11}, {"lo", "unknown", std::nullopt}});
  CHECK(first.figures.gpu_bf16_flops == 2.6e14);
  CHECK(first.slow.empty());
  CHECK(result.nodes.back().slow == "memory_bytes_per_s: 20 % below the median");
  CHECK(result.mpi_all_reduce_bytes_per_s == 9e9);
  CHECK(result.notes == std::vector<std::string>{"fewer than 3 nodes"});
  CHECK(render_probe(result).value() + "\n" == text);
}

TEST_CASE("parse_probe: reads back what render_probe writes", "[record]") {
  RandomRecords records(Seed{71});
  for (int i = 0; i < 200; ++i) {
    ProbeResult made;
    made.nodes = {records.node(), records.node()};
    made.nccl_all_reduce_bytes_per_s = 1e11;
    made.mpi_all_reduce_latency_s = 1e-6;
    made.notes = {made.nodes.front().facts.gpu};
    REQUIRE(parse_probe(render_probe(made).value(), "p") == made);
  }
}

TEST_CASE("parse_probe: needs its nodes and their names, and nothing else", "[record]") {
  const Json probe = Json::parse(test_data("formats/probe-v1.json"));
  const auto read = [](const std::string& text) -> Expected<void> {
    SLURMTUNE_CHECK(parse_probe(text, "p"));
    return {};
  };
  check_fields(probe, "", {"format", "version", "nodes"}, "p", read);
  check_fields(probe, "/nodes/0/facts", {}, "p", read);
  check_fields(probe, "/nodes/0/figures", {}, "p", read);
}

TEST_CASE("hardware_of: of several nodes the least, by the GPU where there is one", "[record]") {
  NodeRecord one;
  one.facts.node = "n1";
  one.facts.cores = 8;
  one.facts.host_bytes = 2e11;
  one.figures.fp32_flops = 5e11;
  one.figures.memory_bytes_per_s = 1e11;
  NodeRecord two = one;
  two.facts.node = "n2";
  two.facts.cores = 6;
  two.facts.memory_limit_bytes = 1e11;
  two.figures.fp32_flops = 4e11;
  two.slow = "fp32_flops: 20 % below the median";
  const std::array<NodeRecord, 2> hosts{one, two};
  const Hardware host = hardware_of(hosts);
  CHECK(host.gpu.empty());
  CHECK(host.cores == 6);
  CHECK(host.host_bytes == 1e11);
  CHECK(host.matrix_flops == 4e11);
  CHECK(host.memory_bytes_per_s == 1e11);
  CHECK(host.slow_nodes == std::vector<std::string>{"n2"});

  one.facts.gpu = "NVIDIA H100";
  one.facts.gpus = 4;
  one.facts.gpu_bytes = 8e10;
  one.facts.driver = "570.1";
  one.figures.gpu_fp32_flops = 5e13;
  one.figures.gpu_memory_bytes_per_s = 3e12;
  const std::array<NodeRecord, 1> gpus{one};
  const Hardware gpu = hardware_of(gpus);
  CHECK(gpu.gpu == "NVIDIA H100");
  CHECK(gpu.driver == "570.1");
  CHECK(gpu.gpu_bytes == 8e10);
  CHECK(gpu.matrix_flops == 5e13);
  CHECK(gpu.memory_bytes_per_s == 3e12);
  CHECK(hardware_of({}) == Hardware{});
}
