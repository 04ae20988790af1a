// SPDX-License-Identifier: MIT
#include "slurmtune/study/event.hpp"

#include <type_traits>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "slurmtune/record/json_fields.hpp"
#include "slurmtune/record/name_table.hpp"

namespace slurmtune {

namespace {

constexpr std::string_view format_name = "slurmtune.event";
constexpr int format_version = 1;

constexpr NameTable<JobKind, 6> job_kinds{{"a", "r", "guard", "final", "all", "launch"}};

/// Event names in the order of the variant `EventBody`.
constexpr std::array<std::string_view, std::variant_size_v<EventBody>> event_names{
    "study_created",  "plan_made", "submit_intended",  "submitted",      "submit_lost",
    "decided",        "released",  "dropped",          "cancelled",      "extended",
    "resumed",        "finished",  "training_started", "training_ended", "tasks_ended",
    "nodes_excluded", "retried"};

// --- To JSON ---

Json json_of(const TimeWindow& window) {
  Json offsets = Json::array();
  for (const UtcOffset& offset : window.offsets) {
    offsets.push_back({{"from", format_instant(offset.from)}, {"ahead_s", offset.ahead.count()}});
  }
  return {{"hours", format_daily_hours(window.hours)}, {"utc_offsets", offsets}};
}

Json body_of(const StudyCreated& event) {
  Json json = {{"study", event.study.text}, {"name", event.name},     {"inputs", event.inputs},
               {"origin", event.origin},    {"submit", event.submit}, {"slurmtune", event.version}};
  if (event.deadline) json["deadline"] = format_instant(*event.deadline);
  if (event.window) json["window"] = json_of(*event.window);
  return json;
}
Json body_of(const PlanMade& event) { return {{"sha256", event.sha256}}; }
Json body_of(const SubmitIntended& event) {
  Json json = {{"stage", event.stage.text},
               {"kind", name_of(event.kind)},
               {"attempt", event.attempt},
               {"name", event.name},
               {"by", event.by},
               {"first_slice", event.first_slice}};
  put(json, "tasks", event.tasks);
  return json;
}
Json body_of(const Submitted& event) {
  Json json = {{"stage", event.stage.text}, {"kind", name_of(event.kind)},
               {"attempt", event.attempt},  {"name", event.name},
               {"job", event.job},          {"first_slice", event.first_slice}};
  put(json, "tasks", event.tasks);
  return json;
}
Json body_of(const SubmitLost& event) { return {{"name", event.name}}; }
Json body_of(const Decided& event) {
  return {{"stage", event.stage.text}, {"sha256", event.sha256}};
}
Json body_of(const Released& event) {
  return {{"stage", event.stage.text}, {"slices", event.slices}, {"walltime_s", event.walltime_s}};
}
Json body_of(const SlicesDropped& event) {
  return {
      {"stage", event.stage.text}, {"job", event.job}, {"first", event.first}, {"end", event.end}};
}
Json body_of(const Cancelled& event) { return {{"by", event.by}}; }
Json body_of(const Extended& event) {
  Json json = Json::object();
  put(json, "max_node_hours", event.max_node_hours);
  put(json, "max_gpu_hours", event.max_gpu_hours);
  put(json, "max_experiments", event.max_experiments);
  if (event.deadline) json["deadline"] = format_instant(*event.deadline);
  return json;
}
Json body_of(const Resumed& event) { return {{"by", event.by}}; }
Json body_of(const Finished& event) {
  Json json = {{"stop", name_of(event.stop)}};
  if (event.best) json["best"] = event.best->text;
  return json;
}
Json body_of(const TrainingStarted& event) { return {{"job", event.job}}; }
Json body_of(const TrainingEnded& event) { return {{"exit_code", event.exit_code}}; }
Json body_of(const TasksEnded& event) {
  Json tasks = Json::array();
  for (const EndedTask& task : event.tasks) {
    Json json = {{"task", task.task}, {"ending", rule_of(task.ending).key}, {"nodes", task.nodes}};
    put(json, "exit_code", task.exit_code);
    put(json, "signal", task.signal);
    tasks.push_back(std::move(json));
  }
  return {{"stage", event.stage.text}, {"job", event.job}, {"tasks", std::move(tasks)}};
}
Json body_of(const NodesExcluded& event) { return {{"nodes", event.nodes}, {"why", event.why}}; }

Json body_of(const Retried& event) {
  Json tries = Json::array();
  for (const RetriedTry& tried : event.tries) {
    tries.push_back({{"experiment", tried.experiment.text}, {"attempt", tried.attempt}});
  }
  Json json = {{"tries", std::move(tries)}, {"by", event.by}};
  if (event.reopens.empty()) return json;
  json["reopens"] = event.reopens.text;
  json["next"] = json_of(event.next);
  return json;
}

// --- From JSON: one reader an event, chosen by the type of an empty body ---

Expected<UtcOffset> offset_from_json(const Json& json, std::string_view where) {
  UtcOffset offset;
  std::int64_t ahead_s = 0;
  JsonFields fields(json, where);
  fields.required("from", offset.from);
  fields.required("ahead_s", ahead_s);
  offset.ahead = std::chrono::seconds(ahead_s);
  return fields.into(offset);
}

Expected<TimeWindow> window_from_json(const Json& json, std::string_view where) {
  TimeWindow window;
  std::string hours;
  JsonFields fields(json, where);
  fields.required("hours", hours);
  fields.required("utc_offsets", window.offsets, offset_from_json);
  const auto parsed = parse_daily_hours(hours);
  fields.check(parsed.has_value(), "hours must be like 20:00-07:00");
  fields.check(!window.offsets.empty(), "utc_offsets must not be empty");
  if (parsed) window.hours = *parsed;
  return fields.into(std::move(window));
}

void read(JsonFields& fields, StudyCreated& event) {
  fields.required("study", event.study);
  fields.required("name", event.name);
  fields.required("inputs", event.inputs);
  fields.required("origin", event.origin);
  fields.required("submit", event.submit);
  fields.required("slurmtune", event.version);
  fields.optional("deadline", event.deadline);
  fields.optional("window", event.window, window_from_json);
}
void read(JsonFields& fields, PlanMade& event) { fields.required("sha256", event.sha256); }
void read(JsonFields& fields, SubmitIntended& event) {
  fields.required("stage", event.stage);
  fields.required_name("kind", event.kind, job_kind_named);
  fields.required("attempt", event.attempt);
  fields.required("name", event.name);
  fields.required("by", event.by);
  fields.required("first_slice", event.first_slice);
  fields.optional("tasks", event.tasks);
}
void read(JsonFields& fields, Submitted& event) {
  fields.required("stage", event.stage);
  fields.required_name("kind", event.kind, job_kind_named);
  fields.required("attempt", event.attempt);
  fields.required("name", event.name);
  fields.required("job", event.job);
  fields.required("first_slice", event.first_slice);
  fields.optional("tasks", event.tasks);
}
void read(JsonFields& fields, SubmitLost& event) { fields.required("name", event.name); }
void read(JsonFields& fields, Decided& event) {
  fields.required("stage", event.stage);
  fields.required("sha256", event.sha256);
}
void read(JsonFields& fields, Released& event) {
  fields.required("stage", event.stage);
  fields.required("slices", event.slices);
  fields.required("walltime_s", event.walltime_s);
}
void read(JsonFields& fields, SlicesDropped& event) {
  fields.required("stage", event.stage);
  fields.required("job", event.job);
  fields.required("first", event.first);
  fields.required("end", event.end);
}
void read(JsonFields& fields, Cancelled& event) { fields.required("by", event.by); }
void read(JsonFields& fields, Extended& event) {
  fields.optional("max_node_hours", event.max_node_hours);
  fields.optional("max_gpu_hours", event.max_gpu_hours);
  fields.optional("max_experiments", event.max_experiments);
  fields.optional("deadline", event.deadline);
}
void read(JsonFields& fields, Resumed& event) { fields.required("by", event.by); }
void read(JsonFields& fields, Finished& event) {
  fields.required_name("stop", event.stop, stop_named);
  fields.optional("best", event.best);
}
void read(JsonFields& fields, TrainingStarted& event) { fields.required("job", event.job); }
void read(JsonFields& fields, TrainingEnded& event) {
  fields.required("exit_code", event.exit_code);
}
Expected<EndedTask> ended_task_from_json(const Json& json, std::string_view where) {
  EndedTask task;
  JsonFields fields(json, where);
  fields.required("task", task.task);
  fields.required_name("ending", task.ending, task_ending_named);
  fields.optional("nodes", task.nodes);
  fields.optional("exit_code", task.exit_code);
  fields.optional("signal", task.signal);
  return fields.into(std::move(task));
}
void read(JsonFields& fields, TasksEnded& event) {
  fields.required("stage", event.stage);
  fields.required("job", event.job);
  fields.required("tasks", event.tasks, ended_task_from_json);
}
void read(JsonFields& fields, NodesExcluded& event) {
  fields.required("nodes", event.nodes);
  fields.required("why", event.why);
}

Expected<RetriedTry> retried_try_from_json(const Json& json, std::string_view where) {
  RetriedTry tried;
  JsonFields fields(json, where);
  fields.required("experiment", tried.experiment);
  fields.required("attempt", tried.attempt);
  return fields.into(std::move(tried));
}
void read(JsonFields& fields, Retried& event) {
  fields.required("by", event.by);
  fields.required("tries", event.tries, retried_try_from_json);
  fields.optional("reopens", event.reopens);
  fields.optional("next", event.next, next_from_json);
}

/// Reads the body whose name stands at `Index` of the table, or tries the next.
template <std::size_t Index = 0>
Expected<EventBody> body_from_json(const Json& json, std::string_view name,
                                   std::string_view where) {
  if constexpr (Index == std::variant_size_v<EventBody>) {
    return corrupt_data(fmt::format(
        "{}: unknown event '{}'; use the slurmtune that wrote this study", where, name));
  } else {
    if (event_names[Index] != name) return body_from_json<Index + 1>(json, name, where);
    std::variant_alternative_t<Index, EventBody> body;
    JsonFields fields(json, where);
    read(fields, body);
    SLURMTUNE_TRY(auto whole, fields.into(std::move(body)));
    return EventBody(std::move(whole));
  }
}

}  // namespace

std::string_view name_of(JobKind kind) { return job_kinds.name_of(kind); }

std::optional<JobKind> job_kind_named(std::string_view name) { return job_kinds.named(name); }

Expected<std::string> render_event(const Event& event) {
  Json json = std::visit([](const auto& body) { return body_of(body); }, event.body);
  json["format"] = format_name;
  json["version"] = format_version;
  json["event"] = event_names[event.body.index()];
  json["number"] = event.number;
  json["at"] = format_instant(event.at);
  SLURMTUNE_TRY(std::string text, canonical_json(json));
  return text + '\n';
}

Expected<Event> parse_event(std::string_view text, std::string_view where) {
  SLURMTUNE_TRY(const Json json, parse_json(text, where));
  SLURMTUNE_CHECK(check_format(json, format_name, format_version, where));
  Event event;
  std::string name;
  JsonFields fields(json, where);
  fields.required("event", name);
  fields.required("number", event.number);
  fields.required("at", event.at);
  SLURMTUNE_TRY(event, fields.into(std::move(event)));
  SLURMTUNE_TRY(event.body, body_from_json(json, name, where));
  return event;
}

}  // namespace slurmtune
