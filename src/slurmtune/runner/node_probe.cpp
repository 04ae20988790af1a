// SPDX-License-Identifier: MIT
#include "slurmtune/runner/node_probe.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <mpi.h>
#include <nlohmann/json.hpp>

#include "slurmtune/model/slow_nodes.hpp"
#include "slurmtune/record/json.hpp"
#include "slurmtune/runner/node/cpu_probe.hpp"
#include "slurmtune/runner/node/gpu_probe.hpp"
#include "slurmtune/runner/node/node_facts.hpp"

namespace slurmtune {

namespace {

constexpr std::chrono::duration<double> each_figure{0.5};
constexpr std::size_t all_reduce_bytes = std::size_t{64} << 20U;

/// All ranks' texts in the order of the ranks, on rank 0.
std::vector<std::string> gather_texts(const RankGroup& group, const std::string& own) {
  if (group.size() == 1) return {own};
  const int length = static_cast<int>(own.size());
  const auto ranks = static_cast<std::size_t>(group.size());
  std::vector<int> lengths(ranks);
  MPI_Gather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, 0, MPI_COMM_WORLD);
  std::vector<int> starts(ranks);
  int total = 0;
  for (std::size_t i = 0; i < ranks; ++i) {
    starts[i] = total;
    total += lengths[i];
  }
  std::string all(static_cast<std::size_t>(total), '\0');
  MPI_Gatherv(own.data(), length, MPI_CHAR, all.data(), lengths.data(), starts.data(), MPI_CHAR, 0,
              MPI_COMM_WORLD);
  std::vector<std::string> texts;
  if (group.rank() != 0) return texts;
  for (std::size_t i = 0; i < ranks; ++i) {
    texts.push_back(
        all.substr(static_cast<std::size_t>(starts[i]), static_cast<std::size_t>(lengths[i])));
  }
  return texts;
}

/// The slowest rank's mean time of an all-reduce over `count` floats.
double all_reduce_s(std::vector<float>& values, int count) {
  const auto reduce = [&] {
    MPI_Allreduce(MPI_IN_PLACE, values.data(), count, MPI_FLOAT, MPI_MAX, MPI_COMM_WORLD);
  };
  reduce();  // connections are made by the first
  constexpr int trial_rounds = 2;
  double round_s = MPI_Wtime();
  for (int i = 0; i < trial_rounds; ++i) reduce();
  round_s = (MPI_Wtime() - round_s) / trial_rounds;
  int rounds = static_cast<int>(std::clamp(each_figure.count() / round_s, 2.0, 10'000.0));
  MPI_Bcast(&rounds, 1, MPI_INT, 0, MPI_COMM_WORLD);  // all must do the same number
  double mean_s = MPI_Wtime();
  for (int i = 0; i < rounds; ++i) reduce();
  mean_s = (MPI_Wtime() - mean_s) / rounds;
  double slowest_s = mean_s;
  MPI_Allreduce(&mean_s, &slowest_s, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return slowest_s;
}

void measure_all_reduce(const RankGroup& group, ProbeResult& result) {
  constexpr int few = 2;  // 8 bytes
  constexpr int many = all_reduce_bytes / sizeof(float);
  std::vector<float> values(many, 1.0F);
  result.mpi_all_reduce_latency_s = all_reduce_s(values, few);
  const double ranks = group.size();
  result.mpi_all_reduce_bytes_per_s = 2.0 * (ranks - 1.0) / ranks *
                                      static_cast<double>(all_reduce_bytes) /
                                      all_reduce_s(values, many);
}

/// The least of a number over all ranks, on each of them.
int least(const RankGroup& group, int own) {
  int all = own;
  if (group.size() > 1) MPI_Allreduce(&own, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  return all;
}

/// Where this node's GPUs stand among all, by rank.
NcclPlace nccl_place(const RankGroup& group, int own_gpus) {
  NcclPlace place{0, own_gpus};
  if (group.size() == 1) return place;
  MPI_Exscan(&own_gpus, &place.first_rank, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (group.rank() == 0) place.first_rank = 0;
  MPI_Allreduce(&own_gpus, &place.ranks, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  return place;
}

Expected<double> measure_nccl(const RankGroup& group, const GpuProbe& probe, int own_gpus) {
  const NcclPlace place = nccl_place(group, own_gpus);
  NcclId id{};
  std::string why;
  if (group.rank() == 0) {
    const auto made = probe.nccl_id();
    if (made) id = *made;
    if (!made) why = made.error().message;
  }
  if (least(group, why.empty() ? 1 : 0) == 0) {
    return unavailable(why.empty() ? "another rank has no NCCL" : why);
  }
  if (group.size() > 1) {
    MPI_Bcast(id.bytes, static_cast<int>(nccl_id_bytes), MPI_CHAR, 0, MPI_COMM_WORLD);
  }
  return probe.all_reduce(id, place, all_reduce_bytes);
}

/// Figures of this node's GPUs, and of NCCL over those of all nodes.
void measure_gpus(const RankGroup& group, NodeRecord& own, ProbeResult& result) {
  std::string why = own.facts.gpus > 0 ? "" : "no GPU";
  std::optional<GpuProbe> probe;
  if (why.empty()) {
    auto loaded = GpuProbe::load();
    if (loaded) probe = *loaded;
    if (!loaded) why = loaded.error().message;
  }
  if (probe) {
    const auto done = probe->measure(own.figures, each_figure);
    if (!done) why = done.error().message;
  }
  own.figures.no_gpu_figures_because = why;
  const bool all_have_gpus = least(group, why.empty() ? 1 : 0) == 1;
  if (!all_have_gpus) return;
  const auto rate = measure_nccl(group, *probe, own.facts.gpus);
  if (rate && *rate > 0.0) result.nccl_all_reduce_bytes_per_s = *rate;
  if (!rate) result.notes.push_back("no NCCL all-reduce: " + rate.error().message);
}

void collect(const RankGroup& group, const NodeRecord& own, ProbeResult& result) {
  const auto text = canonical_json(to_json(own));
  for (const std::string& each : gather_texts(group, text ? *text : "")) {
    const auto json = parse_json(each, "a rank's answer");
    auto node = json ? node_from_json(*json, "a rank's answer")
                     : Expected<NodeRecord>(tl::unexpected<Error>(json.error()));
    if (node) result.nodes.push_back(*std::move(node));
    if (!node) result.notes.push_back(node.error().message);
  }
}

}  // namespace

ProbeResult probe_nodes(const RankGroup& group, const Environment& environment) {
  ProbeResult result;
  NodeRecord own;
  own.facts =
      read_node_facts(group.nodes().at(static_cast<std::size_t>(group.rank())).node, environment);
  // All at once: nodes that share power or a chassis are measured as trials will use them.
  if (group.size() > 1) MPI_Barrier(MPI_COMM_WORLD);
  measure_cpu(own.figures, {.each = each_figure});
  measure_gpus(group, own, result);
  if (group.size() > 1) {
    measure_all_reduce(group, result);
  } else {
    result.notes.emplace_back("one node: no all-reduce was measured");
  }
  collect(group, own, result);
  judge_nodes(result.nodes);
  if (group.size() < static_cast<int>(peers_min)) {
    result.notes.push_back(fmt::format(
        "nodes are compared with their peers from {} nodes on: none is called slow", peers_min));
  }
  return result;
}

}  // namespace slurmtune
