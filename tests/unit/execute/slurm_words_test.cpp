// SPDX-License-Identifier: MIT
#include "slurmtune/execute/slurm_words.hpp"

#include "tests/support/catch.hpp"

using namespace slurmtune;

TEST_CASE("job_state_named: states are mapped, and odd ones are unknown", "[execute]") {
  CHECK(job_state_named("PENDING") == JobState::pending);
  CHECK(job_state_named("COMPLETING") == JobState::running);
  CHECK(job_state_named("COMPLETED") == JobState::completed);
  CHECK(job_state_named("CANCELLED by 1000") == JobState::cancelled);
  CHECK(job_state_named("CANCELLED+") == JobState::cancelled);
  CHECK(job_state_named("BOOT_FAIL") == JobState::boot_failed);
  CHECK(job_state_named("OUT_OF_MEMORY") == JobState::out_of_memory);
  CHECK(job_state_named("REQUEUE_HOLD") == JobState::requeued_held);
  CHECK(job_state_named("QUANTUM_FLUX") == JobState::unknown);
  CHECK(job_state_named("") == JobState::unknown);
}

TEST_CASE("classify_message: no answer is told from a refusal", "[execute]") {
  using A = SlurmAnswer;
  CHECK(classify_message("sbatch: error: Batch job submission failed: Socket timed out on "
                         "send/recv operation") == A::no_answer);
  CHECK(classify_message("slurm_load_jobs error: Unable to contact slurm controller (connect "
                         "failure)") == A::no_answer);
  CHECK(classify_message("sbatch: error: Munge encode failed: Unable to access \"/run/munge\"") ==
        A::no_answer);
  CHECK(classify_message("sbatch: error: Batch job submission failed: Resource temporarily "
                         "unavailable") == A::no_answer);
  CHECK(classify_message("sbatch: error: invalid partition specified: nope") == A::refused);
  CHECK(classify_message("sbatch: error: Batch job submission failed: Job violates accounting/QOS "
                         "policy (job submit limit, user's size and/or time limits)") ==
        A::refused);
  CHECK(classify_message("slurm_load_jobs error: Invalid job id specified") == A::unknown_job);
  CHECK(classify_message("scancel: error: Kill job error on job id 5: Job/step already completing "
                         "or completed") == A::job_is_over);
}

TEST_CASE("slurm_reason: Slurm's words without its programs' names", "[execute]") {
  CHECK(slurm_reason("sbatch: error: invalid partition specified: nope\n"
                     "sbatch: error: Batch job submission failed: Invalid partition name "
                     "specified\n") ==
        "invalid partition specified: nope; Batch job submission failed: Invalid partition name "
        "specified");
  CHECK(slurm_reason("\n") == "no reason given");
}

TEST_CASE("submission_environment: nothing of a surrounding job is handed on", "[execute]") {
  const std::vector<std::string> environment{"PATH=/bin",
                                             "SLURM_CONF=/etc/s.conf",
                                             "SLURM_JOB_ID=7",
                                             "SLURMD_NODENAME=n1",
                                             "SBATCH_PARTITION=x",
                                             "SLURMTUNE_STUDY=/s",
                                             "SLURMTUNE_TASK=3",
                                             "SLURM_NTASKS=4",
                                             "OMPI_COMM_WORLD_RANK=0",
                                             "OMPI_MCA_orte_hnp_uri=1;tcp://x",
                                             "OMPI_CC=clang",
                                             "PMIX_RANK=0",
                                             "OMPI_MCA_btl=self",
                                             "SLURM_JWT=token",
                                             "SQUEUE_FORMAT=%i"};
  CHECK(submission_environment(environment) ==
        std::vector<std::string>{"PATH=/bin", "SLURM_CONF=/etc/s.conf", "SLURMTUNE_STUDY=/s",
                                 "OMPI_CC=clang", "OMPI_MCA_btl=self", "SLURM_JWT=token"});
}

TEST_CASE("array_text and dependency_text: as sbatch reads them", "[execute]") {
  JobRequest job;
  CHECK(*array_text(job) == std::nullopt);
  CHECK(dependency_text(job).empty());
  job.array_tasks = 8;
  CHECK(*array_text(job) == "0-7");
  job.array_at_once = 2;
  CHECK(*array_text(job) == "0-7%2");
  job.array_tasks = 0;
  CHECK_FALSE(array_text(job));
  job.after_any = {JobId{12}, JobId{13}};
  CHECK(dependency_text(job) == "afterany:12:13");
}

TEST_CASE("check_job_name: only what squeue can search for", "[execute]") {
  CHECK(check_job_name("st-6b1f0c2d-03-frontier-a-0"));
  for (const char* name : {"", "a,b", "a b", "a%b"}) CHECK_FALSE(check_job_name(name));
}

TEST_CASE("is_forgotten_dependency: what a controller that was killed says of its own jobs",
          "[execute]") {
  CHECK(is_forgotten_dependency(
      "sbatch: error: Batch job submission failed: Job dependency problem"));
  CHECK_FALSE(is_forgotten_dependency("Invalid qos specification"));
  const auto error = forgotten_dependency("submit st-6b1f0c2d-02-confirm-a-0");
  CHECK(error.value().kind == ErrorKind::unavailable);
  CHECK_THAT(error.value().message, Catch::Contains("resume"));
}
