// SPDX-License-Identifier: MIT
#include "slurmtune/execute/site_directives.hpp"

#include "slurmtune/execute/job_script.hpp"

#include "tests/support/catch.hpp"

using namespace slurmtune;

using Directives = std::vector<SbatchDirective>;

TEST_CASE("resource_directives: GPUs are asked for in the site's form", "[execute]") {
  Site site;
  site.gpus_per_node = 4;
  CHECK(resource_directives(site, 2).empty());
  site.gpu_request = GpuRequest::constraint;
  CHECK(resource_directives(site, 2).empty());
  site.gpu_request = GpuRequest::gres;
  CHECK(resource_directives(site, 2) == Directives{{"gres", "gpu:4"}});
  site.gpu_type = "a100";
  CHECK(resource_directives(site, 2) == Directives{{"gres", "gpu:a100:4"}});
  site.gpu_request = GpuRequest::gpus_per_node;
  CHECK(resource_directives(site, 2) == Directives{{"gpus-per-node", "a100:4"}});
}

TEST_CASE("resource_directives: where nodes are shared, one GPU a process", "[execute]") {
  Site site;
  site.exclusive = false;
  site.gpus_per_node = 4;
  site.gpu_request = GpuRequest::gres;
  CHECK(resource_directives(site, 2) == Directives{{"gres", "gpu:2"}});
  CHECK(resource_directives(site, 8) == Directives{{"gres", "gpu:4"}});
  site.cpus_per_task = 20;
  site.mem_per_gpu = "120G";
  CHECK(resource_directives(site, 1) ==
        Directives{{"gres", "gpu:1"}, {"cpus-per-task", "20"}, {"mem-per-gpu", "120G"}});
}

TEST_CASE("placement_directives: reducers elsewhere have neither constraint nor reservation",
          "[execute]") {
  Site site;
  site.partition = "gpu";
  site.account = "m1234";
  site.constraint = "a100";
  site.reservation = "course";
  site.licenses = "scratch:2";
  site.nice = 100;
  const Directives all{{"partition", "gpu"},      {"account", "m1234"},      {"constraint", "a100"},
                       {"reservation", "course"}, {"licenses", "scratch:2"}, {"nice", "100"}};
  CHECK(placement_directives(site, JobRole::trials) == all);
  CHECK(placement_directives(site, JobRole::reducer) == all);
  site.reducer_partition = "serial";
  CHECK(placement_directives(site, JobRole::trials) == all);
  CHECK(placement_directives(site, JobRole::reducer) == Directives{{"partition", "serial"},
                                                                   {"account", "m1234"},
                                                                   {"licenses", "scratch:2"},
                                                                   {"nice", "100"}});
}

TEST_CASE("add_site_options: each kind of job has its own beside those of all", "[execute]") {
  Site site;
  site.sbatch_options = {"--comment=x"};
  site.array_options = {"--gpu-bind=closest"};
  site.reducer_options = {"--mem=2G"};
  Directives trials;
  REQUIRE(add_site_options(site, JobRole::trials, trials).has_value());
  CHECK(trials == Directives{{"comment", "x"}, {"gpu-bind", "closest"}});
  Directives reducer;
  REQUIRE(add_site_options(site, JobRole::reducer, reducer).has_value());
  CHECK(reducer == Directives{{"comment", "x"}, {"mem", "2G"}});
  site.reducer_options = {"--time=5"};
  CHECK_FALSE(add_site_options(site, JobRole::reducer, reducer).has_value());
}

TEST_CASE("nodes_directives: a job of nodes, its place and what it asks for on each", "[execute]") {
  Site site;
  site.partition = "gpu";
  site.gpu_request = GpuRequest::gres;
  site.gpus_per_node = 4;
  site.cpus_per_task = 16;
  const NodesJob job{
      .name = "train", .nodes = 2, .processes_per_node = 4, .walltime = std::chrono::seconds(3600)};
  CHECK(nodes_directives(site, job) == Directives{{"job-name", "train"},
                                                  {"partition", "gpu"},
                                                  {"nodes", "2"},
                                                  {"exclusive", ""},
                                                  {"ntasks-per-node", "4"},
                                                  {"time", "01:00:00"},
                                                  {"gres", "gpu:4"},
                                                  {"cpus-per-task", "16"}});
}

TEST_CASE("runner_launch_words: the site's MPI plug-in, or srun's own", "[execute]") {
  Site site;
  CHECK(runner_launch_words(site, {.nodes = 2, .cpus = 8})[1] == "--mpi=pmix");
  site.mpi = "pmi2";
  CHECK(runner_launch_words(site, {.nodes = 2, .cpus = 8})[1] == "--mpi=pmi2");
  site.mpi = "";
  CHECK(runner_launch_words(site, {.nodes = 2, .cpus = 8})[1] == "--nodes=2");
}
