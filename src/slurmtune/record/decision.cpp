// SPDX-License-Identifier: MIT
#include "slurmtune/record/decision.hpp"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "slurmtune/record/json_fields.hpp"
#include "slurmtune/record/name_table.hpp"

namespace slurmtune {

namespace {

constexpr std::string_view format_name = "slurmtune.decision";
constexpr int format_version = 1;

constexpr NameTable<NextAction, 4> actions{{"release", "repeat", "skip_to", "finish"}};
constexpr NameTable<Stop, 8> stops{{"gain", "budget", "deadline", "exhausted",
                                    "baseline_config_error", "nothing_worked", "storage_error",
                                    "cancelled"}};

Json json_of(const BestSoFar& best) {
  return {{"configuration", best.configuration.text},
          {"throughput", to_json(best.throughput)},
          {"probability_best", best.probability_best}};
}

Expected<BestSoFar> best_from_json(const Json& json, std::string_view where) {
  BestSoFar best;
  JsonFields fields(json, where);
  fields.required("configuration", best.configuration);
  fields.required("throughput", best.throughput);
  fields.required("probability_best", best.probability_best);
  return fields.into(std::move(best));
}

Json json_of(const BaselineSoFar& baseline) {
  Json json = {{"configuration", baseline.configuration.text},
               {"outcome", name_of(baseline.outcome)}};
  put(json, "throughput", baseline.throughput);
  return json;
}

Expected<BaselineSoFar> baseline_from_json(const Json& json, std::string_view where) {
  BaselineSoFar baseline;
  JsonFields fields(json, where);
  fields.required("configuration", baseline.configuration);
  fields.required_name("outcome", baseline.outcome, outcome_named);
  fields.optional("throughput", baseline.throughput);
  return fields.into(std::move(baseline));
}

Json json_of(const Conclusion& conclusion) {
  return {{"about", conclusion.about}, {"says", conclusion.says}, {"why", conclusion.why}};
}

Expected<Conclusion> conclusion_from_json(const Json& json, std::string_view where) {
  Conclusion conclusion;
  JsonFields fields(json, where);
  fields.required("about", conclusion.about);
  fields.required("says", conclusion.says);
  fields.required("why", conclusion.why);
  return fields.into(std::move(conclusion));
}

}  // namespace

Json json_of(const Next& next) {
  Json json = {{"action", name_of(next.action)},
               {"experiments", next.experiments},
               {"slices", next.slices},
               {"walltime_s", next.walltime_s},
               {"worst_node_seconds", next.worst_node_seconds},
               {"reserved_node_seconds", next.reserved_node_seconds}};
  if (!next.stage.empty()) json["stage"] = next.stage.text;
  if (!next.manifest_sha256.empty()) json["manifest_sha256"] = next.manifest_sha256;
  return json;
}

Expected<Next> next_from_json(const Json& json, std::string_view where) {
  Next next;
  JsonFields fields(json, where);
  fields.required_name("action", next.action, next_action_named);
  fields.optional("stage", next.stage);
  fields.optional("experiments", next.experiments);
  fields.optional("slices", next.slices);
  fields.optional("walltime_s", next.walltime_s);
  fields.optional("worst_node_seconds", next.worst_node_seconds);
  fields.optional("reserved_node_seconds", next.reserved_node_seconds);
  fields.optional("manifest_sha256", next.manifest_sha256);
  fields.check(next.action == NextAction::finish || !next.stage.empty(),
               "stage is missing: only the action finish has none");
  return fields.into(std::move(next));
}

namespace {

Json json_of(const Ranked& ranked) {
  Json json = {{"configuration", ranked.configuration.text},
               {"values", to_json(ranked.values)},
               {"label", ranked.label},
               {"throughput", to_json(ranked.throughput)},
               {"repeats", ranked.repeats}};
  put(json, "step_s", ranked.step_s);
  put(json, "peak_gpu_bytes", ranked.peak_gpu_bytes);
  return json;
}

Expected<Ranked> ranked_from_json(const Json& json, std::string_view where) {
  Ranked ranked;
  JsonFields fields(json, where);
  fields.required("configuration", ranked.configuration);
  fields.required("values", ranked.values, values_from_json);
  fields.required("label", ranked.label);
  fields.required("throughput", ranked.throughput);
  fields.optional("step_s", ranked.step_s);
  fields.optional("peak_gpu_bytes", ranked.peak_gpu_bytes);
  fields.required("repeats", ranked.repeats);
  return fields.into(std::move(ranked));
}

Json json_of(const Failure& failure) {
  return {{"experiment", failure.experiment.text},
          {"label", failure.label},
          {"outcome", name_of(failure.outcome)},
          {"line", failure.line},
          {"log", failure.log}};
}

Expected<Failure> failure_from_json(const Json& json, std::string_view where) {
  Failure failure;
  JsonFields fields(json, where);
  fields.required("experiment", failure.experiment);
  fields.required("label", failure.label);
  fields.required_name("outcome", failure.outcome, outcome_named);
  fields.optional("line", failure.line);
  fields.optional("log", failure.log);
  return fields.into(std::move(failure));
}

template <class T>
Json object_or_null(const std::optional<T>& value) {
  return value ? json_of(*value) : Json(nullptr);
}

template <class T>
Json list_of(const std::vector<T>& values) {
  Json list = Json::array();
  for (const T& value : values) list.push_back(json_of(value));
  return list;
}

/// What was read to come to a decision.
struct Read {
  std::int64_t verdicts = 0;
  std::vector<ExperimentId> missing;
  std::int64_t spent_node_seconds = 0;
  std::optional<std::int64_t> budget_node_seconds;
  std::optional<std::int64_t> budget_experiments;
};

Expected<Read> read_from_json(const Json& json, std::string_view where) {
  Read read;
  JsonFields fields(json, where);
  fields.required("verdicts", read.verdicts);
  fields.required("missing", read.missing);
  fields.required("spent_node_seconds", read.spent_node_seconds);
  fields.optional("budget_node_seconds", read.budget_node_seconds);
  fields.optional("budget_experiments", read.budget_experiments);
  return fields.into(std::move(read));
}

}  // namespace

Json json_of(const Dropped& dropped) {
  return {{"what", dropped.what}, {"because", dropped.because}};
}

Expected<Dropped> dropped_from_json(const Json& json, std::string_view where) {
  Dropped dropped;
  JsonFields fields(json, where);
  fields.required("what", dropped.what);
  fields.required("because", dropped.because);
  return fields.into(std::move(dropped));
}

std::string_view name_of(NextAction action) { return actions.name_of(action); }

std::optional<NextAction> next_action_named(std::string_view name) { return actions.named(name); }

std::string_view name_of(Stop stop) { return stops.name_of(stop); }

std::optional<Stop> stop_named(std::string_view name) { return stops.named(name); }

Json to_json(const TuningResult& result) {
  Json json = {{"stop", name_of(result.stop)},
               {"best", object_or_null(result.best)},
               {"baseline", object_or_null(result.baseline)},
               {"baseline_outcome", name_of(result.baseline_outcome)},
               {"probability_best", result.probability_best},
               {"ranking", list_of(result.ranking)},
               {"failures", list_of(result.failures)},
               {"experiments_run", result.experiments_run},
               {"spent_node_seconds", result.spent_node_seconds},
               {"why", result.why}};
  put(json, "speedup", result.speedup);
  return json;
}

Expected<TuningResult> tuning_result_from_json(const Json& json, std::string_view where) {
  TuningResult result;
  JsonFields fields(json, where);
  fields.required_name("stop", result.stop, stop_named);
  fields.optional("best", result.best, ranked_from_json);
  fields.optional("baseline", result.baseline, ranked_from_json);
  fields.required_name("baseline_outcome", result.baseline_outcome, outcome_named);
  fields.optional("speedup", result.speedup);
  fields.required("probability_best", result.probability_best);
  fields.required("ranking", result.ranking, ranked_from_json);
  fields.required("failures", result.failures, failure_from_json);
  fields.required("experiments_run", result.experiments_run);
  fields.required("spent_node_seconds", result.spent_node_seconds);
  fields.required("why", result.why);
  return fields.into(std::move(result));
}

Expected<std::string> render_decision(const Decision& decision) {
  Json json = {{"format", format_name},
               {"version", format_version},
               {"study", decision.study.text},
               {"stage", decision.stage.text},
               {"round", decision.round},
               {"inputs", decision.inputs},
               {"read",
                {{"verdicts", decision.verdicts_read},
                 {"missing", texts_of(decision.missing)},
                 {"spent_node_seconds", decision.spent_node_seconds}}},
               {"best", object_or_null(decision.best)},
               {"baseline", object_or_null(decision.baseline)},
               {"conclusions", list_of(decision.conclusions)},
               {"dropped", list_of(decision.dropped)},
               {"next", json_of(decision.next)},
               {"stop", decision.stop ? Json(name_of(*decision.stop)) : Json(nullptr)}};
  put(json["read"], "budget_node_seconds", decision.budget_node_seconds);
  put(json["read"], "budget_experiments", decision.budget_experiments);
  if (decision.result) json["result"] = to_json(*decision.result);
  SLURMTUNE_TRY(std::string text, canonical_json(json));
  text += '\n';
  return text;
}

Expected<Decision> parse_decision(std::string_view text, std::string_view where) {
  SLURMTUNE_TRY(const Json json, parse_json(text, where));
  const std::string here = fmt::format("{}:1", where);
  SLURMTUNE_CHECK(check_format(json, format_name, format_version, here));
  Decision decision;
  Read read;
  JsonFields fields(json, here);
  fields.required("study", decision.study);
  fields.required("stage", decision.stage);
  fields.required("round", decision.round);
  fields.required("inputs", decision.inputs);
  fields.required("read", read, read_from_json);
  fields.optional("best", decision.best, best_from_json);
  fields.optional("baseline", decision.baseline, baseline_from_json);
  fields.required("conclusions", decision.conclusions, conclusion_from_json);
  fields.required("dropped", decision.dropped, dropped_from_json);
  fields.required("next", decision.next, next_from_json);
  fields.optional_name("stop", decision.stop, stop_named);
  fields.optional("result", decision.result, tuning_result_from_json);
  fields.check(decision.result.has_value() == (decision.next.action == NextAction::finish),
               "result must be there exactly when next.action is finish");
  decision.verdicts_read = read.verdicts;
  decision.missing = std::move(read.missing);
  decision.spent_node_seconds = read.spent_node_seconds;
  decision.budget_node_seconds = read.budget_node_seconds;
  decision.budget_experiments = read.budget_experiments;
  return fields.into(std::move(decision));
}

}  // namespace slurmtune
