// SPDX-License-Identifier: MIT
//
// Both clients of Slurm ask for the same, on a real cluster.
#include <algorithm>
#include <cstdlib>
#include <optional>
#include <regex>
#include <set>
#include <sstream>

#include <fmt/format.h>

#include "slurmtune/execute/job_script.hpp"
#include "slurmtune/execute/process.hpp"
#include "slurmtune/execute/sbatch_directives.hpp"

#include "tests/contract/slurm_under_test.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace slurmtune;

namespace {

std::string output_of(std::vector<std::string> argv) {
  const auto result = run_process(
      {.call = {.argv = std::move(argv), .environment = {}, .workdir = ""}, .input = ""});
  REQUIRE(result);
  REQUIRE(result->status.success());
  return result->out;
}

/// What the controller holds of a job, without what differs between two jobs of one script: among
/// it the reason that it waits for, which is Slurm's word and changes when its scheduler looks.
std::set<std::string> fields_of(JobId job) {
  std::istringstream words(
      output_of({"scontrol", "--oneliner", "show", "job", std::to_string(job.number)}));
  const std::regex of_one_job(
      "(JobId|ArrayJobId|SubmitTime|EligibleTime|AccrueTime|LastSchedEval|"
      "StartTime|EndTime|Reason|Priority|AllocNode:Sid|SubmitLine|Scheduler)=.*");
  std::set<std::string> fields;
  for (std::string word; words >> word;) {
    if (!std::regex_match(word, of_one_job)) {
      fields.insert(std::regex_replace(word, std::regex("[0-9]+_429496729[0-9]"), "ID_TASK"));
    }
  }
  return fields;
}

/// What is in one of the two only, each marked by where it is.
std::set<std::string> differences(const std::set<std::string>& by_commands,
                                  const std::set<std::string>& by_libslurm) {
  std::set<std::string> found;
  for (const std::string& text : by_commands) {
    if (by_libslurm.count(text) == 0) found.insert("commands: " + text);
  }
  for (const std::string& text : by_libslurm) {
    if (by_commands.count(text) == 0) found.insert("libslurm: " + text);
  }
  return found;
}

/// A job script as a study's arrays have it, with most of what a site may add.
JobRequest request_of(const TemporaryDirectory& directory, const std::string& body) {
  JobScript script;
  script.study_dir = directory.path().string();
  script.origin = script.study_dir;
  script.job_name = "st-same";
  script.stage = {"01-profile"};
  script.nodes_per_task = 2;
  script.walltime = std::chrono::seconds(90);
  script.site.partition = "batch";
  script.site.sbatch_options = {"--comment=two words", "--exclude=n4"};
  script.site.array_options = {"--gpus-per-node=2", "--mem=1G", "--ntasks-per-node=2",
                               "--cpus-per-task=2"};
  auto text = render_job_script(script);
  REQUIRE(text);
  if (!body.empty()) text = text->substr(0, text->find("\n\n# A task's time")) + "\n" + body;
  JobRequest request;
  request.name = script.job_name;
  request.script = directory.write("array.sbatch", *text);
  request.workdir = directory.path().string();
  std::filesystem::create_directories(log_directory(script));
  return request;
}

}  // namespace

TEST_CASE("both clients of Slurm ask the controller for the same", "[contract]") {
  const TemporaryDirectory directory;
  JobRequest request = request_of(directory, "");
  const auto commands = make_slurm_under_test(SlurmClient::commands);
  const auto libslurm = make_slurm_under_test(SlurmClient::libslurm);
  request.array_tasks = GENERATE(std::optional<std::int64_t>(), std::optional<std::int64_t>(6));
  if (request.array_tasks) request.array_at_once = 2;
  request.begin = commands->now() + std::chrono::hours(2);
  const auto blocker = commands->scheduler().submit(request);
  REQUIRE(blocker);
  request.after_any = {*blocker};
  const auto first = commands->scheduler().submit(request);
  const auto second = libslurm->scheduler().submit(request);
  REQUIRE(first);
  REQUIRE(second);
  const auto asked_by_commands = fields_of(*first);
  CHECK(asked_by_commands.size() > 30);
  CHECK(differences(asked_by_commands, fields_of(*second)) == std::set<std::string>{});
}

TEST_CASE("a job sees the same environment and limits by both clients", "[contract]") {
  const TemporaryDirectory directory;
  const ScopedVariable mine("MY_SETTING", "two words");
  const ScopedVariable foreign("SLURM_JOB_QOS", "of another job");
  const ScopedVariable of_a_rank("OMPI_COMM_WORLD_RANK", "3");
  const ScopedVariable of_a_step("PMIX_RANK", "3");
  JobRequest request = request_of(
      directory,
      "{ env; ulimit -a; umask; pwd; } | grep -vE '^(SLURM_(JOB_ID|JOBID|TASK_PID|JOB_START_TIME|"
      "JOB_END_TIME)|HOSTNAME|SLURM_ARRAY_JOB_ID)=' | sort > $1environment.$SLURM_JOB_ID\n");
  std::vector<std::set<std::string>> environments;
  for (const SlurmClient client : {SlurmClient::commands, SlurmClient::libslurm}) {
    const auto slurm = make_slurm_under_test(client);
    const auto job = slurm->scheduler().submit(request);
    REQUIRE(job);
    REQUIRE(slurm->wait_until([&] {
      const std::vector<JobId> jobs{*job};
      const auto reports = slurm->scheduler().report(jobs);
      return reports && !reports->empty() && reports->front().state == JobState::completed;
    }));
    std::istringstream lines(directory.read("environment." + std::to_string(job->number)));
    std::set<std::string>& environment = environments.emplace_back();
    for (std::string line; std::getline(lines, line);) environment.insert(line);
  }
  CHECK(environments[0].count("MY_SETTING=two words") == 1);
  for (const auto& environment : environments) {
    CHECK(environment.count("SLURM_JOB_QOS=of another job") == 0);
    CHECK(environment.count("OMPI_COMM_WORLD_RANK=3") == 0);
    CHECK(environment.count("PMIX_RANK=3") == 0);
  }
  CHECK(environments[0].count("SLURM_JOB_NUM_NODES=2") == 1);
  CHECK(differences(environments[0], environments[1]) == std::set<std::string>{});
}

TEST_CASE("libslurm leaves to sbatch what it does not know", "[contract]") {
  const TemporaryDirectory directory;
  JobRequest request = request_of(directory, "");
  request.script = directory.write(
      "odd.sbatch", "#!/bin/sh\n#SBATCH --gpus-per-task=1 --ntasks=2 --begin=now+1hour\ntrue\n");
  const auto libslurm = make_slurm_under_test(SlurmClient::libslurm);
  CHECK(libslurm->scheduler().description().starts_with("libslurm "));
  const auto job = libslurm->scheduler().submit(request);
  REQUIRE(job);
  CHECK(fields_of(*job).count("TresPerTask=gres:gpu:1") == 1);
}

TEST_CASE("libslurm is preferred where it works, the commands where it does not", "[contract]") {
  std::vector<std::string> notes;
  ClientChoice choice;
  choice.note = [&](const std::string& text) { notes.push_back(text); };
  auto scheduler = make_slurm_scheduler(choice);
  REQUIRE(scheduler);
  CHECK((*scheduler)->description().starts_with("libslurm "));
  CHECK(notes.empty());

  const TemporaryDirectory broken;
  broken.write("slurmtune-libslurm.so", "not a library");
  choice.plugin_directory = broken.path();
  scheduler = make_slurm_scheduler(choice);
  REQUIRE(scheduler);
  CHECK((*scheduler)->description().starts_with("slurm commands "));
  REQUIRE(notes.size() == 1);
  CHECK(notes.front().find("the libslurm client cannot be loaded: ") == 0);

  choice.client = SlurmClient::libslurm;
  CHECK(make_slurm_scheduler(choice).error().kind == ErrorKind::unavailable);
}

TEST_CASE("a configuration that is not there ends neither the process nor a minute", "[contract]") {
  const TemporaryDirectory directory;
  const ScopedVariable conf("SLURM_CONF", directory / "no-such.conf");
  for (const SlurmClient client :
       {SlurmClient::automatic, SlurmClient::commands, SlurmClient::libslurm}) {
    ClientChoice choice;
    choice.client = client;
    const auto scheduler = make_slurm_scheduler(choice);
    REQUIRE_FALSE(scheduler);
    CHECK(scheduler.error().kind == ErrorKind::unavailable);
    CHECK(scheduler.error().message.find("no-such.conf") != std::string::npos);
  }
}

TEST_CASE("a controller that is down is unavailable to both clients, and comes back",
          "[contract]") {
  // Clients that are less patient than the cluster's own MessageTimeout of 10 s.
  const TemporaryDirectory directory;
  const std::string conf =
      output_of({"sed", "s/^MessageTimeout=.*/MessageTimeout=2/", std::getenv("SLURM_CONF")});
  const ScopedVariable impatient("SLURM_CONF", directory.write("slurm.conf", conf));
  const auto commands = make_slurm_under_test(SlurmClient::commands);
  const auto libslurm = make_slurm_under_test(SlurmClient::libslurm);
  const char* cluster = std::getenv("SLURMTUNE_CLUSTER_SH");
  const char* cluster_directory = std::getenv("SLURMTUNE_CLUSTER_DIR");
  REQUIRE(cluster != nullptr);
  REQUIRE(cluster_directory != nullptr);
  output_of({cluster, "kill", cluster_directory, "ctld"});
  CHECK(commands->scheduler().find("st-any").error().kind == ErrorKind::unavailable);
  CHECK(libslurm->scheduler().find("st-any").error().kind == ErrorKind::unavailable);
  output_of({cluster, "start", cluster_directory, "ctld"});
  CHECK(commands->scheduler().find("st-any").value() == std::nullopt);
  CHECK(libslurm->scheduler().find("st-any").value() == std::nullopt);
}

TEST_CASE("both clients tell the same of jobs that run, wait, are held and have ended",
          "[contract]") {
  const TemporaryDirectory directory;
  const auto commands = make_slurm_under_test(SlurmClient::commands);
  const auto libslurm = make_slurm_under_test(SlurmClient::libslurm);
  const auto submit = [&](const std::string& name, const std::string& body,
                          std::optional<std::int64_t> tasks) {
    JobRequest request;
    request.name = name;
    request.script = directory.write(
        name, "#!/bin/bash\n#SBATCH --output=/dev/null\n#SBATCH --ntasks=1\n" + body + "\n");
    request.workdir = directory.path().string();
    request.array_tasks = tasks;
    if (tasks) request.array_at_once = 1;
    const auto job = commands->scheduler().submit(request);
    REQUIRE(job);
    return *job;
  };
  const JobId failed = submit("fails", "exit 3", std::nullopt);
  const JobId killed = submit("killed", "kill -9 $$", std::nullopt);
  const JobId array = submit("array", "sleep 60", 4);
  const JobId held = submit("held", "true", std::nullopt);
  output_of({"scontrol", "uhold", std::to_string(held.number)});
  const std::vector<JobId> jobs{failed, killed, array, held};

  const auto told_by = [&](Scheduler& scheduler) {
    std::set<std::string> told;
    const auto reports = scheduler.report(jobs);
    REQUIRE(reports);
    for (const JobReport& r : *reports) {
      told.insert(fmt::format("{} {} {} {} {} {} {} {} {}", r.job.number, r.task.value_or(-1),
                              r.name, name_of(r.state), r.reason, r.nodes, r.exit_code.value_or(-1),
                              r.signal.value_or(-1), r.restarts.value_or(-1)));
    }
    return told;
  };
  std::set<std::string> told;
  REQUIRE(commands->wait_until([&] {
    told = told_by(commands->scheduler());
    return std::any_of(told.begin(), told.end(),
                       [](const std::string& text) {
                         return text.find("array running") != std::string::npos;
                       }) &&
           std::none_of(told.begin(), told.end(), [](const std::string& text) {
             return text.find("fails running") != std::string::npos ||
                    text.find("killed running") != std::string::npos ||
                    text.find("s pending") != std::string::npos ||
                    text.find("killed pending") != std::string::npos;
           });
  }));
  // Both, and the second one's repeated question, until Slurm says the same twice.
  CHECK(commands->wait_until([&] {
    const auto first = told_by(commands->scheduler());
    return first == told_by(libslurm->scheduler()) && first == told_by(libslurm->scheduler());
  }));
  told = told_by(libslurm->scheduler());
  const auto has = [&](const std::string& text) {
    return std::any_of(told.begin(), told.end(),
                       [&](const std::string& one) { return one.find(text) != std::string::npos; });
  };
  CHECK(has("fails failed NonZeroExitCode"));
  CHECK(has(" 3 -1 0"));
  CHECK(has("killed failed"));
  CHECK(has(" -1 9 0"));
  CHECK(has("array pending JobArrayTaskLimit"));
  CHECK(has("held pending JobHeldUser"));
}

TEST_CASE("nodes are left out for the tasks that wait, by either client", "[contract]") {
  const TemporaryDirectory directory;
  for (const SlurmClient client : {SlurmClient::commands, SlurmClient::libslurm}) {
    const auto slurm = make_slurm_under_test(client);
    JobRequest request;
    request.name = "st-exclude";
    request.script = directory.write(
        "exclude", "#!/bin/bash\n#SBATCH --output=/dev/null --exclude=n3\nsleep 60\n");
    request.workdir = directory.path().string();
    request.array_tasks = 4;
    request.array_at_once = 1;
    request.exclude = "n3,n4";  // in place of the script's
    const auto job = slurm->scheduler().submit(request);
    REQUIRE(job);
    const auto shown = [&] {
      return output_of({"scontrol", "--oneliner", "show", "job", std::to_string(job->number)});
    };
    CHECK(shown().find("ExcNodeList=n[3-4]") != std::string::npos);
    REQUIRE(
        slurm->wait_until([&] { return shown().find("JobState=RUNNING") != std::string::npos; }));
    CHECK(slurm->scheduler().exclude_nodes(*job, "n2,n3"));
    CHECK(shown().find("ExcNodeList=n2,n3") != std::string::npos);
    CHECK(slurm->scheduler().exclude_nodes(JobId{99'999}, "n2"));
    const auto refused = slurm->scheduler().exclude_nodes(*job, "no-such-node");
    REQUIRE_FALSE(refused);
    CHECK(refused.error().kind == ErrorKind::invalid_input);
    CHECK(slurm->scheduler().cancel(*job));
    REQUIRE(slurm->wait_until([&] {
      const std::vector<JobId> one{*job};
      const auto reports = slurm->scheduler().report(one);
      return reports && std::all_of(reports->begin(), reports->end(),
                                    [](const JobReport& r) { return is_over(r.state); });
    }));
    CHECK(slurm->scheduler().exclude_nodes(*job, "n2"));
  }
}
