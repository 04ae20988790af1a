// SPDX-License-Identifier: MIT
#include "slurmtune/report/doctor.hpp"

#include <algorithm>
#include <set>

#include <nlohmann/json.hpp>

#include "tests/support/catch.hpp"
#include "tests/unit/report/report_fixture.hpp"

using namespace slurmtune;
using namespace slurmtune::test;

namespace {

constexpr std::int64_t array_number = 4711;
constexpr std::int64_t reducer_number = 4712;

JobReport reported(std::int64_t job, JobState state, std::string reason = "None") {
  return {.job = {job},
          .task = std::nullopt,
          .name = "st",
          .state = state,
          .reason = std::move(reason),
          .nodes = ""};
}

ControllerPartition partition_up() {
  ControllerPartition partition;
  partition.name = "batch";
  partition.is_default = true;
  partition.state = "UP";
  return partition;
}

/// A study that goes on: its first array runs, its reducer waits, nothing is wrong.
struct Patient {
  Patient() {
    study.view.stages[1] = {};
    Shard& shard = study.view.stages[0].shards[0];
    shard.end.reset();
    shard.verdicts.pop_back();
    add(JobKind::array, array_number);
    add(JobKind::reducer, reducer_number);
    facts.asked = true;
    facts.jobs = {reported(array_number, JobState::running),
                  reported(reducer_number, JobState::pending, "Dependency")};
    facts.partitions = {partition_up()};
    facts.disk.free_bytes = std::uint64_t{1} << 40U;
    facts.disk.free_inodes = 1'000'000;
  }

  void add(JobKind kind, std::int64_t number) {
    JobRecord job;
    job.stage = study.view.plan.stages[0].name;
    job.kind = kind;
    job.name = job_name(study.view.plan.study, job.stage, kind, 0);
    job.job = number;
    study.view.state.jobs.push_back(job);
  }

  /// The one finding of these facts.
  [[nodiscard]] Finding finding() const {
    const auto findings = diagnose(facts);
    REQUIRE(findings.size() == 1);
    return findings.front();
  }

  ReportedStudy study = ReportedStudy::confirmed();
  DoctorInput facts{.directory = "/scratch/st",
                    .input = study.input,
                    .view = study.view,
                    .now = ReportedStudy::instant(60)};
};

}  // namespace

TEST_CASE("doctor: a study that goes on has nothing in its way", "[report]") {
  const Patient patient;
  const auto findings = diagnose(patient.facts);
  CHECK(findings.empty());
  CHECK(doctor_text(patient.facts, findings, Colour::never) ==
        "nothing stands in the way of this study\n");
  CHECK(doctor_json(patient.facts, findings)["blocked"] == false);
}

TEST_CASE("doctor: each check has a name of its own", "[report]") {
  std::set<std::string_view> names;
  for (const DoctorCheck& check : doctor_checks()) names.insert(check.name);
  CHECK(names.size() == doctor_checks().size());
}

TEST_CASE("doctor: what Slurm holds a job for, and the command that helps", "[report]") {
  struct Case {
    std::string reason;
    Severity severity;
    std::string remedy;
  };
  const std::vector<Case> cases{
      {"DependencyNeverSatisfied", Severity::blocks,
       "scancel 4712 && slurmtune resume /scratch/st"},
      {"JobHeldUser", Severity::blocks, "scontrol release 4712"},
      {"JobHeldAdmin", Severity::blocks, "scontrol show job 4712"},
      {"launch failed requeued held", Severity::blocks, "scontrol release 4712"},
      {"launch_failed_requeued_held", Severity::blocks, "scontrol release 4712"},
      {"QOSMaxSubmitJobPerUserLimit", Severity::blocks, "sacctmgr show qos"},
      {"QOSGrpNodeLimit", Severity::note, "sacctmgr show qos"},
      {"AssocGrpNodeRunMinutes", Severity::blocks,
       "sacctmgr show assoc where user=$USER format=account,grptresmins,grpjobs"},
      {"AssocMaxJobsLimit", Severity::blocks, "sacctmgr show assoc where user=$USER"},
      {"PartitionDown", Severity::blocks, "scontrol show partition"},
      {"PartitionTimeLimit", Severity::blocks, "scontrol update JobId=4712 TimeLimit=HH:MM:SS"},
      {"InvalidAccount", Severity::blocks, "scontrol update JobId=4712 Account=NAME"},
      {"ReqNodeNotAvail, UnavailableNodes:n3", Severity::blocks, "sinfo --list-reasons"},
      {"Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority "
       "partitions",
       Severity::blocks, "sinfo --list-reasons"},
      {"BeginTime", Severity::note, "scontrol update JobId=4712 StartTime=now"}};
  for (const Case& each : cases) {
    CAPTURE(each.reason);
    Patient patient;
    patient.facts.jobs[1].reason = each.reason;
    const Finding finding = patient.finding();
    CHECK(finding.check == "reason");
    CHECK(finding.severity == each.severity);
    CHECK(finding.remedy == each.remedy);
    CHECK(contains(finding.what, "job 4712 "));
  }
  for (const std::string usual : {"Priority", "Resources", "Dependency", "None"}) {
    Patient patient;
    patient.facts.jobs[1].reason = usual;
    CHECK(diagnose(patient.facts).empty());
  }
}

TEST_CASE("doctor: jobs that wait for one reason are one finding, the guard's time is none",
          "[report]") {
  Patient patient;
  patient.facts.jobs[0] = reported(array_number, JobState::pending, "JobHeldUser");
  patient.facts.jobs[1].reason = "JobHeldUser";
  CHECK(patient.finding().remedy == "scontrol release 4711,4712");
  patient.study.view.state.jobs[1].kind = JobKind::guard;
  patient.facts.jobs[1].reason = "BeginTime";
  CHECK(patient.finding().remedy == "scontrol release 4711");
}

TEST_CASE("doctor: what waits for its window is not told to begin now", "[report]") {
  Patient patient;
  patient.facts.jobs[0] = reported(array_number, JobState::pending, "BeginTime");
  CHECK(patient.finding().remedy == "scontrol update JobId=4711 StartTime=now");
  patient.study.view.state.created.window.emplace();
  CHECK(diagnose(patient.facts).empty());
}

TEST_CASE("doctor: a job that is gone, or a stage without jobs, is resumed", "[report]") {
  Patient patient;
  patient.facts.jobs.clear();
  CHECK(patient.finding().remedy == "slurmtune resume /scratch/st");
  CHECK(patient.finding().check == "jobs");
  // Jobs of other stages do not help.
  patient.add(JobKind::final, 4720);
  patient.facts.jobs = {reported(4720, JobState::pending, "Dependency")};
  CHECK(contains(patient.finding().what, "01-profile has neither an array nor a reducer"));
  // Where the queue did not answer nothing is known to be missing.
  patient.facts.asked = false;
  patient.facts.queue_error = "Slurm does not answer";
  CHECK(patient.finding().check == "queue");
}

TEST_CASE("doctor: partitions that are gone, down or too short", "[report]") {
  Patient patient;
  patient.study.input.site.partition = "gpu";
  CHECK(patient.finding().what == "there is no partition gpu");
  patient.facts.partitions[0].name = "gpu";
  patient.facts.partitions[0].state = "DOWN";
  CHECK(patient.finding().what == "partition gpu is DOWN");
  patient.facts.partitions[0].state = "UP";
  patient.facts.partitions[0].walltime_max_s = 600;
  patient.study.view.plan.stages[0].task_walltime_s = 1800;
  CHECK(contains(patient.finding().what, "tasks of 01-profile ask for 0:30:00"));
}

TEST_CASE("doctor: too few nodes are left where the others are drained or excluded", "[report]") {
  Patient patient;
  patient.study.view.plan.stages[0].nodes_per_task = 2;
  patient.study.input.site.exclude = {"n[3]"};
  patient.facts.nodes = {{"n1", "IDLE", "", {"batch"}},
                         {"n2", "IDLE+DRAIN", "bad fan", {"batch"}},
                         {"n3", "IDLE", "", {"batch"}},
                         {"n4", "IDLE", "", {"debug"}}};
  const Finding finding = patient.finding();
  CHECK(finding.check == "nodes");
  CHECK(finding.what ==
        "a task takes 2 nodes, and partition batch has 1 that can be used; n2 is IDLE+DRAIN: bad "
        "fan; the study excludes n[3]");
  patient.facts.nodes[1].state = "MIXED";
  CHECK(diagnose(patient.facts).empty());
}

TEST_CASE("doctor: an intent whose process is gone blocks, a young one does not", "[report]") {
  Patient patient;
  JobRecord intent;
  intent.name = "st-x";
  intent.by = "login1:77";
  intent.intended_at = ReportedStudy::instant(30);
  patient.study.view.state.jobs.push_back(intent);
  CHECK(patient.finding().severity == Severity::note);
  patient.study.view.submitter_is_dead = true;
  CHECK(patient.finding().severity == Severity::blocks);
  patient.study.view.submitter_is_dead = false;
  patient.facts.now = ReportedStudy::instant(150);
  CHECK(patient.finding().severity == Severity::blocks);
  CHECK(patient.finding().remedy == "slurmtune resume /scratch/st");
}

TEST_CASE("doctor: a reducer that ended without a decision is quoted", "[report]") {
  Patient patient;
  const StageName name = patient.study.view.plan.stages[0].name;
  patient.facts.reducer_logs[name] = "slurmtune: No space left on device";
  CHECK(diagnose(patient.facts).empty());  // it waits to be run again
  patient.facts.jobs[1] = reported(reducer_number, JobState::failed);
  const Finding finding = patient.finding();
  CHECK(finding.check == "reducer");
  CHECK(contains(finding.what, "No space left on device"));
}

TEST_CASE("doctor: a disk that is full, short of inodes or read-only, and missing programs",
          "[report]") {
  Patient patient;
  patient.facts.disk.free_bytes = std::uint64_t{3} << 20U;
  CHECK(contains(patient.finding().what, "has 3 MiB left"));
  patient.facts.disk.free_bytes.reset();
  patient.facts.disk.free_inodes = 5;
  CHECK(contains(patient.finding().what, "has 5 inodes left"));
  patient.facts.disk.write_error = "/scratch/st: cannot create a file: Read-only file system";
  CHECK(contains(patient.finding().what, "Read-only file system"));
  patient.facts.disk = {};
  patient.facts.disk.missing_programs = {"slurmtune-runner"};
  CHECK(contains(patient.finding().what, "/scratch/st/bin lacks slurmtune-runner"));
}

TEST_CASE("doctor: trials that all fail alike are told in their own words", "[report]") {
  Patient patient;
  Shard& shard = patient.study.view.stages[0].shards[0];
  CHECK(diagnose(patient.facts).empty());
  for (Verdict& verdict : shard.verdicts) {
    verdict.outcome = Outcome::config_error;
    verdict.reason = "exit_code";
    verdict.evidence.emplace().line = "ModuleNotFoundError: No module named 'deepspeed'";
    verdict.evidence->log = "logs/a.log";
  }
  shard.verdicts.push_back(shard.verdicts.front());
  const Finding finding = patient.finding();
  CHECK(finding.check == "trials");
  CHECK(contains(finding.what, "No module named 'deepspeed'"));
  CHECK(finding.remedy ==
        "less /scratch/st/stages/01-profile/logs/a.log; slurmtune retry --failed /scratch/st");
  shard.verdicts.back().reason = "other";
  CHECK(diagnose(patient.facts).empty());
}

TEST_CASE("doctor: no GPU seen where nodes have some", "[report]") {
  Patient patient;
  patient.study.input.site.gpus_per_node = 4;
  CHECK(patient.finding().check == "gpus");
  patient.study.view.stages[0].shards[0].start.gpus = 4;
  CHECK(diagnose(patient.facts).empty());
}

TEST_CASE("doctor: a budget that is used up is extended", "[report]") {
  Patient patient;
  patient.study.view.plan.budget_node_seconds = 3600 * 100;
  CHECK(diagnose(patient.facts).empty());
  patient.study.view.plan.budget_node_seconds = 1;
  CHECK(patient.finding().check == "budget");
  CHECK(patient.finding().remedy == "slurmtune extend /scratch/st --max-node-hours 0.01");
  patient.study.view.plan.budget_node_seconds.reset();
  patient.study.input.spec.budget.max_experiments = 2;
  CHECK(patient.finding().remedy == "slurmtune extend /scratch/st --max-experiments 4");
  // Of two the one that has less left.
  patient.study.view.plan.budget_node_seconds = 3600 * 100;
  patient.study.view.state.finished = Finished{Stop::budget, std::nullopt};
  CHECK(patient.finding().remedy == "slurmtune extend /scratch/st --max-experiments 4");
}

TEST_CASE("doctor: a site that lets no job submit jobs, though its file says so", "[report]") {
  Patient patient;
  patient.facts.refused_in_job = "Slurm refuses the job st-2 (b): Access denied";
  const Finding finding = patient.finding();
  CHECK(finding.check == "site");
  CHECK(finding.severity == Severity::note);
  CHECK(contains(finding.what, "Access denied"));
  CHECK(contains(finding.what, "jobs_can_submit = false"));
  CHECK(finding.remedy == "slurmtune resume /scratch/st");
  patient.study.input.site.jobs_can_submit = false;
  CHECK(diagnose(patient.facts).empty());
}

TEST_CASE("doctor: a draft of the study that was never completed is named", "[report]") {
  Patient patient;
  patient.facts.drafts = {"/scratch/.st.draft.login1.7", "/scratch/.st.draft.login1.8"};
  CHECK(patient.finding().check == "draft");
  CHECK(patient.finding().remedy ==
        "rm -r /scratch/.st.draft.login1.7 /scratch/.st.draft.login1.8");
  patient.facts.jobs.clear();
  patient.study.view.state.finished = Finished{Stop::gain, std::nullopt};
  CHECK(patient.finding().check == "draft");
}

TEST_CASE("doctor: a deadline that is near is told, one that is past blocks", "[report]") {
  Patient patient;
  patient.study.view.state.deadline = ReportedStudy::instant(600);
  CHECK(diagnose(patient.facts).empty());
  patient.study.view.deadline_near = true;
  CHECK(patient.finding().severity == Severity::note);
  patient.facts.now = ReportedStudy::instant(700);
  CHECK(patient.finding().severity == Severity::blocks);
}

TEST_CASE("doctor: a node whose clock is ahead is named", "[report]") {
  Patient patient;
  Shard& shard = patient.study.view.stages[0].shards[0];
  shard.start.nodes = {"n2"};
  shard.last_heartbeat = Heartbeat{ReportedStudy::instant(3660)};
  const Finding finding = patient.finding();
  CHECK(finding.severity == Severity::note);
  CHECK(contains(finding.what, "the clock of n2 is 60 min ahead"));
}

TEST_CASE("doctor: of a finished study only what ended it is told, and nothing blocks",
          "[report]") {
  Patient patient;
  patient.facts.jobs.clear();
  patient.facts.disk.missing_programs = {"slurmtune"};
  patient.study.view.state.finished = Finished{Stop::gain, std::nullopt};
  const auto findings = diagnose(patient.facts);
  CHECK(findings.empty());
  CHECK(doctor_text(patient.facts, findings, Colour::never) ==
        "the study is finished (gain): slurmtune report /scratch/st\n");
}
