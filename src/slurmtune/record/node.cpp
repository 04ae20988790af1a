// SPDX-License-Identifier: MIT
#include "slurmtune/record/node.hpp"

#include <utility>

#include <nlohmann/json.hpp>

#include "slurmtune/record/json_fields.hpp"

namespace slurmtune {

namespace {

constexpr std::string_view format_name = "slurmtune.probe";
constexpr int format_version = 1;

void put_text(Json& json, std::string_view key, const std::string& text) {
  if (!text.empty()) json[std::string(key)] = text;
}

Json to_json(const NetworkInterface& interface) {
  Json json = {{"name", interface.name}, {"state", interface.state}};
  put(json, "bits_per_s", interface.bits_per_s);
  return json;
}

Expected<NetworkInterface> interface_from_json(const Json& json, std::string_view where) {
  NetworkInterface interface;
  JsonFields fields(json, where);
  fields.required("name", interface.name);
  fields.optional("state", interface.state);
  fields.optional("bits_per_s", interface.bits_per_s);
  return fields.into(std::move(interface));
}

Json to_json(const NodeFacts& facts) {
  Json json = {{"cores", facts.cores}, {"cores_online", facts.cores_online}, {"gpus", facts.gpus}};
  put_text(json, "processor", facts.processor);
  put(json, "host_bytes", facts.host_bytes);
  put(json, "memory_limit_bytes", facts.memory_limit_bytes);
  put_text(json, "gpu", facts.gpu);
  put(json, "gpu_bytes", facts.gpu_bytes);
  put_text(json, "driver", facts.driver);
  put_text(json, "no_gpu_because", facts.no_gpu_because);
  Json interfaces = Json::array();
  for (const NetworkInterface& one : facts.interfaces) interfaces.push_back(to_json(one));
  json["interfaces"] = std::move(interfaces);
  return json;
}

Expected<NodeFacts> facts_from_json(const Json& json, std::string_view where) {
  NodeFacts facts;
  JsonFields fields(json, where);
  fields.optional("processor", facts.processor);
  fields.optional("cores", facts.cores);
  fields.optional("cores_online", facts.cores_online);
  fields.optional("host_bytes", facts.host_bytes);
  fields.optional("memory_limit_bytes", facts.memory_limit_bytes);
  fields.optional("gpu", facts.gpu);
  fields.optional("gpus", facts.gpus);
  fields.optional("gpu_bytes", facts.gpu_bytes);
  fields.optional("driver", facts.driver);
  fields.optional("no_gpu_because", facts.no_gpu_because);
  fields.optional("interfaces", facts.interfaces, interface_from_json);
  return fields.into(std::move(facts));
}

Json to_json(const NodeFigures& figures) {
  Json json = Json::object();
  put(json, "memory_bytes_per_s", figures.memory_bytes_per_s);
  put(json, "fp32_flops", figures.fp32_flops);
  put(json, "fp64_flops", figures.fp64_flops);
  put(json, "gpu_memory_bytes_per_s", figures.gpu_memory_bytes_per_s);
  put(json, "gpu_fp32_flops", figures.gpu_fp32_flops);
  put(json, "gpu_fp16_flops", figures.gpu_fp16_flops);
  put(json, "gpu_bf16_flops", figures.gpu_bf16_flops);
  put_text(json, "no_gpu_figures_because", figures.no_gpu_figures_because);
  return json;
}

Expected<NodeFigures> figures_from_json(const Json& json, std::string_view where) {
  NodeFigures figures;
  JsonFields fields(json, where);
  fields.optional("memory_bytes_per_s", figures.memory_bytes_per_s);
  fields.optional("fp32_flops", figures.fp32_flops);
  fields.optional("fp64_flops", figures.fp64_flops);
  fields.optional("gpu_memory_bytes_per_s", figures.gpu_memory_bytes_per_s);
  fields.optional("gpu_fp32_flops", figures.gpu_fp32_flops);
  fields.optional("gpu_fp16_flops", figures.gpu_fp16_flops);
  fields.optional("gpu_bf16_flops", figures.gpu_bf16_flops);
  fields.optional("no_gpu_figures_because", figures.no_gpu_figures_because);
  return fields.into(std::move(figures));
}

}  // namespace

Json to_json(const NodeRecord& record) {
  Json json = {{"node", record.facts.node},
               {"facts", to_json(record.facts)},
               {"figures", to_json(record.figures)}};
  put_text(json, "slow", record.slow);
  return json;
}

Expected<NodeRecord> node_from_json(const Json& json, std::string_view where) {
  NodeRecord record;
  std::string node;
  JsonFields fields(json, where);
  fields.required("node", node);
  fields.optional("facts", record.facts, facts_from_json);
  fields.optional("figures", record.figures, figures_from_json);
  fields.optional("slow", record.slow);
  record.facts.node = std::move(node);
  return fields.into(std::move(record));
}

Expected<std::string> render_probe(const ProbeResult& result) {
  Json nodes = Json::array();
  for (const NodeRecord& node : result.nodes) nodes.push_back(to_json(node));
  Json json = {{"format", format_name},
               {"version", format_version},
               {"nodes", std::move(nodes)},
               {"notes", result.notes}};
  put(json, "mpi_all_reduce_bytes_per_s", result.mpi_all_reduce_bytes_per_s);
  put(json, "mpi_all_reduce_latency_s", result.mpi_all_reduce_latency_s);
  put(json, "nccl_all_reduce_bytes_per_s", result.nccl_all_reduce_bytes_per_s);
  return canonical_json(json);
}

Expected<ProbeResult> parse_probe(std::string_view text, std::string_view where) {
  SLURMTUNE_TRY(const Json json, parse_json(text, where));
  SLURMTUNE_CHECK(check_format(json, format_name, format_version, where));
  ProbeResult result;
  JsonFields fields(json, where);
  fields.required("nodes", result.nodes, node_from_json);
  fields.optional("mpi_all_reduce_bytes_per_s", result.mpi_all_reduce_bytes_per_s);
  fields.optional("mpi_all_reduce_latency_s", result.mpi_all_reduce_latency_s);
  fields.optional("nccl_all_reduce_bytes_per_s", result.nccl_all_reduce_bytes_per_s);
  fields.optional("notes", result.notes);
  return fields.into(std::move(result));
}

}  // namespace slurmtune
