// SPDX-License-Identifier: MIT
//
// What the files of a study, its disk and its budget say that keeps it from going on.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include <fmt/format.h>

#include "slurmtune/base/shell_quote.hpp"
#include "slurmtune/base/units.hpp"
#include "slurmtune/report/budgets.hpp"
#include "slurmtune/report/doctor.hpp"
#include "slurmtune/report/table.hpp"

namespace slurmtune {

namespace {

/// Less than this, and shards, logs or journal may not be written to their end.
constexpr std::uint64_t free_bytes_min = std::uint64_t{256} << 20U;
constexpr std::uint64_t free_inodes_min = 1000;
/// How far a node's clock may be ahead: shards tell the order of what happened.
constexpr std::chrono::seconds clock_skew_max{60};
/// So many failures alike, and nothing that worked, are no accident.
constexpr std::int64_t alike_min = 3;

/// How a verdict failed, as it is told: `config_error (rule:…)`.
std::string cause_of(const Verdict& verdict) {
  std::string cause(name_of(verdict.outcome));
  if (!verdict.reason.empty()) cause += fmt::format(" ({})", one_line(verdict.reason, 60));
  return cause;
}

/// The option of `extend` that doubles a budget.
std::string more_of(const BudgetLine& line) {
  const double more = 2.0 * *line.limit;
  if (line.name == "experiments") return fmt::format("--max-experiments {:.0f}", more);
  const char* option = line.name == "GPU-hours" ? "--max-gpu-hours" : "--max-node-hours";
  // Rounded up to cents, so that it is never less than what is spent.
  return fmt::format("{} {}", option, std::ceil(more * 100.0) / 100.0);
}

bool is_failure(Outcome outcome) {
  const OutcomeRule& rule = rule_of(outcome);
  return outcome != Outcome::ok && rule.retry != Retry::while_budget_lasts;
}

}  // namespace

void check_disk(const DoctorInput& facts, std::vector<Finding>& findings) {
  const DiskFacts& disk = facts.disk;
  if (!disk.write_error.empty()) {
    findings.push_back({.check = "disk",
                        .what = fmt::format("nothing can be written: {}", disk.write_error),
                        .remedy = fmt::format("df -h {0}; df -i {0}; quota -s", facts.directory)});
    return;
  }
  if (disk.free_bytes && *disk.free_bytes < free_bytes_min) {
    findings.push_back({.check = "disk",
                        .what = fmt::format("the filesystem of the study has {} MiB left",
                                            *disk.free_bytes >> 20U),
                        .remedy = fmt::format("df -h {}", facts.directory)});
  }
  if (disk.free_inodes && *disk.free_inodes < free_inodes_min) {
    findings.push_back(
        {.check = "disk",
         .what = fmt::format("the filesystem of the study has {} inodes left", *disk.free_inodes),
         .remedy = fmt::format("df -i {}", facts.directory)});
  }
}

void check_programs(const DoctorInput& facts, std::vector<Finding>& findings) {
  if (facts.view.state.finished || facts.disk.missing_programs.empty()) return;
  findings.push_back({.check = "programs",
                      .what = fmt::format("{}/bin lacks {}, which its jobs start", facts.directory,
                                          fmt::join(facts.disk.missing_programs, " and ")),
                      .remedy = fmt::format(
                          "cp --no-clobber \"$(dirname \"$(command -v slurmtune)\")\"/slurmtune* "
                          "{}/bin/",
                          facts.directory)});
}

void check_clocks(const DoctorInput& facts, std::vector<Finding>& findings) {
  std::map<std::string, std::chrono::milliseconds> ahead;  // node -> at most
  for (const StageView& stage : facts.view.stages) {
    for (const Shard& shard : stage.shards) {
      Instant last = shard.start.at;
      if (shard.last_heartbeat) last = std::max(last, shard.last_heartbeat->at);
      for (const Verdict& verdict : shard.verdicts) last = std::max(last, verdict.ended);
      if (shard.end) last = std::max(last, shard.end->at);
      if (last - facts.now < clock_skew_max) continue;
      auto& most = ahead[shard.start.nodes.empty() ? "a node" : shard.start.nodes.front()];
      most = std::max(most, std::chrono::milliseconds(last - facts.now));
    }
  }
  for (const auto& [node, span] : ahead) {
    findings.push_back({.check = "clock",
                        .severity = Severity::note,
                        .what = fmt::format("the clock of {} is {} ahead of this machine's", node,
                                            format_duration(span)),
                        .remedy = fmt::format("ssh {} timedatectl", node)});
  }
}

void check_trials(const DoctorInput& facts, std::vector<Finding>& findings) {
  std::map<std::string, std::int64_t> causes;
  const Verdict* example = nullptr;
  const StageName* stage_of_example = nullptr;
  std::int64_t failed = 0;
  for (std::size_t i = 0; i < facts.view.stages.size(); ++i) {
    for (const Shard& shard : facts.view.stages[i].shards) {
      for (const Verdict& verdict : shard.verdicts) {
        if (verdict.outcome == Outcome::ok) return;
        if (!is_failure(verdict.outcome)) continue;
        ++failed;
        ++causes[cause_of(verdict)];
        if (example != nullptr) continue;
        example = &verdict;
        stage_of_example = &facts.view.plan.stages[i].name;
      }
    }
  }
  if (failed < alike_min || causes.size() != 1 || example == nullptr) return;
  std::string what = fmt::format("all {} trials so far ended as {}", failed, causes.begin()->first);
  std::string remedy;
  if (example->evidence) {
    if (!example->evidence->line.empty()) what += ": " + one_line(example->evidence->line);
    if (!example->evidence->log.empty()) {
      remedy = fmt::format("less {}/stages/{}/{}", facts.directory, stage_of_example->text,
                           example->evidence->log);
    }
  }
  const bool mendable = example->outcome != Outcome::gpu_oom &&
                        example->outcome != Outcome::host_oom && example->outcome != Outcome::nan;
  if (mendable) {
    what += "; once that is mended";
    remedy = fmt::format("{}slurmtune retry --failed {}", remedy.empty() ? "" : remedy + "; ",
                         facts.directory);
  }
  findings.push_back({.check = "trials", .what = std::move(what), .remedy = std::move(remedy)});
}

void check_gpus(const DoctorInput& facts, std::vector<Finding>& findings) {
  if (facts.input.site.gpus_per_node.value_or(0) == 0) return;
  for (const StageView& stage : facts.view.stages) {
    for (const Shard& shard : stage.shards) {
      if (shard.start.gpus > 0) continue;
      findings.push_back(
          {.check = "gpus",
           .what = fmt::format("the task on {} saw no GPU, where nodes have {}: jobs have to ask "
                               "for them (gpu_request of [slurm])",
                               shard.start.nodes.empty() ? "its node" : shard.start.nodes.front(),
                               *facts.input.site.gpus_per_node),
           .remedy = "slurmtune site check"});
      return;
    }
  }
}

void check_jobs_may_submit(const DoctorInput& facts, std::vector<Finding>& findings) {
  const Site& site = facts.input.site;
  if (facts.refused_in_job.empty() || !site.jobs_can_submit) return;
  findings.push_back(
      {.check = "site",
       .severity = Severity::note,
       .what =
           fmt::format("a job of the study was refused the next one ({}), and site {} says that "
                       "jobs may submit jobs: if that is not so here, put jobs_can_submit = "
                       "false into its file or [slurm]; this study goes on from here",
                       one_line(facts.refused_in_job, 300), site.name),
       .remedy = facts.view.state.finished ? "" : "slurmtune resume " + facts.directory});
}

void check_drafts(const DoctorInput& facts, std::vector<Finding>& findings) {
  if (facts.drafts.empty()) return;
  std::string remedy = "rm -r";
  for (const std::string& draft : facts.drafts) remedy += ' ' + shell_quote(draft);
  findings.push_back({.check = "draft",
                      .severity = Severity::note,
                      .what = "beside the study a draft of it is left, by a submit that was killed",
                      .remedy = std::move(remedy)});
}

void check_budget(const DoctorInput& facts, std::vector<Finding>& findings) {
  const bool by_budget =
      facts.view.state.finished && facts.view.state.finished->stop == Stop::budget;
  std::vector<BudgetLine> lines = budget_lines(facts.input, facts.view);
  std::erase_if(lines, [](const BudgetLine& line) { return !line.limit; });
  // Of several the one that has the smallest share left has ended it.
  std::stable_sort(lines.begin(), lines.end(), [](const BudgetLine& a, const BudgetLine& b) {
    return *a.left() * *b.limit < *b.left() * *a.limit;
  });
  for (const BudgetLine& line : lines) {
    if (*line.left() > 0.0 && !by_budget) continue;
    findings.push_back(
        {.check = "budget",
         .severity = facts.view.state.finished ? Severity::note : Severity::blocks,
         .what = fmt::format("the budget of {} is {}: {}", line.name,
                             by_budget ? "what ended the study" : "used up", in_words(line)),
         .remedy = fmt::format("slurmtune extend {} {}", facts.directory, more_of(line))});
    if (by_budget) return;
  }
}

void check_deadline(const DoctorInput& facts, std::vector<Finding>& findings) {
  const auto& deadline = facts.view.state.deadline;
  if (!deadline || facts.view.state.finished) return;
  if (*deadline <= facts.now) {
    findings.push_back(
        {.check = "deadline",
         .what = fmt::format("the deadline {} is past, and the study is not finished",
                             format_instant(*deadline)),
         .remedy = fmt::format("slurmtune reduce {} --stage guard", facts.directory)});
  } else if (facts.view.deadline_near) {
    findings.push_back({.check = "deadline",
                        .severity = Severity::note,
                        .what = fmt::format("no further stage can end before the deadline, in {}",
                                            format_duration(*deadline - facts.now)),
                        .remedy = ""});
  }
}

}  // namespace slurmtune
