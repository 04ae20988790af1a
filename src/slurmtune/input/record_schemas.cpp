// SPDX-License-Identifier: MIT
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "slurmtune/input/schemas.hpp"
#include "slurmtune/record/decision.hpp"
#include "slurmtune/record/experiment.hpp"
#include "slurmtune/record/outcome.hpp"

namespace slurmtune {

namespace {

using Json = nlohmann::json;

Json type(std::string_view name) { return {{"type", name}}; }
Json text() { return type("string"); }
Json integer() { return type("integer"); }
Json number() { return type("number"); }
Json list_of(Json items) { return {{"type", "array"}, {"items", std::move(items)}}; }
Json constant(Json value) { return {{"const", std::move(value)}}; }
Json or_null(Json schema) { return {{"anyOf", Json::array({std::move(schema), type("null")})}}; }

struct Field {
  std::string_view name;
  Json schema;
  bool required = true;
};

constexpr bool may_be_absent = false;

// Readers ignore unknown fields, so a schema admits them.
Json object(std::initializer_list<Field> fields) {
  Json properties = Json::object();
  Json required = Json::array();
  for (const Field& field : fields) {
    properties[std::string(field.name)] = field.schema;
    if (field.required) required.push_back(field.name);
  }
  return {
      {"type", "object"}, {"properties", std::move(properties)}, {"required", std::move(required)}};
}

// The names of an enumeration up to its last enumerator.
template <class Enum>
Json words_until(Enum last) {
  Json words = Json::array();
  for (std::size_t i = 0; i <= static_cast<std::size_t>(last); ++i) {
    words.push_back(name_of(static_cast<Enum>(i)));
  }
  return {{"enum", std::move(words)}};
}

Json outcome() { return words_until(Outcome::not_started); }
Json stop() { return words_until(Stop::cancelled); }

Json interval() { return object({{"low", number()}, {"mid", number()}, {"high", number()}}); }

Json values() {
  return {{"type", "object"},
          {"additionalProperties",
           {{"type", Json::array({"boolean", "integer", "number", "string"})}}}};
}

Json experiment_line() {
  const Json limits =
      object({{"startup_s", number()}, {"stall_s", number()}, {"total_s", number()}});
  const Json expected = object({{"fit_probability", number(), may_be_absent},
                                {"peak_gpu_bytes", number(), may_be_absent},
                                {"step_s", number(), may_be_absent}});
  return object({{"experiment", text()},
                 {"configuration", text()},
                 {"values", values()},
                 {"label", text()},
                 {"purpose", words_until(Purpose::confirm)},
                 {"repeat", integer()},
                 {"attempt", integer(), may_be_absent},
                 {"min_steps", integer()},
                 {"max_steps", integer()},
                 {"limits", limits},
                 {"expected", expected, may_be_absent},
                 {"needs_other_node_than", list_of(text()), may_be_absent}});
}

Json verdict_line() {
  const Json evidence = object({{"rank", or_null(integer()), may_be_absent},
                                {"node", text(), may_be_absent},
                                {"exit", or_null(integer()), may_be_absent},
                                {"signal", or_null(integer()), may_be_absent},
                                {"log", text(), may_be_absent},
                                {"line", text(), may_be_absent}});
  const Json steps = object({{"warmup", integer()},
                             {"measured", integer()},
                             {"skipped", integer()},
                             {"step_s", list_of(number())}});
  const Json metrics = object({{"step_s", interval(), may_be_absent},
                               {"throughput", interval(), may_be_absent},
                               {"flops_per_gpu", number(), may_be_absent},
                               {"peak_gpu_bytes", number(), may_be_absent},
                               {"peak_host_bytes", number(), may_be_absent},
                               {"global_batch", integer(), may_be_absent},
                               {"params", number(), may_be_absent},
                               {"user", type("object"), may_be_absent}});
  const Json hardware = object({{"gpu", text(), may_be_absent},
                                {"gpu_bytes", number(), may_be_absent},
                                {"driver", text(), may_be_absent},
                                {"host_bytes", number(), may_be_absent},
                                {"cores", integer(), may_be_absent},
                                {"matrix_flops", number(), may_be_absent},
                                {"memory_bytes_per_s", number(), may_be_absent},
                                {"slow_nodes", list_of(text()), may_be_absent}});
  return object({{"type", constant("verdict")},
                 {"experiment", text()},
                 {"configuration", text()},
                 {"attempt", integer()},
                 {"outcome", outcome()},
                 {"reason", text()},
                 {"evidence", or_null(evidence), may_be_absent},
                 {"lane", integer()},
                 {"nodes", list_of(text())},
                 {"started", text()},
                 {"ended", text()},
                 {"startup_s", number(), may_be_absent},
                 {"wall_s", number(), may_be_absent},
                 {"steps", steps, may_be_absent},
                 {"metrics", metrics, may_be_absent},
                 {"hardware", hardware, may_be_absent},
                 {"source", text(), may_be_absent},
                 {"note", text(), may_be_absent}});
}

Json task_start_line() {
  return object({{"format", constant("slurmtune.verdict")},
                 {"version", constant(1)},
                 {"type", constant("task_start")},
                 {"study", text()},
                 {"stage", text()},
                 {"slice", integer()},
                 {"array_job", integer()},
                 {"task", integer()},
                 {"restart", integer()},
                 {"nodes", list_of(text())},
                 {"allocated_nodes", integer()},
                 {"gpus", integer()},
                 {"at", text()},
                 {"ends_by", text(), may_be_absent},
                 {"runner", text(), may_be_absent}});
}

Json node_facts() {
  const Json interface = object({{"name", text()},
                                 {"state", text(), may_be_absent},
                                 {"bits_per_s", number(), may_be_absent}});
  return object({{"processor", text(), may_be_absent},
                 {"cores", integer(), may_be_absent},
                 {"cores_online", integer(), may_be_absent},
                 {"host_bytes", number(), may_be_absent},
                 {"memory_limit_bytes", number(), may_be_absent},
                 {"gpu", text(), may_be_absent},
                 {"gpus", integer(), may_be_absent},
                 {"gpu_bytes", number(), may_be_absent},
                 {"driver", text(), may_be_absent},
                 {"no_gpu_because", text(), may_be_absent},
                 {"interfaces", list_of(interface), may_be_absent}});
}

Json node_figures() {
  return object({{"memory_bytes_per_s", number(), may_be_absent},
                 {"fp32_flops", number(), may_be_absent},
                 {"fp64_flops", number(), may_be_absent},
                 {"gpu_memory_bytes_per_s", number(), may_be_absent},
                 {"gpu_fp32_flops", number(), may_be_absent},
                 {"gpu_fp16_flops", number(), may_be_absent},
                 {"gpu_bf16_flops", number(), may_be_absent},
                 {"no_gpu_figures_because", text(), may_be_absent}});
}

Json ranked() {
  return object({{"configuration", text()},
                 {"values", values()},
                 {"label", text()},
                 {"throughput", interval()},
                 {"step_s", interval(), may_be_absent},
                 {"peak_gpu_bytes", number(), may_be_absent},
                 {"repeats", integer()}});
}

Json tuning_result() {
  const Json failure = object({{"experiment", text()},
                               {"label", text()},
                               {"outcome", outcome()},
                               {"line", text(), may_be_absent},
                               {"log", text(), may_be_absent}});
  return object({{"stop", stop()},
                 {"best", or_null(ranked()), may_be_absent},
                 {"baseline", or_null(ranked()), may_be_absent},
                 {"baseline_outcome", outcome()},
                 {"speedup", or_null(interval()), may_be_absent},
                 {"probability_best", number()},
                 {"ranking", list_of(ranked())},
                 {"failures", list_of(failure)},
                 {"experiments_run", integer()},
                 {"spent_node_seconds", integer()},
                 {"why", text()}});
}

Json next() {
  return object({{"action", words_until(NextAction::finish)},
                 {"stage", text(), may_be_absent},
                 {"experiments", integer(), may_be_absent},
                 {"slices", integer(), may_be_absent},
                 {"walltime_s", integer(), may_be_absent},
                 {"worst_node_seconds", integer(), may_be_absent},
                 {"reserved_node_seconds", integer(), may_be_absent},
                 {"manifest_sha256", text(), may_be_absent}});
}

}  // namespace

nlohmann::json manifest_schema() {
  const Json incumbent = object({{"configuration", text()}, {"throughput", interval()}});
  const Json header = object({{"format", constant("slurmtune.manifest")},
                              {"version", constant(1)},
                              {"study", text()},
                              {"stage", text()},
                              {"round", integer()},
                              {"inputs", text()},
                              {"lanes", integer()},
                              {"nodes_per_lane", integer()},
                              {"task_walltime_s", integer()},
                              {"slices", list_of(list_of(integer()))},
                              {"incumbent", or_null(incumbent), may_be_absent},
                              {"node_seconds_cap", or_null(integer()), may_be_absent}});
  return {{"anyOf", Json::array({header, experiment_line()})}};
}

nlohmann::json verdict_schema() {
  const Json node = object({{"type", constant("node")},
                            {"node", text()},
                            {"facts", node_facts(), may_be_absent},
                            {"figures", node_figures(), may_be_absent},
                            {"slow", text(), may_be_absent}});
  const Json heartbeat = object({{"type", constant("heartbeat")}, {"at", text()}});
  const Json end = object({{"type", constant("task_end")},
                           {"at", text()},
                           {"reason", text()},
                           {"node_seconds", integer()}});
  return {{"anyOf", Json::array({task_start_line(), node, verdict_line(), heartbeat, end})}};
}

nlohmann::json decision_schema() {
  const Json best = object(
      {{"configuration", text()}, {"throughput", interval()}, {"probability_best", number()}});
  const Json baseline = object({{"configuration", text()},
                                {"outcome", outcome()},
                                {"throughput", or_null(interval()), may_be_absent}});
  const Json read = object({{"verdicts", integer()},
                            {"missing", list_of(text())},
                            {"spent_node_seconds", integer()},
                            {"budget_node_seconds", integer(), may_be_absent},
                            {"budget_experiments", integer(), may_be_absent}});
  const Json conclusion = object({{"about", text()}, {"says", text()}, {"why", list_of(text())}});
  const Json dropped = object({{"what", text()}, {"because", text()}});
  return object({{"format", constant("slurmtune.decision")},
                 {"version", constant(1)},
                 {"study", text()},
                 {"stage", text()},
                 {"round", integer()},
                 {"inputs", text()},
                 {"read", read},
                 {"best", or_null(best), may_be_absent},
                 {"baseline", or_null(baseline), may_be_absent},
                 {"conclusions", list_of(conclusion)},
                 {"dropped", list_of(dropped)},
                 {"next", next()},
                 {"stop", or_null(stop()), may_be_absent},
                 {"result", or_null(tuning_result()), may_be_absent}});
}

}  // namespace slurmtune
