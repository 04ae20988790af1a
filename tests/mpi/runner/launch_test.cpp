// SPDX-License-Identifier: MIT
//
// What the ranks of a trial are given: their place, a port, their arguments, and nothing of ours.

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "slurmtune/runner/start/environment.hpp"
#include "slurmtune/runner/start/rendezvous.hpp"

#include "tests/mpi/runner/task_fixture.hpp"
#include "tests/support/catch.hpp"

namespace slurmtune {

namespace {

/// Arguments that a shell would have split, expanded or eaten.
const std::vector<std::string> odd_arguments{"two words",
                                             "it's \"quoted\"",
                                             "$HOME `date` $(date) ${x}",
                                             "two\nlines\n",
                                             "*",
                                             "~",
                                             "",
                                             "back\\slash\\",
                                             "a;b|c>d&",
                                             "--option=x y",
                                             "\xc3\xbc"};

std::vector<std::string> command_with(std::vector<std::string> arguments) {
  for (std::string& argument : arguments) {
    // One brace begins a placeholder of ours.
    for (std::size_t at = 0; (at = argument.find('{', at)) != std::string::npos; at += 2) {
      argument.insert(at, 1, '{');
    }
  }
  std::vector<std::string> command{SLURMTUNE_SOURCE_DIR "/tests/mpi/runner/trial.sh", "{p:mode}"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return command;
}

std::vector<std::string> split_at_nul(const std::string& bytes) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t end = bytes.find('\0', at);
    words.push_back(bytes.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

void check_rank(const Environment& variables, int rank, int local_size) {
  const auto is = [&](const char* name, int number) {
    INFO(name);
    CHECK(variable(variables, name) == std::to_string(number));
  };
  is("RANK", rank);
  is("WORLD_SIZE", local_size);
  is("LOCAL_RANK", rank);
  is("LOCAL_WORLD_SIZE", local_size);
  is("LOCAL_SIZE", local_size);
  is("NODE_RANK", 0);
  is("GROUP_RANK", 0);
  is("ROLE_RANK", rank);
  is("ROLE_WORLD_SIZE", local_size);
  is("PYTHONUNBUFFERED", 1);
}

}  // namespace

TEST_CASE("runner: arguments arrive as they were given, under every launcher", "[runner]") {
  std::vector<std::string> wanted{"dump"};
  wanted.insert(wanted.end(), odd_arguments.begin(), odd_arguments.end());
  for (const char* launcher : {"torch", "mpirun", "command"}) {
    TaskFixture task({{"dump"}}, {.launcher = launcher, .command = command_with(odd_arguments)});
    // The user's own line names no rank.
    if (std::string(launcher) == "command") task.environment["RANK"] = "0";
    const ProcessResult result = task.run();
    INFO(launcher << result.out << result.err << task.log("dump"));
    CHECK(split_at_nul(task.work_file("dump", "arguments.0")) == wanted);
    if (std::string(launcher) == "command") continue;
    CHECK(split_at_nul(task.work_file("dump", "arguments.1")) == wanted);
  }
}

TEST_CASE("runner: torch's ranks know their place, and nothing of what started the runner",
          "[runner]") {
  TaskFixture task({{"dump"}}, {.launcher = "torch", .processes_per_node = 3});
  task.prefix = {"mpirun", "-n", "2", "--oversubscribe"};
  if (::geteuid() == 0) task.prefix.emplace_back("--allow-run-as-root");
  // What srun tells the tasks of a step; what sbatch tells stays.
  task.environment["SLURM_STEP_ID"] = "7";
  task.environment["SLURM_STEPID"] = "7";
  task.environment["SLURM_STEP_NODELIST"] = "n7";
  task.environment["SLURM_PROCID"] = "0";
  task.environment["SLURM_LOCALID"] = "0";
  task.environment["SLURM_CPU_BIND"] = "quiet,mask_cpu:0x1";
  task.environment["SLURM_JOB_NAME"] = "mine";
  const ProcessResult result = task.run();
  INFO(result.out << result.err << task.log("dump"));
  REQUIRE(task.verdict("dump").outcome == Outcome::ok);
  std::map<std::string, int> addresses;
  std::map<std::string, int> ports;
  for (int rank = 0; rank < 3; ++rank) {
    const Environment variables =
        parse_environment(task.work_file("dump", "environment." + std::to_string(rank)));
    check_rank(variables, rank, 3);
    ++addresses[variables.at("MASTER_ADDR")];
    ++ports[variables.at("MASTER_PORT")];
    CHECK(variables.at("SLURM_JOB_NAME") == "mine");
    for (const auto& [name, value] : variables) {
      INFO(name << "=" << value);
      const bool is_ours = name.starts_with("OMPI_COMM") || name.starts_with("OMPI_UNIVERSE") ||
                           name.starts_with("OMPI_MCA_ess") || name.starts_with("OMPI_MCA_pmix") ||
                           name.starts_with("PMIX_") || name.starts_with("PMI_") ||
                           name.starts_with("SLURM_STEP") || name == "SLURM_PROCID" ||
                           name == "SLURM_LOCALID" || name == "SLURM_CPU_BIND";
      CHECK_FALSE(is_ours);
    }
  }
  CHECK(addresses == std::map<std::string, int>{{"127.0.0.1", 3}});
  REQUIRE(ports.size() == 1);
  const int port = std::stoi(ports.begin()->first);
  const auto [first, last] = ephemeral_ports();
  CHECK(port > 1024);
  CHECK((port < first || port > last));
}

TEST_CASE("runner: a port that somebody took meanwhile is another port's turn", "[runner]") {
  TaskFixture task({{"port_taken_once"}, {"port_taken"}},
                   {.launcher = "torch", .processes_per_node = 1});
  const ProcessResult result = task.run();
  INFO(result.out << result.err << task.log("port_taken_once"));
  const Verdict once = task.verdict("port_taken_once");
  CHECK(once.outcome == Outcome::ok);
  CHECK(once.attempt == 0);
  const auto lines = [&](const std::string& mode) {
    const std::string text = task.work_file(mode, "ports");
    std::map<std::string, int> ports;
    for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) {
      ++ports[text.substr(at, text.find('\n', at) - at)];
    }
    return ports;
  };
  CHECK(lines("port_taken_once").size() == 2);
  // Three times is no bad luck.
  const Verdict always = task.verdict("port_taken");
  CHECK(always.outcome == Outcome::launch_error);
  CHECK(always.reason == "rule:port");
  CHECK(lines("port_taken").size() == 3);
  CHECK(task.leftovers().empty());
}

}  // namespace slurmtune
