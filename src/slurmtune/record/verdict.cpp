// SPDX-License-Identifier: MIT
#include "slurmtune/record/verdict.hpp"

#include <cmath>
#include <utility>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "slurmtune/record/json_fields.hpp"

namespace slurmtune {

namespace {

constexpr std::string_view format_name = "slurmtune.verdict";
constexpr int format_version = 1;

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json to_json(const Evidence& evidence) {
  return {{"rank", or_null(evidence.rank)},
          {"node", evidence.node},
          {"exit", or_null(evidence.exit_code)},
          {"signal", or_null(evidence.signal)},
          {"log", evidence.log},
          {"line", evidence.line}};
}

Expected<Evidence> evidence_from_json(const Json& json, std::string_view where) {
  Evidence evidence;
  JsonFields fields(json, where);
  fields.optional("rank", evidence.rank);
  fields.optional("node", evidence.node);
  fields.optional("exit", evidence.exit_code);
  fields.optional("signal", evidence.signal);
  fields.optional("log", evidence.log);
  fields.optional("line", evidence.line);
  return fields.into(std::move(evidence));
}

Json to_json(const StepTimes& steps) {
  return {{"warmup", steps.warmup},
          {"measured", steps.measured},
          {"skipped", steps.skipped},
          {"step_s", steps.step_s}};
}

Expected<StepTimes> steps_from_json(const Json& json, std::string_view where) {
  StepTimes steps;
  JsonFields fields(json, where);
  fields.required("warmup", steps.warmup);
  fields.required("measured", steps.measured);
  fields.required("skipped", steps.skipped);
  fields.required("step_s", steps.step_s);
  return fields.into(std::move(steps));
}

Json to_json(const Metrics& metrics) {
  Json json = Json::object();
  put(json, "step_s", metrics.step_s);
  put(json, "throughput", metrics.throughput);
  put(json, "flops_per_gpu", metrics.flops_per_gpu);
  put(json, "peak_gpu_bytes", metrics.peak_gpu_bytes);
  put(json, "peak_host_bytes", metrics.peak_host_bytes);
  put(json, "global_batch", metrics.global_batch);
  put(json, "params", metrics.params);
  if (!metrics.user.empty()) json["user"] = metrics.user;
  return json;
}

Expected<Metrics> metrics_from_json(const Json& json, std::string_view where) {
  Metrics metrics;
  JsonFields fields(json, where);
  fields.optional("step_s", metrics.step_s);
  fields.optional("throughput", metrics.throughput);
  fields.optional("flops_per_gpu", metrics.flops_per_gpu);
  fields.optional("peak_gpu_bytes", metrics.peak_gpu_bytes);
  fields.optional("peak_host_bytes", metrics.peak_host_bytes);
  fields.optional("global_batch", metrics.global_batch);
  fields.optional("params", metrics.params);
  fields.optional("user", metrics.user);
  return fields.into(std::move(metrics));
}

Json to_json(const Hardware& hardware) {
  Json json = {{"gpu", hardware.gpu}, {"driver", hardware.driver}};
  put(json, "gpu_bytes", hardware.gpu_bytes);
  put(json, "host_bytes", hardware.host_bytes);
  put(json, "cores", hardware.cores);
  put(json, "matrix_flops", hardware.matrix_flops);
  put(json, "memory_bytes_per_s", hardware.memory_bytes_per_s);
  if (!hardware.slow_nodes.empty()) json["slow_nodes"] = hardware.slow_nodes;
  return json;
}

Expected<Hardware> hardware_from_json(const Json& json, std::string_view where) {
  Hardware hardware;
  JsonFields fields(json, where);
  fields.optional("gpu", hardware.gpu);
  fields.optional("gpu_bytes", hardware.gpu_bytes);
  fields.optional("driver", hardware.driver);
  fields.optional("host_bytes", hardware.host_bytes);
  fields.optional("cores", hardware.cores);
  fields.optional("matrix_flops", hardware.matrix_flops);
  fields.optional("memory_bytes_per_s", hardware.memory_bytes_per_s);
  fields.optional("slow_nodes", hardware.slow_nodes);
  return fields.into(std::move(hardware));
}

Json line_of(const Verdict& verdict) {
  Json json = {{"type", "verdict"},
               {"experiment", verdict.experiment.text},
               {"configuration", verdict.configuration.text},
               {"attempt", verdict.attempt},
               {"outcome", name_of(verdict.outcome)},
               {"reason", verdict.reason},
               {"evidence", verdict.evidence ? to_json(*verdict.evidence) : Json(nullptr)},
               {"lane", verdict.lane},
               {"nodes", verdict.nodes},
               {"started", format_instant(verdict.started)},
               {"ended", format_instant(verdict.ended)},
               {"startup_s", verdict.startup_s},
               {"wall_s", verdict.wall_s},
               {"steps", to_json(verdict.steps)},
               {"metrics", to_json(verdict.metrics)},
               {"hardware", to_json(verdict.hardware)},
               {"source", verdict.source}};
  if (!verdict.note.empty()) json["note"] = verdict.note;
  return json;
}

Expected<Verdict> verdict_from_json(const Json& json, std::string_view where) {
  Verdict verdict;
  JsonFields fields(json, where);
  fields.required("experiment", verdict.experiment);
  fields.required("configuration", verdict.configuration);
  fields.required("attempt", verdict.attempt);
  fields.required_name("outcome", verdict.outcome, outcome_named);
  fields.required("reason", verdict.reason);
  fields.optional("evidence", verdict.evidence, evidence_from_json);
  fields.required("lane", verdict.lane);
  fields.required("nodes", verdict.nodes);
  fields.required("started", verdict.started);
  fields.required("ended", verdict.ended);
  fields.optional("startup_s", verdict.startup_s);
  fields.optional("wall_s", verdict.wall_s);
  fields.optional("steps", verdict.steps, steps_from_json);
  fields.optional("metrics", verdict.metrics, metrics_from_json);
  fields.optional("hardware", verdict.hardware, hardware_from_json);
  fields.optional("source", verdict.source);
  fields.optional("note", verdict.note);
  return fields.into(std::move(verdict));
}

Json line_of(const TaskStart& start) {
  Json json = {{"format", format_name},
               {"version", format_version},
               {"type", "task_start"},
               {"study", start.study.text},
               {"stage", start.stage.text},
               {"slice", start.slice},
               {"array_job", start.array_job},
               {"task", start.task},
               {"restart", start.restart},
               {"nodes", start.nodes},
               {"allocated_nodes", start.allocated_nodes},
               {"gpus", start.gpus},
               {"at", format_instant(start.at)},
               {"runner", start.runner}};
  if (start.ends_by) json["ends_by"] = format_instant(*start.ends_by);
  return json;
}

Expected<TaskStart> task_start_from_json(const Json& json, std::string_view where) {
  SLURMTUNE_CHECK(check_format(json, format_name, format_version, where));
  TaskStart start;
  std::string type;
  JsonFields fields(json, where);
  fields.required("type", type);
  fields.check(type == "task_start", "type must be task_start in the first line");
  fields.required("study", start.study);
  fields.required("stage", start.stage);
  fields.required("slice", start.slice);
  fields.required("array_job", start.array_job);
  fields.required("task", start.task);
  fields.required("restart", start.restart);
  fields.required("nodes", start.nodes);
  fields.required("allocated_nodes", start.allocated_nodes);
  fields.required("gpus", start.gpus);
  fields.required("at", start.at);
  fields.optional("ends_by", start.ends_by);
  fields.optional("runner", start.runner);
  return fields.into(std::move(start));
}

Json line_of(const NodeRecord& node) {
  Json json = to_json(node);
  json["type"] = "node";
  return json;
}

Json line_of(const Heartbeat& heartbeat) {
  return {{"type", "heartbeat"}, {"at", format_instant(heartbeat.at)}};
}

Expected<Heartbeat> heartbeat_from_json(const Json& json, std::string_view where) {
  Heartbeat heartbeat;
  JsonFields fields(json, where);
  fields.required("at", heartbeat.at);
  return fields.into(heartbeat);
}

Json line_of(const TaskEnd& end) {
  return {{"type", "task_end"},
          {"at", format_instant(end.at)},
          {"reason", end.reason},
          {"node_seconds", end.node_seconds}};
}

Expected<TaskEnd> task_end_from_json(const Json& json, std::string_view where) {
  TaskEnd end;
  JsonFields fields(json, where);
  fields.required("at", end.at);
  fields.required("reason", end.reason);
  fields.required("node_seconds", end.node_seconds);
  return fields.into(std::move(end));
}

/// Adds a line after the first to a shard.
Expected<void> add_line(const Json& json, std::string_view where, Shard& shard) {
  std::string type;
  JsonFields fields(json, where);
  fields.required("type", type);
  fields.check(type != "task_start", "type may be task_start only in the first line");
  SLURMTUNE_CHECK(fields.into(true));
  if (type == "node") {
    SLURMTUNE_TRY(NodeRecord node, node_from_json(json, where));
    shard.nodes.push_back(std::move(node));
  } else if (type == "verdict") {
    SLURMTUNE_TRY(Verdict verdict, verdict_from_json(json, where));
    shard.verdicts.push_back(std::move(verdict));
  } else if (type == "heartbeat") {
    SLURMTUNE_TRY(shard.last_heartbeat, heartbeat_from_json(json, where));
  } else if (type == "task_end") {
    SLURMTUNE_TRY(shard.end, task_end_from_json(json, where));
  }
  return {};
}

}  // namespace

Hardware hardware_of(std::span<const NodeRecord> nodes) {
  Hardware hardware;
  const auto least = [](auto& kept, const auto& value) {
    if (value && (!kept || *value < *kept)) kept = value;
  };
  for (const NodeRecord& node : nodes) {
    const NodeFacts& facts = node.facts;
    const NodeFigures& figures = node.figures;
    if (hardware.gpu.empty()) hardware.gpu = facts.gpu;
    if (hardware.driver.empty()) hardware.driver = facts.driver;
    least(hardware.gpu_bytes, facts.gpu_bytes);
    least(hardware.host_bytes, facts.host_bytes);
    least(hardware.host_bytes, facts.memory_limit_bytes);
    if (facts.cores > 0) least(hardware.cores, std::optional<std::int64_t>(facts.cores));
    const bool by_gpu = facts.gpus > 0;
    least(hardware.matrix_flops, by_gpu ? figures.gpu_fp32_flops : figures.fp32_flops);
    least(hardware.memory_bytes_per_s,
          by_gpu ? figures.gpu_memory_bytes_per_s : figures.memory_bytes_per_s);
    if (!node.slow.empty()) hardware.slow_nodes.push_back(facts.node);
  }
  return hardware;
}

Expected<std::string> render_shard_line(const ShardLine& line) {
  return canonical_json(std::visit([](const auto& held) { return line_of(held); }, line));
}

Verdict writable(Verdict verdict) {
  const auto line = render_shard_line(verdict);
  if (line) return verdict;
  verdict.metrics = {};
  verdict.hardware.gpu_bytes.reset();
  verdict.steps.step_s.clear();
  if (!std::isfinite(verdict.startup_s)) verdict.startup_s = 0.0;
  if (!std::isfinite(verdict.wall_s)) verdict.wall_s = 0.0;
  if (verdict.outcome != Outcome::ok) return verdict;
  verdict.outcome = Outcome::nan;
  verdict.reason = "figure_out_of_range";
  verdict.evidence.emplace().line = line.error().message;
  return verdict;
}

Expected<Shard> parse_shard(std::string_view text, std::string_view where) {
  std::optional<Shard> shard;
  for (int number = 1; !text.empty(); ++number) {
    const std::string here = fmt::format("{}:{}", where, number);
    const std::size_t end = text.find('\n');
    auto json = parse_json_line(text.substr(0, end), here);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (!json) {
      if (text.empty()) break;  // torn: its writer died, or is still writing
      return tl::unexpected<Error>(std::move(json).error());
    }
    if (shard) {
      SLURMTUNE_CHECK(add_line(*json, here, *shard));
    } else {
      SLURMTUNE_TRY(TaskStart start, task_start_from_json(*json, here));
      shard.emplace().start = std::move(start);
    }
  }
  if (!shard) {
    return unavailable(fmt::format("{}:1: the first line is not whole yet; look again", where));
  }
  return *std::move(shard);
}

}  // namespace slurmtune
