// SPDX-License-Identifier: MIT
#include "slurmtune/runner/array_task.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "slurmtune/base/version.hpp"
#include "slurmtune/runner/lane/go_message.hpp"
#include "slurmtune/runner/lane/node_loop.hpp"
#include "slurmtune/runner/shard_writer.hpp"
#include "slurmtune/runner/start/setup_lines.hpp"
#include "slurmtune/runner/stop_signals.hpp"
#include "slurmtune/runner/study_files.hpp"
#include "slurmtune/runner/task_loop.hpp"
#include "slurmtune/runner/task_setting.hpp"
#include "slurmtune/runner/trial_setup.hpp"
#include "slurmtune/runner/wall_clock.hpp"
#include "slurmtune/study/journal.hpp"
#include "slurmtune/study/register_job.hpp"
#include "slurmtune/study/spending.hpp"
#include "slurmtune/study/state.hpp"

namespace slurmtune {

namespace {

TaskStart task_start_of(const StudyFiles& files, const TaskSetting& setting, std::int64_t slice) {
  TaskStart start;
  start.study = files.manifest->study;
  start.stage = files.stage;
  start.slice = slice;
  start.array_job = setting.array_job;
  start.task = setting.task;
  start.restart = setting.restart;
  start.nodes = setting.nodes;
  start.allocated_nodes = setting.allocated_nodes;
  start.gpus = setting.gpus;
  start.at = wall_clock();
  start.ends_by = setting.ends_by;
  start.runner = version();
  return start;
}

/// Tells the journal of this array, which may have been submitted by hand.
Expected<void> tell_journal(const StudyFiles& files, const TaskSetting& setting,
                            std::int64_t slice) {
  return register_own_job(files.directory, wall_clock,
                          {.stage = files.stage,
                           .kind = JobKind::array,
                           .job = setting.array_job,
                           .first_slice = slice - setting.task,
                           .tasks = setting.array_tasks});
}

/// What rank 0, and each that leads a lane, knows before anything is started.
struct Task {
  StudyFiles files;
  TaskSetting setting;
  std::vector<Shard> earlier;  ///< what earlier tasks left of the slice
  std::vector<Experiment> experiments;
};

/// Inside a Slurm job the first rank on each node: a launch line may start more (a job that asks
/// for several tasks a node, and an srun that does not say otherwise), and they have nothing to do.
std::vector<int> one_rank_a_node(const ArrayTaskRequest& request, const RunnerRanks& ranks) {
  const bool in_slurm_job = request.environment.contains("SLURM_JOB_ID");
  std::set<std::string> seen;
  std::vector<int> first;
  for (std::size_t rank = 0; rank < ranks.nodes.size(); ++rank) {
    const bool is_new = seen.insert(ranks.nodes[rank].node).second;
    if (is_new || !in_slurm_job) first.push_back(static_cast<int>(rank));
  }
  return first;
}

/// The nodes of trials: of the runner's ranks, unless they were named.
std::vector<std::string> node_names(const ArrayTaskRequest& request, const RunnerRanks& ranks) {
  if (!request.nodes.empty()) return request.nodes;
  std::vector<std::string> names;
  for (const int rank : one_rank_a_node(request, ranks)) {
    names.push_back(ranks.nodes.at(static_cast<std::size_t>(rank)).node);
  }
  return names;
}

Expected<void> check_nodes(const Task& task) {
  const int wanted = task.files.input.spec.trial.nodes;
  if (!task.setting.in_slurm_job || static_cast<int>(task.setting.nodes.size()) >= wanted) {
    return {};
  }
  return invalid_input(fmt::format(
      "a trial takes {} nodes, but the runner was started on {}; start one rank a node (site key "
      "runner_launch), or name the nodes with --nodes",
      wanted, task.setting.nodes.size()));
}

Expected<void> say_nothing_to_do(const ArrayTaskRequest& request, std::string_view why) {
  fmt::print("slurmtune-runner: {} slice {}: nothing to run: {}\n", request.stage.text,
             request.slice, why);
  return {};
}

/// What earlier tasks left of this slice: of this array, and of those before it that were lost. A
/// new array covers all slices between its first and last open one.
Expected<std::vector<Shard>> shards_of_slice(const Task& task, const StudyState& state,
                                             std::int64_t slice) {
  std::set<std::int64_t> arrays{task.setting.array_job};
  for (const JobRecord* job : state.jobs_of(task.files.stage, JobKind::array)) {
    if (job->job) arrays.insert(*job->job);
  }
  std::vector<Shard> all;
  for (const std::int64_t array : arrays) {
    SLURMTUNE_TRY(auto shards,
                  earlier_shards(task.files.directory.verdicts(task.files.stage), array, slice));
    for (Shard& shard : shards) all.push_back(std::move(shard));
  }
  return all;
}

/// Bounds the task by the window and the budget of the study, as its journal has them.
Expected<void> bound_task(Task& task, std::int64_t slice) {
  SLURMTUNE_TRY(const auto events, Journal(task.files.directory.journal()).read());
  SLURMTUNE_TRY(const StudyState state, fold(events));
  SLURMTUNE_TRY(task.earlier, shards_of_slice(task, state, slice));
  const BudgetSpec budget = with_extension(task.files.input, state.extension).spec.budget;
  const StudyBounds bounds{.window = state.created.window,
                           .deadline = state.deadline,
                           .has_budget = budget.max_node_hours || budget.max_gpu_hours};
  task.setting =
      bounded(std::move(task.setting), slice, *task.files.manifest, bounds, task.earlier);
  return {};
}

/// Reads what a rank has to know; without a manifest there is nothing to run.
Expected<std::optional<Task>> read_task(const ArrayTaskRequest& request, const RunnerRanks& ranks) {
  Task task;
  SLURMTUNE_TRY(task.files, read_study_files(request.study, request.stage, request.environment));
  if (!task.files.manifest) return std::nullopt;
  SLURMTUNE_TRY(task.setting,
                task_setting(request.environment, *task.files.manifest, task.files.input.site,
                             node_names(request, ranks), wall_clock()));
  SLURMTUNE_CHECK(check_nodes(task));
  SLURMTUNE_CHECK(bound_task(task, request.slice));
  return task;
}

Environment scrubbed(Environment environment) {
  scrub_launch_variables(environment);
  return environment;
}

/// The lanes that one rank leads.
class RankPart {
 public:
  RankPart(const ArrayTaskRequest& request, const RunnerRanks& ranks, const Task& task,
           const std::vector<LanePlace>& places)
      : ranks_(ranks), task_(task), places_(places), own_(scrubbed(request.environment)) {
    const LauncherPlace place{task.setting.in_slurm_job, ::geteuid() == 0, request.runner};
    const StudyInput& input = task.files.input;
    launcher_ = make_launcher(input.spec.trial.launcher, input.site.trial_launch, place);
  }

  /// The frame of a lane, with the environment after trial.setup.
  [[nodiscard]] TrialFrame frame(int lane) const {
    const LanePlace& place = places_.at(static_cast<std::size_t>(lane));
    TrialFrame frame{task_.files, task_.setting, *launcher_, own_, environment_,
                     lane,        place,         {},         {},   {}};
    std::vector<NodeName> names;
    for (const int rank : place.ranks)
      names.push_back(ranks_.nodes.at(static_cast<std::size_t>(rank)));
    for (const NodeName& name : names) frame.nodes.push_back(name.node);
    if (task_.setting.nodes.size() > ranks_.nodes.size()) frame.nodes = named_nodes();
    frame.master_addr = master_address(names);
    return frame;
  }

  /// Makes the leaders of the lanes that begin on this rank's node.
  void lead_lanes(NodeLoop& loop) {
    std::optional<Error> refusal;
    for (std::size_t lane = 0; lane < places_.size(); ++lane) {
      if (places_[lane].ranks.front() != ranks_.link.rank()) continue;
      if (!is_set_up_) refusal = set_up();
      loop.lead(std::make_unique<LaneLeader>(frame(static_cast<int>(lane)), ranks_.link, refusal));
    }
  }

 private:
  [[nodiscard]] std::vector<std::string> named_nodes() const {
    const auto wanted = static_cast<std::size_t>(task_.files.input.spec.trial.nodes);
    std::vector<std::string> nodes = task_.setting.nodes;
    if (nodes.size() > wanted) nodes.resize(wanted);
    return nodes;
  }

  /// Runs trial.setup, once; an error if it failed.
  std::optional<Error> set_up() {
    is_set_up_ = true;
    environment_ = own_;
    auto environment = run_setup(task_.files.input.spec.trial.setup, own_, task_.files.workdir);
    if (!environment) return environment.error();
    environment_ = std::move(*environment);
    return std::nullopt;
  }

  const RunnerRanks& ranks_;
  const Task& task_;
  const std::vector<LanePlace>& places_;
  Environment own_;
  Environment environment_;
  std::unique_ptr<RankLauncher> launcher_;
  bool is_set_up_ = false;
};

/// What trials need of every node, and whether it is worth measuring: not where others work on it.
NodeQuestion node_question(const StudyInput& input) {
  NodeQuestion question;
  const int ranks = input.spec.trial.processes_per_node * input.spec.lanes_per_node;
  question.needs.processes = ranks;
  question.needs.gpus = std::min(ranks, input.site.gpus_per_node.value_or(0));
  question.measures = input.site.probe_tasks && input.site.exclusive;
  return question;
}

void tell_of_node(const RunnerRanks& ranks, const NodeQuestion& question,
                  const Environment& environment) {
  const NodeName& name = ranks.nodes.at(static_cast<std::size_t>(ranks.link.rank()));
  Words words{"facts"};
  for (std::string& word : to_words(report_node(name.node, question, environment))) {
    words.push_back(std::move(word));
  }
  ranks.link.send(0, words);
}

Words wait_for_message(PacketLink& link) {
  using namespace std::chrono_literals;
  constexpr auto pause_max = 20ms;
  for (auto pause = 1ms;; pause = std::min<std::chrono::milliseconds>(2 * pause, pause_max)) {
    if (auto packet = link.receive(); packet && !packet->words.empty()) return packet->words;
    std::this_thread::sleep_for(pause);
  }
}

/// Rank 0 finds out whether there is anything to run, and opens the shard.
Expected<std::optional<ShardWriter>> open_task(const ArrayTaskRequest& request, Task& task) {
  SLURMTUNE_CHECK(tell_journal(task.files, task.setting, request.slice));
  const auto verdicts = task.files.directory.verdicts(request.stage);
  task.experiments = open_experiments(*task.files.manifest, request.slice, task.earlier);
  if (task.experiments.empty() && task.earlier.empty()) return std::nullopt;
  SLURMTUNE_CHECK(
      watch_rules(task.files.input.spec.measure, task.files.manifest->experiments.front()));
  SLURMTUNE_TRY(
      ShardWriter shard,
      ShardWriter::create(verdicts, task_start_of(task.files, task.setting, request.slice)));
  return shard;
}

/// Where experiments ran that are better tried elsewhere: of all stages, since a retry is of a
/// later one than what it repeats.
Expected<NodesToAvoid> nodes_to_avoid(const Task& task) {
  NodesToAvoid avoided;
  std::map<ExperimentId, std::vector<ExperimentId>> repeated_by;
  for (const Experiment& experiment : task.experiments) {
    for (const ExperimentId& other : experiment.needs_other_node_than) {
      repeated_by[other].push_back(experiment.id);
    }
  }
  if (repeated_by.empty()) return avoided;
  SLURMTUNE_TRY(const auto events, Journal(task.files.directory.journal()).read());
  SLURMTUNE_TRY(const StudyState state, fold(events));
  std::set<StageName> stages;
  for (const JobRecord& job : state.jobs) {
    if (job.kind == JobKind::array) stages.insert(job.stage);
  }
  for (const StageName& stage : stages) {
    SLURMTUNE_TRY(const auto shards,
                  task.files.directory.read_shards(stage, state.jobs_of(stage, JobKind::array)));
    for (const Shard& shard : shards) {
      for (const Verdict& verdict : shard.verdicts) {
        const auto found = repeated_by.find(verdict.experiment);
        if (found == repeated_by.end() || verdict.outcome == Outcome::not_started) continue;
        for (const ExperimentId& experiment : found->second) {
          avoided[experiment].insert(verdict.nodes.begin(), verdict.nodes.end());
        }
      }
    }
  }
  return avoided;
}

Expected<void> lead_task(const ArrayTaskRequest& request, const RunnerRanks& ranks,
                         Spawner& spawner) {
  SLURMTUNE_TRY(auto task, read_task(request, ranks));
  if (!task) return say_nothing_to_do(request, "the stage was not released");
  SLURMTUNE_TRY(StopSignals stop, StopSignals::catch_all());
  SLURMTUNE_TRY(auto shard, open_task(request, *task));
  if (!shard) return say_nothing_to_do(request, "the slice is empty");
  const auto hosts = one_rank_a_node(request, ranks);
  auto places = lay_out_lanes(task->files.manifest->lanes, task->files.input.spec.trial.nodes,
                              static_cast<int>(hosts.size()));
  for (LanePlace& place : places) {
    for (int& rank : place.ranks) rank = hosts.at(static_cast<std::size_t>(rank));
  }
  const NodeQuestion question = node_question(task->files.input);
  const Words go = to_words(Go{question, places});
  for (int rank = 1; rank < ranks.link.size(); ++rank) ranks.link.send(rank, go);
  tell_of_node(ranks, question, request.environment);

  TrialHost host(spawner, scrubbed(request.environment));
  NodeLoop loop(ranks.link, host, stop, places);
  RankPart part(request, ranks, *task, places);
  part.lead_lanes(loop);
  const TrialFrame frame = part.frame(0);
  Dispatcher dispatcher(frame, task->experiments, places, *shard, ranks.link);
  SLURMTUNE_TRY(NodesToAvoid avoided, nodes_to_avoid(*task));
  dispatcher.avoid(std::move(avoided));
  loop.run_with(dispatcher);
  return dispatcher.end();
}

/// Tells rank 0 that the lanes that begin here cannot run.
void give_up_lanes(const RunnerRanks& ranks, const std::vector<LanePlace>& places,
                   const Error& why) {
  for (std::size_t lane = 0; lane < places.size(); ++lane) {
    if (places[lane].ranks.front() != ranks.link.rank()) continue;
    ranks.link.send(0, {"error", std::to_string(lane), std::to_string(static_cast<int>(why.kind)),
                        why.message});
  }
}

/// The other ranks: they wait for what rank 0 finds, and then for what it says.
Expected<void> follow_task(const ArrayTaskRequest& request, const RunnerRanks& ranks,
                           Spawner& spawner) {
  SLURMTUNE_TRY(StopSignals stop, StopSignals::catch_all());
  const Words message = wait_for_message(ranks.link);
  WordReader words(message);
  if (words.text() != "go") return {};
  const Go go = read_go(words);
  const auto& places = go.places;
  tell_of_node(ranks, go.question, request.environment);
  TrialHost host(spawner, scrubbed(request.environment));
  NodeLoop loop(ranks.link, host, stop, places);
  const bool leads = std::any_of(places.begin(), places.end(), [&](const LanePlace& place) {
    return place.ranks.front() == ranks.link.rank();
  });
  std::optional<Task> task;
  std::optional<RankPart> part;
  if (leads) {
    auto read = read_task(request, ranks);
    if (read && *read) {
      task = std::move(*read);
      part.emplace(request, ranks, *task, places);
      part->lead_lanes(loop);
    } else {
      give_up_lanes(ranks, places,
                    read ? Error{ErrorKind::unavailable,
                                 fmt::format("{}: this node does not see the manifest of {}",
                                             request.study.string(), request.stage.text)}
                         : read.error());
    }
  }
  loop.run();
  return {};
}

}  // namespace

Expected<void> run_array_task(const ArrayTaskRequest& request, const RunnerRanks& ranks,
                              Spawner& spawner) {
  if (ranks.link.rank() != 0) return follow_task(request, ranks, spawner);
  const auto done = lead_task(request, ranks, spawner);
  for (int rank = 1; rank < ranks.link.size(); ++rank) ranks.link.send(rank, {"leave"});
  return done;
}

}  // namespace slurmtune
