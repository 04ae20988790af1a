// SPDX-License-Identifier: MIT
//
// What the batch system says that keeps a study waiting.
#include <algorithm>
#include <array>
#include <set>
#include <string>

#include <fmt/format.h>

#include "slurmtune/report/doctor.hpp"
#include "slurmtune/report/status_waits.hpp"
#include "slurmtune/report/table.hpp"
#include "slurmtune/study/node_list.hpp"

namespace slurmtune {

namespace {

/// A reason of Slurm's for which a job waits, and what helps. `{job}` is its number, `{jobs}` all
/// numbers with that reason, `{dir}` the study. The first whose words begin the reason counts.
struct ReasonRule {
  std::string_view begins;
  Severity severity;
  std::string_view says;
  std::string_view remedy;
};

constexpr auto blocks = Severity::blocks;
constexpr auto note = Severity::note;

// Names of reasons: slurm's job_reason_string. Priority, Resources, Dependency, JobArrayTaskLimit,
// None and Cleaning are a job's usual ones, and told by `status`.
constexpr std::array reason_rules{
    ReasonRule{"DependencyNeverSatisfied", blocks, "waits for a job that will never satisfy it",
               "scancel {jobs} && slurmtune resume {dir}"},
    ReasonRule{"JobHeldUser", blocks, "is held by its user", "scontrol release {jobs}"},
    ReasonRule{"JobHeldAdmin", blocks, "is held by an administrator, whom to ask why",
               "scontrol show job {job}"},
    ReasonRule{"launch failed requeued held", blocks,
               "could not be launched on its nodes, and is held since; the nodes' slurmd knows why",
               "scontrol release {jobs}"},
    ReasonRule{"JobHoldMaxRequeue", blocks, "was requeued too often, and is held since",
               "scontrol release {jobs}"},
    ReasonRule{"job requeued in held state", blocks, "was requeued and is held",
               "scontrol release {jobs}"},
    ReasonRule{"PartitionDown", blocks, "waits for a partition that is down",
               "scontrol show partition"},
    ReasonRule{"PartitionInactive", blocks, "waits for a partition that is inactive",
               "scontrol show partition"},
    ReasonRule{"PartitionTimeLimit", blocks, "asks for more time than its partition allows",
               "scontrol update JobId={job} TimeLimit=HH:MM:SS"},
    ReasonRule{"PartitionNodeLimit", blocks, "asks for more nodes than its partition has or allows",
               "scontrol show partition"},
    ReasonRule{"InvalidAccount", blocks, "is charged to an account that is not valid",
               "scontrol update JobId={job} Account=NAME"},
    ReasonRule{"AccountNotAllowed", blocks, "is charged to an account that may not use it",
               "scontrol update JobId={job} Account=NAME"},
    ReasonRule{"InvalidQOS", blocks, "names a QOS that is not valid",
               "scontrol update JobId={job} QOS=NAME"},
    ReasonRule{"QOSNotAllowed", blocks, "names a QOS that its account or partition forbids",
               "scontrol update JobId={job} QOS=NAME"},
    ReasonRule{"BadConstraints", blocks, "asks for nodes that there are none of",
               "scontrol show job {job}"},
    ReasonRule{"ReservationDeleted", blocks, "waits for a reservation that was deleted",
               "scontrol update JobId={job} ReservationName="},
    ReasonRule{"ReqNodeNotAvail", blocks, "needs nodes that are down, drained or reserved",
               "sinfo --list-reasons"},
    ReasonRule{"Nodes required for job are DOWN", blocks,
               "needs nodes that are down, drained or reserved", "sinfo --list-reasons"},
    ReasonRule{"NodeDown", blocks, "needs a node that is down", "sinfo --list-reasons"},
    ReasonRule{"Reservation", note, "waits for its reservation to begin",
               "scontrol show reservation"},
    ReasonRule{"BeginTime", note, "does not begin before its time",
               "scontrol update JobId={job} StartTime=now"},
    ReasonRule{"Licenses", note, "waits for licences", "scontrol show licenses"},
    ReasonRule{"AssocGrp", blocks, "exceeds what is left to its account",
               "sacctmgr show assoc where user=$USER format=account,grptresmins,grpjobs"},
    ReasonRule{"Assoc", blocks, "exceeds a limit of its user or account",
               "sacctmgr show assoc where user=$USER"},
    ReasonRule{"MaxBillingPerAccount", blocks, "exceeds a limit of its account",
               "sacctmgr show assoc where user=$USER"},
    ReasonRule{"QOSGrp", note, "waits for a limit that all users of its QOS share",
               "sacctmgr show qos"},
    ReasonRule{"QOSMaxJobs", note, "waits for the user's other jobs of its QOS", "squeue --me"},
    ReasonRule{"QOSMaxWall", blocks, "asks for more time than its QOS allows",
               "scontrol update JobId={job} TimeLimit=HH:MM:SS"},
    ReasonRule{"QOS", blocks, "exceeds a limit of its QOS", "sacctmgr show qos"},
};

/// `launch_failed_requeued_held` is how squeue prints what libslurm hands out with blanks.
bool begins_with(std::string_view reason, std::string_view words) {
  if (reason.size() < words.size()) return false;
  return std::equal(words.begin(), words.end(), reason.begin(),
                    [](char a, char b) { return a == b || (a == ' ' && b == '_'); });
}

std::string fill(std::string_view text, const std::string& mark, const std::string& value) {
  std::string filled(text);
  for (std::size_t at = 0; (at = filled.find(mark, at)) != std::string::npos;) {
    filled.replace(at, mark.size(), value);
    at += value.size();
  }
  return filled;
}

bool is_planned_wait(const DoctorInput& facts, const JobReport& report) {
  // The guard begins shortly before the deadline, and trials when their window opens, whatever else
  // there is.
  if (report.reason != "BeginTime") return false;
  const StudyState& state = facts.view.state;
  return std::any_of(state.jobs.begin(), state.jobs.end(), [&](const JobRecord& job) {
    if (job.job != report.job.number) return false;
    const bool runs_trials = job.kind == JobKind::array || job.kind == JobKind::whole;
    return job.kind == JobKind::guard || (runs_trials && state.created.window);
  });
}

const ReasonRule* rule_for(const JobReport& report) {
  if (!is_waiting(report.state)) return nullptr;
  const auto* found =
      std::find_if(reason_rules.begin(), reason_rules.end(),
                   [&](const ReasonRule& rule) { return begins_with(report.reason, rule.begins); });
  return found == reason_rules.end() ? nullptr : &*found;
}

const ControllerPartition* partition_named(const DoctorInput& facts, const std::string& name) {
  for (const ControllerPartition& partition : facts.partitions) {
    if (name.empty() ? partition.is_default : partition.name == name) return &partition;
  }
  return nullptr;
}

bool is_usable(const NodeState& node) {
  constexpr std::array unusable{"DOWN", "DRAIN", "FAIL", "MAINT", "NOT_RESPONDING", "POWER_DOWN"};
  return std::none_of(unusable.begin(), unusable.end(),
                      [&](const char* word) { return node.state.find(word) != std::string::npos; });
}

bool is_excluded(const DoctorInput& facts, const NodeState& node) {
  const auto& lists = facts.input.site.exclude;
  return std::any_of(lists.begin(), lists.end(), [&](const std::string& list) {
    const auto names = expand_nodes(list);
    return std::find(names.begin(), names.end(), node.name) != names.end();
  });
}

std::string resume(const DoctorInput& facts) { return "slurmtune resume " + facts.directory; }

}  // namespace

void check_queue_answers(const DoctorInput& facts, std::vector<Finding>& findings) {
  if (facts.queue_error.empty()) return;
  findings.push_back({.check = "queue",
                      .severity = Severity::blocks,
                      .what = one_line(facts.queue_error),
                      .remedy = "scontrol ping"});
}

void check_reasons(const DoctorInput& facts, std::vector<Finding>& findings) {
  // One finding a rule, whatever number of jobs wait for it.
  std::map<const ReasonRule*, std::set<std::int64_t>> waiting;
  std::map<const ReasonRule*, std::string> words;
  for (const JobReport& report : facts.jobs) {
    if (is_planned_wait(facts, report)) continue;
    const ReasonRule* rule = rule_for(report);
    if (rule == nullptr && report.state == JobState::requeued_held) {
      rule = &*std::find_if(reason_rules.begin(), reason_rules.end(), [](const ReasonRule& each) {
        return each.begins == "job requeued in held state";
      });
    }
    if (rule == nullptr) continue;
    waiting[rule].insert(report.job.number);
    words[rule] = report.reason;
  }
  for (const ReasonRule& rule : reason_rules) {
    const auto found = waiting.find(&rule);
    if (found == waiting.end()) continue;
    const std::string first = fmt::to_string(*found->second.begin());
    const std::string all = fmt::format("{}", fmt::join(found->second, ","));
    std::string remedy = fill(rule.remedy, "{jobs}", all);
    remedy = fill(fill(remedy, "{job}", first), "{dir}", facts.directory);
    findings.push_back(
        {.check = "reason",
         .severity = rule.severity,
         .what = fmt::format("job {} {} ({})", all, rule.says, one_line(words[&rule])),
         .remedy = std::move(remedy)});
  }
}

void check_partitions(const DoctorInput& facts, std::vector<Finding>& findings) {
  if (facts.partitions.empty()) return;
  const Site& site = facts.input.site;
  std::set<std::string> names{site.partition};
  if (!site.reducer_partition.empty()) names.insert(site.reducer_partition);
  for (const std::string& name : names) {
    const ControllerPartition* partition = partition_named(facts, name);
    if (partition == nullptr) {
      findings.push_back({.check = "partition",
                          .what = name.empty()
                                      ? std::string("the cluster has no default partition; [slurm] "
                                                    "partition has to name one")
                                      : fmt::format("there is no partition {}", name),
                          .remedy = "sinfo --summarize"});
      continue;
    }
    if (partition->state != "UP") {
      findings.push_back(
          {.check = "partition",
           .what = fmt::format("partition {} is {}", partition->name, partition->state),
           .remedy = "scontrol show partition " + partition->name});
    }
    if (name != site.partition || !partition->walltime_max_s) continue;
    for (std::size_t i = current_stage(facts.view); i < facts.view.plan.stages.size(); ++i) {
      const PlannedStage& stage = facts.view.plan.stages[i];
      if (stage.task_walltime_s <= *partition->walltime_max_s) continue;
      findings.push_back(
          {.check = "partition",
           .what = fmt::format("tasks of {} ask for {}, and partition {} allows {}",
                               stage.name.text, walltime_text(stage.task_walltime_s),
                               partition->name, walltime_text(*partition->walltime_max_s)),
           .remedy = "slurmtune site check"});
      break;
    }
  }
}

void check_nodes(const DoctorInput& facts, std::vector<Finding>& findings) {
  const std::size_t current = current_stage(facts.view);
  const ControllerPartition* partition = partition_named(facts, facts.input.site.partition);
  if (facts.nodes.empty() || partition == nullptr || current >= facts.view.plan.stages.size()) {
    return;
  }
  std::int64_t usable = 0;
  std::vector<std::string> lost;
  for (const NodeState& node : facts.nodes) {
    const auto& in = node.partitions;
    if (std::find(in.begin(), in.end(), partition->name) == in.end()) continue;
    if (is_excluded(facts, node)) continue;
    if (is_usable(node)) {
      ++usable;
    } else {
      lost.push_back(node.reason.empty() ? fmt::format("{} is {}", node.name, node.state)
                                         : fmt::format("{} is {}: {}", node.name, node.state,
                                                       one_line(node.reason)));
    }
  }
  const int wanted = facts.view.plan.stages[current].nodes_per_task;
  if (usable >= wanted) return;
  std::string what = fmt::format("a task takes {} nodes, and partition {} has {} that can be used",
                                 wanted, partition->name, usable);
  constexpr std::size_t told_max = 4;
  for (std::size_t i = 0; i < std::min(lost.size(), told_max); ++i) what += "; " + lost[i];
  if (!facts.input.site.exclude.empty()) {
    what += fmt::format("; the study excludes {}", fmt::join(facts.input.site.exclude, ","));
  }
  findings.push_back({.check = "nodes",
                      .what = std::move(what),
                      .remedy = "sinfo --list-reasons --partition=" + partition->name});
}

void check_missing_jobs(const DoctorInput& facts, std::vector<Finding>& findings) {
  const StudyView& view = facts.view;
  if (!facts.asked || view.state.finished || view.state.open_intent() != nullptr) return;
  if (view.state.starter() == JobStarter::foreground && view.state.created.submit != "one-job") {
    return;
  }
  std::set<std::int64_t> live;
  for (const JobReport& report : facts.jobs) {
    if (!is_over(report.state)) live.insert(report.job.number);
  }
  if (live.empty()) {
    findings.push_back({.check = "jobs",
                        .what = "the study is not finished, and the queue has no job of it",
                        .remedy = resume(facts)});
    return;
  }
  const std::size_t current = current_stage(view);
  if (current >= view.plan.stages.size()) return;
  const StageName& name = view.plan.stages[current].name;
  const auto is_live = [&](JobKind kind) {
    const auto jobs = view.state.jobs_of(name, kind);
    return std::any_of(jobs.begin(), jobs.end(),
                       [&](const JobRecord* job) { return live.contains(*job->job); });
  };
  const bool whole = view.state.created.submit == "one-job";
  if (!whole && !is_live(JobKind::array) && !is_live(JobKind::reducer)) {
    findings.push_back(
        {.check = "jobs",
         .what = fmt::format("{} has neither an array nor a reducer in the queue", name.text),
         .remedy = resume(facts)});
  }
}

void check_open_intent(const DoctorInput& facts, std::vector<Finding>& findings) {
  const JobRecord* intent = facts.view.state.open_intent();
  if (intent == nullptr) return;
  constexpr std::chrono::seconds grace{120};
  const bool dead = facts.view.submitter_is_dead;
  const bool old = facts.now - intent->intended_at >= grace;
  findings.push_back(
      {.check = "intent",
       .severity = dead || old ? Severity::blocks : Severity::note,
       .what = fmt::format("{} began to submit {} at {}, and nobody knows whether it was{}",
                           intent->by, intent->name, format_instant(intent->intended_at),
                           dead ? "; that process is gone" : ""),
       .remedy = resume(facts)});
}

void check_reducer(const DoctorInput& facts, std::vector<Finding>& findings) {
  const StudyView& view = facts.view;
  const std::size_t current = current_stage(view);
  if (!facts.asked || view.state.finished || current >= view.stages.size()) return;
  const StageView& stage = view.stages[current];
  const StageName& name = view.plan.stages[current].name;
  const auto log = facts.reducer_logs.find(name);
  const auto jobs = view.state.jobs_of(name, JobKind::reducer);
  if (!stage.manifest || jobs.empty() || log == facts.reducer_logs.end()) return;
  for (const JobReport& report : facts.jobs) {
    const bool ours = std::any_of(jobs.begin(), jobs.end(), [&](const JobRecord* job) {
      return *job->job == report.job.number;
    });
    if (ours && !is_over(report.state)) return;  // it will speak for itself
  }
  findings.push_back(
      {.check = "reducer",
       .what = fmt::format("the reducer of {} ended without a decision; its last words: {}",
                           name.text, one_line(log->second, 400)),
       .remedy = resume(facts)});
}

}  // namespace slurmtune
