// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "slurmtune/base/instant.hpp"
#include "slurmtune/base/time_window.hpp"
#include "slurmtune/record/decision.hpp"
#include "slurmtune/record/ids.hpp"
#include "slurmtune/study/endings.hpp"

namespace slurmtune {

/// What a job of a study is for. `whole` runs all of a study inside one job (submit = "one-job"),
/// `launch` the user's own training with the winner (mode = "run").
enum class JobKind { array, reducer, guard, final, whole, launch };

/// `a`, `r`, `guard`, `final`, `all`, `launch`: the part of a job name.
[[nodiscard]] std::string_view name_of(JobKind kind);
[[nodiscard]] std::optional<JobKind> job_kind_named(std::string_view name);

// The events of a journal (formats.md, section 5), each one small file.

struct StudyCreated {
  StudyId study;
  std::string name;
  std::string inputs;  ///< `sha256:…`
  std::string origin;  ///< absolute directory of the user's study.toml
  std::string submit;  ///< the way it was submitted: graph, one-job, allocation, scripts, local
  std::optional<Instant> deadline;     ///< budget.finish_by, frozen as UTC
  std::optional<TimeWindow> window{};  ///< budget.window, with the offsets of the submitter's zone
  std::string version;                 ///< of slurmtune
  bool operator==(const StudyCreated&) const = default;
};
struct PlanMade {
  std::string sha256;  ///< of plan.json
  bool operator==(const PlanMade&) const = default;
};
/// Written before the call of the batch system.
struct SubmitIntended {
  StageName stage;  ///< empty for guard and final
  JobKind kind = JobKind::array;
  int attempt = 0;
  std::string name;              ///< job name
  std::int64_t first_slice = 0;  ///< of the stage's manifest: task i runs slice first_slice + i
  std::optional<std::int64_t> tasks;
  std::string by;  ///< `host:pid`
  bool operator==(const SubmitIntended&) const = default;
};
/// Written after it; also by a task that finds its own job missing (submitted by hand).
struct Submitted {
  std::string name;  ///< the SubmitIntended that it completes
  StageName stage;
  JobKind kind = JobKind::array;
  int attempt = 0;
  std::int64_t job = 0;
  std::int64_t first_slice = 0;
  std::optional<std::int64_t> tasks;
  bool operator==(const Submitted&) const = default;
};
/// The batch system knows no job of that name: the intent came to nothing.
struct SubmitLost {
  std::string name;
  bool operator==(const SubmitLost&) const = default;
};
struct Decided {
  StageName stage;
  std::string sha256;  ///< of decision.json
  bool operator==(const Decided&) const = default;
};
/// The next stage's manifest is published and its array may run this many slices.
struct Released {
  StageName stage;
  std::int64_t slices = 0;
  std::int64_t walltime_s = 0;
  bool operator==(const Released&) const = default;
};
/// Array tasks that are not needed were cancelled, [first, end) of that job.
struct SlicesDropped {
  StageName stage;
  std::int64_t job = 0;
  std::int64_t first = 0;
  std::int64_t end = 0;
  bool operator==(const SlicesDropped&) const = default;
};
/// What the batch system said of tasks of an array that left experiments without a verdict, were
/// cancelled, or whose node failed; before anything is concluded from it, since it forgets.
struct TasksEnded {
  StageName stage;
  std::int64_t job = 0;
  std::vector<EndedTask> tasks;
  bool operator==(const TasksEnded&) const = default;
};
/// Nodes that failed, which jobs leave out from now on.
struct NodesExcluded {
  std::vector<std::string> nodes;
  std::string why;
  bool operator==(const NodesExcluded&) const = default;
};
struct Cancelled {
  std::string by;
  bool operator==(const Cancelled&) const = default;
};
/// The user changed the budget; what is absent stays as it is.
struct Extended {
  std::optional<double> max_node_hours{};
  std::optional<double> max_gpu_hours{};
  std::optional<std::int64_t> max_experiments{};
  std::optional<Instant> deadline{};
  bool operator==(const Extended&) const = default;
};
struct Resumed {
  std::string by;
  bool operator==(const Resumed&) const = default;
};
struct Finished {
  Stop stop = Stop::nothing_worked;
  std::optional<ConfigurationId> best;
  bool operator==(const Finished&) const = default;
};
/// One try of an experiment that failed, which the user wants run again.
struct RetriedTry {
  ExperimentId experiment;
  int attempt = 0;  ///< the last one made: the next is to come

  auto operator<=>(const RetriedTry&) const = default;  // NOLINT(modernize-use-nullptr)
};
/// The user mended something: what these tries said counts no more, and whoever concludes the
/// current stage proposes them again. In a finished study it takes back the end that stage
/// `reopens` came to, and says what is released in its place.
struct Retried {
  std::vector<RetriedTry> tries;
  std::string by;
  StageName reopens;  ///< empty in a study that goes on
  Next next;          ///< in place of the decision's; only if `reopens` is not empty
  bool operator==(const Retried&) const = default;
};
/// The training with the winner is about to start; there is one of these in a journal at most.
struct TrainingStarted {
  std::int64_t job = 0;  ///< 0 = started by hand, outside of a job
  bool operator==(const TrainingStarted&) const = default;
};
struct TrainingEnded {
  int exit_code = 0;  ///< of the command; 128 + signal if a signal ended it
  bool operator==(const TrainingEnded&) const = default;
};

using EventBody =
    std::variant<StudyCreated, PlanMade, SubmitIntended, Submitted, SubmitLost, Decided, Released,
                 SlicesDropped, Cancelled, Extended, Resumed, Finished, TrainingStarted,
                 TrainingEnded, TasksEnded, NodesExcluded, Retried>;

/// One file of the journal; `number` is the file's name.
struct Event {
  std::int64_t number = 0;
  Instant at;
  EventBody body;
  bool operator==(const Event&) const = default;
};

/// Canonical JSON and a newline: `{"format":"slurmtune.event","version":1,"event":"submitted",…}`.
[[nodiscard]] Expected<std::string> render_event(const Event& event);
[[nodiscard]] Expected<Event> parse_event(std::string_view text, std::string_view where);

}  // namespace slurmtune
