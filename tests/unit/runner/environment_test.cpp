// SPDX-License-Identifier: MIT
#include "slurmtune/runner/start/environment.hpp"

#include "slurmtune/runner/judge/kernel_oom.hpp"
#include "slurmtune/runner/start/rank_env.hpp"

#include "tests/support/catch.hpp"

namespace slurmtune {

TEST_CASE("scrub_launch_variables: the launchers' words go, the user's and the job's stay",
          "[runner]") {
  Environment environment;
  for (const char* goes : {"PMIX_RANK",
                           "PMI_SIZE",
                           "OMPI_COMM_WORLD_RANK",
                           "OMPI_UNIVERSE_SIZE",
                           "OMPI_MCA_ess_base_jobid",
                           "OMPI_MCA_orte_hnp_uri",
                           "OMPI_MCA_orte_precondition_transports",
                           "OMPI_MCA_pmix",
                           "SLURM_STEP_ID",
                           "SLURM_STEPID",
                           "SLURM_PROCID",
                           "SLURM_LOCALID",
                           "SLURM_NODEID",
                           "SLURM_NTASKS",
                           "SLURM_NPROCS",
                           "SLURM_TASKS_PER_NODE",
                           "SLURM_MPI_TYPE",
                           "SLURM_CPU_BIND_TYPE",
                           "SLURM_NTASKS_PER_NODE",
                           "SLURM_GTIDS",
                           "SRUN_CPUS_PER_TASK"}) {
    environment[goes] = "1";
  }
  const Environment stays{{"PATH", "/bin"},
                          {"OMPI_MCA_btl", "self,tcp"},
                          {"OMPI_MCA_mpi_yield_when_idle", "1"},
                          {"OMPI_ALLOW_RUN_AS_ROOT", "1"},
                          {"SLURM_JOB_ID", "12"},
                          {"SLURM_JOB_NODELIST", "n[1-4]"},
                          {"SLURM_CONF", "/etc/slurm.conf"},
                          {"SLURMTUNE_ORIGIN", "/home/u"}};
  environment.insert(stays.begin(), stays.end());
  scrub_launch_variables(environment);
  CHECK(environment == stays);
}

TEST_CASE("parse_environment: reads what env -0 writes", "[runner]") {
  using namespace std::string_literals;
  const Environment environment = parse_environment("A=1\0B=x=y\nz\0EMPTY=\0=odd\0odd\0"s);
  CHECK(environment == Environment{{"A", "1"}, {"B", "x=y\nz"}, {"EMPTY", ""}});
  CHECK(environment_entries(environment).front() == "A=1");
  CHECK(parse_environment("").empty());
}

TEST_CASE("find_executable: searches the trial's own PATH", "[runner]") {
  CHECK(find_executable("sh", {{"PATH", "/nowhere:/bin"}}, "/") == "/bin/sh");
  CHECK_FALSE(find_executable("sh", {{"PATH", "/nowhere"}}, "/").has_value());
  CHECK(find_executable("bin/sh", {}, "/") == "//bin/sh");
  CHECK_FALSE(find_executable("/etc/passwd", {}, "/").has_value());
  CHECK_FALSE(find_executable("", {}, "/").has_value());
}

TEST_CASE("rank_variables: Open MPI's words become RANK, WORLD_SIZE and so on", "[runner]") {
  const auto variables = rank_variables({{"OMPI_COMM_WORLD_RANK", "5"},
                                         {"OMPI_COMM_WORLD_SIZE", "8"},
                                         {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                                         {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
                                         {"SLURM_PROCID", "0"}});
  REQUIRE(variables.has_value());
  CHECK(*variables == Environment{{"RANK", "5"},
                                  {"WORLD_SIZE", "8"},
                                  {"LOCAL_RANK", "1"},
                                  {"LOCAL_WORLD_SIZE", "4"},
                                  {"LOCAL_SIZE", "4"},
                                  {"NODE_RANK", "1"},
                                  {"PYTHONUNBUFFERED", "1"}});
}

TEST_CASE("rank_variables: Hydra's words come before those of the srun that it may use",
          "[runner]") {
  const auto variables = rank_variables({{"PMI_RANK", "3"},
                                         {"PMI_SIZE", "4"},
                                         {"MPI_LOCALRANKID", "1"},
                                         {"MPI_LOCALNRANKS", "2"},
                                         {"SLURM_PROCID", "1"},
                                         {"SLURM_STEP_NUM_TASKS", "2"}});
  REQUIRE(variables.has_value());
  CHECK(variables->at("RANK") == "3");
  CHECK(variables->at("WORLD_SIZE") == "4");
  CHECK(variables->at("LOCAL_RANK") == "1");
  CHECK(variables->at("NODE_RANK") == "1");
}

TEST_CASE("rank_variables: Slurm's words do, with uneven nodes", "[runner]") {
  const auto variables = rank_variables({{"SLURM_PROCID", "6"},
                                         {"SLURM_STEP_NUM_TASKS", "7"},
                                         {"SLURM_NTASKS", "99"},
                                         {"SLURM_LOCALID", "0"},
                                         {"SLURM_NODEID", "3"},
                                         {"SLURM_STEP_TASKS_PER_NODE", "2(x3),1"}});
  REQUIRE(variables.has_value());
  CHECK(variables->at("RANK") == "6");
  CHECK(variables->at("WORLD_SIZE") == "7");
  CHECK(variables->at("LOCAL_RANK") == "0");
  CHECK(variables->at("LOCAL_WORLD_SIZE") == "1");
  CHECK(variables->at("LOCAL_SIZE") == "1");
  CHECK(variables->at("NODE_RANK") == "3");
}

TEST_CASE("rank_variables: without a launcher there is no rank", "[runner]") {
  const auto variables = rank_variables({{"PATH", "/bin"}});
  REQUIRE_FALSE(variables.has_value());
  CHECK(variables.error().kind == ErrorKind::invalid_input);
}

TEST_CASE("memory_group: the memory controller's group, of either version", "[runner]") {
  CHECK(memory_group("9:name=systemd:/\n4:cpu,memory:/job_12/step_0\n0::/\n", "/cg") ==
        "/cg/memory/job_12/step_0");
  CHECK(memory_group("0::/slurm/job_12\n", "/cg") == "/cg/slurm/job_12");
  CHECK(memory_group("", "/cg").empty());
}

TEST_CASE("parse_oom_kills: reads the counter of either version", "[runner]") {
  CHECK(parse_oom_kills("low 0\nhigh 0\nmax 12\noom 1\noom_kill 3\n") == 3);
  CHECK(parse_oom_kills("oom_kill_disable 0\nunder_oom 0\noom_kill 2\n") == 2);
  CHECK_FALSE(parse_oom_kills("low 0\n").has_value());
}

}  // namespace slurmtune
