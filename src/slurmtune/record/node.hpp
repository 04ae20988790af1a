// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "slurmtune/base/error.hpp"
#include "slurmtune/record/json.hpp"

namespace slurmtune {

/// A network interface, or a port of an InfiniBand adapter (`mlx5_0/1`).
struct NetworkInterface {
  std::string name;
  std::string state;                 ///< `up`, `down`, `active`, … in the kernel's own words
  std::optional<double> bits_per_s;  ///< absent where the kernel does not tell

  bool operator==(const NetworkInterface&) const = default;
};

/// What one node is. Absent, 0 or "" = not known.
struct NodeFacts {
  std::string node;
  std::string processor;
  int cores = 0;         ///< that we may run on
  int cores_online = 0;  ///< of the node
  std::optional<double> host_bytes;
  std::optional<double> memory_limit_bytes;  ///< of our control group
  std::string gpu;                           ///< model of the first one that is ours
  int gpus = 0;                              ///< that we may use
  std::optional<double> gpu_bytes;           ///< usable memory of the smallest of them
  std::string driver;
  std::string no_gpu_because;
  std::vector<NetworkInterface> interfaces;

  bool operator==(const NodeFacts&) const = default;
};

/// What was measured on one node, all cores or one GPU at work. Absent = not measured.
struct NodeFigures {
  std::optional<double> memory_bytes_per_s;  ///< triad over all cores
  std::optional<double> fp32_flops;          ///< matrix product over all cores, our own kernel
  std::optional<double> fp64_flops;
  std::optional<double> gpu_memory_bytes_per_s;  ///< copy within the slowest GPU, read and written
  std::optional<double> gpu_fp32_flops;          ///< cuBLAS, the slowest GPU; no TF32
  std::optional<double> gpu_fp16_flops;
  std::optional<double> gpu_bf16_flops;
  std::string no_gpu_figures_because;

  bool operator==(const NodeFigures&) const = default;
};

struct NodeRecord {
  NodeFacts facts;
  NodeFigures figures;
  /// In what it is slow against its peers, with figures; "" if it is not, or cannot be compared.
  std::string slow;

  bool operator==(const NodeRecord&) const = default;
};

/// What `slurmtune probe` finds.
struct ProbeResult {
  std::vector<NodeRecord> nodes;
  /// Bus bandwidth of an all-reduce over the nodes, 2 (n - 1) / n bytes / time.
  /// Source: "Performance reported by NCCL tests", NVIDIA nccl-tests.
  std::optional<double> mpi_all_reduce_bytes_per_s;
  std::optional<double> mpi_all_reduce_latency_s;     ///< of 8 bytes
  std::optional<double> nccl_all_reduce_bytes_per_s;  ///< over all GPUs of all nodes
  std::vector<std::string> notes;                     ///< what was not done, and why

  bool operator==(const ProbeResult&) const = default;
};

[[nodiscard]] Json to_json(const NodeRecord& record);
[[nodiscard]] Expected<NodeRecord> node_from_json(const Json& json, std::string_view where);

/// `slurmtune.probe`, version 1, canonical JSON.
[[nodiscard]] Expected<std::string> render_probe(const ProbeResult& result);
/// Errors: corrupt_data.
[[nodiscard]] Expected<ProbeResult> parse_probe(std::string_view text, std::string_view where);

}  // namespace slurmtune
