// SPDX-License-Identifier: MIT
#include <string>

#include "slurmtune/input/site_file.hpp"
#include "slurmtune/input/study_input.hpp"

#include "tests/support/catch.hpp"
#include "tests/unit/input/study_texts.hpp"

using namespace slurmtune;
using Catch::Matchers::Contains;

namespace {

const std::string centre = R"(name = "centre"
ask = { account = "m1234" }
partition = "gpu"
gpus_per_node = 4
mem_per_cpu = "4G"
walltime_max_s = 3600
[[queue]]
partition = "gpu"
walltime_max_s = 7200
submit_jobs_max = 100
[[queue]]
partition = "debug"
submit_jobs_max = 2
nodes_max = 1
[[queue]]
qos = "long"
walltime_max_s = 90000
)";

std::string refusal_of(const std::string& text) {
  const auto site = parse_site({"s.toml", text});
  return site ? "accepted" : site.error().message;
}

Site with_slurm(const std::string& slurm) {
  const auto input = read_texts(generic_study + "[slurm]\n" + slurm, {}, centre);
  INFO(message_of(input));
  REQUIRE(input.has_value());
  return input->site;
}

}  // namespace

TEST_CASE("resolve_site: a [[queue]] holds where the jobs go, and [slurm] over it", "[input]") {
  const Site by_default = with_slurm("account = \"m1\"\n");
  CHECK(by_default.partition == "gpu");
  CHECK(by_default.walltime_max_s == 7200);
  CHECK(by_default.submit_jobs_max == 100);
  CHECK_FALSE(by_default.nodes_max.has_value());

  const Site debug = with_slurm("account = \"m1\"\npartition = \"debug\"\n");
  CHECK(debug.walltime_max_s == 3600);
  CHECK(debug.submit_jobs_max == 2);
  CHECK(debug.nodes_max == 1);

  // Both the partition's and the QOS's hold, the later over the earlier.
  const Site longer = with_slurm("account = \"m1\"\nqos = \"long\"\n");
  CHECK(longer.walltime_max_s == 90'000);
  CHECK(longer.submit_jobs_max == 100);

  const Site own = with_slurm("account = \"m1\"\nsubmit_jobs_max = 7\n");
  CHECK(own.submit_jobs_max == 7);

  // Nothing is known of another partition but what holds everywhere.
  const Site other = with_slurm("account = \"m1\"\npartition = \"other\"\n");
  CHECK(other.walltime_max_s == 3600);
  CHECK(other.submit_jobs_max == Site{}.submit_jobs_max);
}

TEST_CASE("resolve_site: one form of memory replaces the others below it", "[input]") {
  CHECK(with_slurm("account = \"m1\"\n").mem_per_cpu == "4G");
  const Site site = with_slurm("account = \"m1\"\nmem = \"0\"\n");
  CHECK(site.mem == "0");
  CHECK(site.mem_per_cpu.empty());
}

TEST_CASE("queues_of: each is what holds for jobs that go there", "[input]") {
  const auto file = read_site_file({"s.toml", centre});
  REQUIRE(file.has_value());
  const auto queues = queues_of(*file);
  REQUIRE(queues.has_value());
  REQUIRE(queues->size() == 3);
  CHECK((*queues)[1].place == "partition debug");
  CHECK((*queues)[1].site.nodes_max == 1);
  CHECK((*queues)[2].place == "qos long");
  CHECK((*queues)[2].site.partition == "gpu");
  CHECK((*queues)[2].site.walltime_max_s == 90'000);
}

TEST_CASE("ask: what a site leaves to the study is named with what to write", "[input]") {
  const auto without = read_texts(generic_study + "[slurm]\nqos = \"x\"\n", {}, centre);
  REQUIRE(without.has_value());
  REQUIRE(without->unanswered.has_value());
  CHECK_THAT(*without->unanswered, Contains("study.toml:") && Contains("centre") &&
                                       Contains("write account = \"m1234\" in [slurm]"));
  const auto with = read_texts(generic_study + "[slurm]\naccount = \"x\"\n", {}, centre);
  REQUIRE(with.has_value());
  CHECK_FALSE(with->unanswered.has_value());
  // An empty answer is none.
  const auto empty = read_texts(generic_study + "[slurm]\naccount = \"\"\n", {}, centre);
  REQUIRE(empty.has_value());
  CHECK(empty->unanswered.has_value());

  CHECK(refusal_of("name = \"s\"\nask = { acount = \"m\" }\n") ==
        "s.toml:2: \"acount\" in ask is no key of a site; did you mean \"account\"?");
  CHECK(refusal_of("name = \"s\"\naccount = \"a\"\nask = { account = \"m\" }\n") ==
        "s.toml:2: account is asked for (ask) and given; remove one of them");
}

TEST_CASE("[[queue]]: unknown keys are refused, and one that is about nothing", "[input]") {
  CHECK(refusal_of("name = \"s\"\n[[queue]]\npartition = \"a\"\nwalltime_max = 3\n") ==
        "s.toml:4: unknown key \"walltime_max\" in [[queue]]; did you mean \"walltime_max_s\"?");
  CHECK_THAT(refusal_of("name = \"s\"\n[[queue]]\nnodes_max = 3\n"),
             Contains("names no partition, qos or constraint"));
}

TEST_CASE("site keys that contradict each other are refused where the last of them stands",
          "[input]") {
  const std::string head = "name = \"s\"\ngpus_per_node = 4\n";
  struct Case {
    std::string text;
    std::string message;
  };
  const Case cases[] = {
      {"name = \"s\"\ngpu_request = \"gres\"\n", "s.toml:2: GPUs are to be asked for"},
      {head + "gpu_request = \"gres\"\narray_options = [\"--gpus-per-node=4\"]\n",
       "s.toml:4: GPUs are asked for twice: by --gpus-per-node in array_options"},
      {head + "gpu_request = \"gpu\"\n", "s.toml:3: gpu_request cannot be \"gpu\""},
      {head + "gpu_request = \"constraint\"\nconstraint = \"\"\n",
       "s.toml:3: gpu_request = \"constraint\", but no constraint"},
      {head + "mem = \"0\"\nmem_per_gpu = \"10G\"\n", "s.toml:4: more than one of mem"},
      {head + "mem = \"0\"\narray_options = [\"--mem-per-cpu=2G\"]\n",
       "s.toml:4: memory is asked for twice"},
      {head + "licenses = \"a\"\nsbatch_options = [\"--licenses=b\"]\n",
       "s.toml:4: --licenses stands in sbatch_options and in licenses"},
      {head + "cpus_per_task = 8\narray_options = [\"--cpus-per-task=4\"]\n",
       "s.toml:4: --cpus-per-task stands in array_options and in cpus_per_task"},
      {head + "sbatch_options = [\"--mem=2G\"]\narray_options = [\"--mem-per-cpu=2G\"]\n",
       "s.toml:4: options ask for memory in more than one way"},
      {head + "partition = \"a\"\narray_options = [\"--partition=b\"]\n",
       "s.toml:4: --partition stands in array_options and in partition"},
      {head + "array_options = [\"--signal=TERM\"]\n", "s.toml:3: --signal is set by slurmtune"},
      {head + "sbatch_options = [\"--arra=0-1\"]\n",
       "s.toml:3: --arra, which sbatch takes for --array, is set by slurmtune"},
      {head + "reducer_options = [\"--outp /dev/null\"]\n",
       "s.toml:3: --outp, which sbatch takes for --output, is set by slurmtune"},
      {head + "partition = \"a\"\nsbatch_options = [\"--parti=b\"]\n",
       "s.toml:4: --parti, which sbatch takes for --partition, stands in sbatch_options and in"},
      {head + "sbatch_options = [\"--beg=20:00\"]\n",
       "s.toml:3: --beg, which sbatch takes for --begin, is set by slurmtune itself; write begin"},
      {head + "begin = \"25:00\"\n", "s.toml:3: begin = \"25:00\" is no time"},
      {head + "nodes_min = 65\nnodes_max = 64\n", "s.toml:3: nodes_min = 65 is more than"},
      {head + "job_minutes_min = 60\nwalltime_max_s = 1800\n",
       "s.toml:3: job_minutes_min is more than a job may last"},
      {head + "balance_command = [\"x\"]\n", "s.toml:3: balance_command and balance_pattern"},
      {head + "balance_command = [\"x\"]\nbalance_pattern = '(?<hours>\\d+)'\n",
       "s.toml:4: balance_pattern has no group named node_hours"},
      {head + "[[queue]]\npartition = \"p\"\ngpu_request = \"gres\"\ngpus_per_node = 0\n",
       "s.toml:5: GPUs are to be asked for"},
  };
  for (const Case& one : cases) {
    INFO(one.text);
    CHECK_THAT(refusal_of(one.text), Catch::Matchers::StartsWith(one.message));
  }
  // A reducer's own memory contradicts nothing.
  CHECK(refusal_of(head + "mem = \"0\"\nreducer_options = [\"--mem=2G\"]\n") == "accepted");
  // A reducer may have to go elsewhere.
  CHECK(refusal_of(head + "qos = \"a\"\nreducer_options = [\"--qos=b\"]\n") == "accepted");
  for (const char* begin : {"20:00", "7:30:15", "now+2hours", "now", "tomorrow", "fika",
                            "2026-12-01", "2026-12-01T20:00"}) {
    INFO(begin);
    CHECK(refusal_of(head + "begin = \"" + begin + "\"\n") == "accepted");
  }
  const auto study =
      read_texts(generic_study + "[slurm]\narray_options = [\"--gres=gpu:2\"]\n", {},
                 "name = \"s\"\ngpus_per_node = 4\ngpu_request = \"gpus-per-node\"\n");
  CHECK_THAT(message_of(study), Contains("study.toml:") && Contains("GPUs are asked for twice"));
}
