// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "slurmtune/report/table.hpp"
#include "slurmtune/report/text.hpp"

namespace slurmtune {

namespace {

/// `1.23 T`: three digits and the largest decimal prefix; `-` for what was not measured.
std::string with_prefix(const std::optional<double>& value, std::string_view unit) {
  constexpr std::array<std::string_view, 6> prefixes{"", "k", "M", "G", "T", "P"};
  if (!value) return "-";
  double number = *value;
  std::size_t prefix = 0;
  while (number >= 999.5 && prefix + 1 < prefixes.size()) {
    number /= 1000.0;
    ++prefix;
  }
  return fmt::format("{:.3g} {}{}", number, prefixes[prefix], unit);
}

/// The least of what the nodes may use: their memory, or their control group's limit.
std::optional<double> host_bytes(const NodeFacts& facts) {
  if (!facts.memory_limit_bytes) return facts.host_bytes;
  return std::min(*facts.memory_limit_bytes, facts.host_bytes.value_or(*facts.memory_limit_bytes));
}

bool any_gpu(const ProbeResult& result) {
  return std::any_of(result.nodes.begin(), result.nodes.end(),
                     [](const NodeRecord& node) { return node.facts.gpus > 0; });
}

std::string host_table(const ProbeResult& result, Colour colour) {
  using Align = Table::Align;
  Table table({{"node"},
               {"cores", Align::right},
               {"memory", Align::right},
               {"triad", Align::right},
               {"fp32", Align::right},
               {"fp64", Align::right},
               {""}});
  for (const NodeRecord& node : result.nodes) {
    const NodeFacts& facts = node.facts;
    const bool slow = !node.slow.empty();
    table.add(
        {facts.node,
         facts.cores == facts.cores_online
             ? fmt::format("{}", facts.cores)
             : fmt::format("{} of {}", facts.cores, facts.cores_online),
         with_prefix(host_bytes(facts), "B"), with_prefix(node.figures.memory_bytes_per_s, "B/s"),
         with_prefix(node.figures.fp32_flops, "FLOP/s"),
         with_prefix(node.figures.fp64_flops, "FLOP/s"), slow ? "slow" : ""},
        slow ? Paint::yellow : Paint::plain);
  }
  return table.render(colour);
}

std::string gpu_table(const ProbeResult& result, Colour colour) {
  using Align = Table::Align;
  Table table({{"node"},
               {"GPUs", Align::right},
               {"model"},
               {"driver"},
               {"memory", Align::right},
               {"copy", Align::right},
               {"fp32", Align::right},
               {"fp16", Align::right},
               {"bf16", Align::right}});
  for (const NodeRecord& node : result.nodes) {
    const NodeFigures& figures = node.figures;
    table.add({node.facts.node, fmt::format("{}", node.facts.gpus), one_line(node.facts.gpu),
               one_line(node.facts.driver), with_prefix(node.facts.gpu_bytes, "B"),
               with_prefix(figures.gpu_memory_bytes_per_s, "B/s"),
               with_prefix(figures.gpu_fp32_flops, "FLOP/s"),
               with_prefix(figures.gpu_fp16_flops, "FLOP/s"),
               with_prefix(figures.gpu_bf16_flops, "FLOP/s")});
  }
  return table.render(colour);
}

/// Why there are no figures of GPUs, each reason once, with its nodes.
std::string missing_gpus(const ProbeResult& result) {
  std::map<std::string, std::string> nodes_by_reason;
  for (const NodeRecord& node : result.nodes) {
    const NodeFacts& facts = node.facts;
    const std::string& why =
        facts.gpus > 0 ? node.figures.no_gpu_figures_because : facts.no_gpu_because;
    if (why.empty()) continue;
    std::string& names = nodes_by_reason[why];
    names += (names.empty() ? "" : ", ") + facts.node;
  }
  std::string text;
  for (const auto& [why, names] : nodes_by_reason) {
    text += fmt::format("  {}: no figures of GPUs: {}\n", names, one_line(why));
  }
  return text;
}

std::string interfaces(const ProbeResult& result) {
  std::map<std::string, std::string> nodes_by_list;
  for (const NodeRecord& node : result.nodes) {
    std::string list;
    for (const NetworkInterface& one : node.facts.interfaces) {
      list += fmt::format("{}{} ({}{})", list.empty() ? "" : ", ", one_line(one.name),
                          one_line(one.state),
                          one.bits_per_s ? ", " + with_prefix(one.bits_per_s, "bit/s") : "");
    }
    std::string& names = nodes_by_list[list];
    names += (names.empty() ? "" : ", ") + node.facts.node;
  }
  std::string text;
  for (const auto& [list, names] : nodes_by_list) {
    if (!list.empty()) text += fmt::format("  {}: {}\n", names, list);
  }
  return text;
}

std::string between_nodes(const ProbeResult& result) {
  std::string text;
  if (result.mpi_all_reduce_bytes_per_s) {
    text += fmt::format("All-reduce over the nodes, MPI: {} bus bandwidth",
                        with_prefix(result.mpi_all_reduce_bytes_per_s, "B/s"));
    if (result.mpi_all_reduce_latency_s) {
      text += fmt::format(", {:.3g} us for 8 bytes", 1e6 * *result.mpi_all_reduce_latency_s);
    }
    text += '\n';
  }
  if (result.nccl_all_reduce_bytes_per_s) {
    text += fmt::format("All-reduce over all GPUs, NCCL: {} bus bandwidth\n",
                        with_prefix(result.nccl_all_reduce_bytes_per_s, "B/s"));
  }
  return text;
}

std::string slow_lines(const ProbeResult& result) {
  std::string list;
  std::string text;
  for (const NodeRecord& node : result.nodes) {
    if (node.slow.empty()) continue;
    text += fmt::format("{} is slow: {}\n", node.facts.node, one_line(node.slow));
    list += fmt::format("{}\"{}\"", list.empty() ? "" : ", ", node.facts.node);
  }
  if (list.empty()) return "";
  return text + fmt::format(
                    "To leave such nodes out, write into study.toml:\n"
                    "  [slurm]\n  exclude = [{}]\n",
                    list);
}

}  // namespace

std::string probe_text(const ProbeResult& result, Colour colour) {
  std::string text = host_table(result, colour);
  if (any_gpu(result)) text += "\n" + gpu_table(result, colour);
  text += missing_gpus(result);
  if (const std::string list = interfaces(result); !list.empty()) text += "\nNetwork:\n" + list;
  if (const std::string rates = between_nodes(result); !rates.empty()) text += "\n" + rates;
  if (const std::string slow = slow_lines(result); !slow.empty()) text += "\n" + slow;
  for (const std::string& note : result.notes) text += "Note: " + one_line(note) + "\n";
  return text;
}

}  // namespace slurmtune
