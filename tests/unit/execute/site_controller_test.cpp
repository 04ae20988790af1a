// SPDX-License-Identifier: MIT
#include <algorithm>
#include <string>

#include "slurmtune/execute/site/balance.hpp"
#include "slurmtune/execute/site/compare_site.hpp"
#include "slurmtune/execute/site/read_controller.hpp"
#include "slurmtune/execute/site/write_site.hpp"
#include "slurmtune/input/site_file.hpp"
#include "slurmtune/input/study_input.hpp"

#include "tests/support/catch.hpp"

using namespace slurmtune;
using Catch::Matchers::Contains;

namespace {

// As Slurm 22.05.8 prints them, cut to the lines and words that are read and some that are not.
const std::string config = R"(Configuration data as of 2026-11-30T21:35:24
AccountingStorageBackupHost = (null)
AccountingStorageEnforce = associations,limits,qos
AccountingStorageType   = accounting_storage/slurmdbd
ClusterName             = mycluster
GresTypes               = gpu
MaxArraySize            = 301
MaxJobCount             = 20000
MpiDefault              = none
SLURM_VERSION           = 22.05.8

Slurmctld(primary) at localhost is UP
)";

const std::string partitions =
    "Welcome to mycluster!\n"
    "PartitionName=debug AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL AllocNodes=ALL Default=NO "
    "QoS=debug DefaultTime=00:05:00 MaxNodes=UNLIMITED MaxTime=00:30:00 MinNodes=0 LLN=NO "
    "Nodes=n[1-4] OverSubscribe=NO State=UP TotalCPUs=32 TotalNodes=4\n"
    "PartitionName=gpu AllowGroups=ALL AllowAccounts=ALL AllowQos=normal,long AllocNodes=ALL "
    "Default=YES QoS=N/A DefaultTime=01:00:00 MaxNodes=16 MaxTime=1-00:00:00 MinNodes=0 LLN=NO "
    "Nodes=g[1-40] OverSubscribe=EXCLUSIVE State=UP TotalCPUs=5120 TotalNodes=40\n"
    "PartitionName=old AllowAccounts=hep Default=NO QoS=N/A MaxNodes=UNLIMITED MaxTime=UNLIMITED "
    "MinNodes=2 Nodes=o1 State=DOWN\n";

const std::string nodes =
    "debug|4|8|4000|gpu:4|(null)\n"
    "gpu|36|128|512000|gpu:a100:4(S:0-1)|a100,hbm40g\n"
    "gpu|4|128|1024000|gpu:a100:4(S:0-1)|a100,hbm80g\n"
    "old|1|16|64000|(null)|(null)\n";

const std::string mpi =
    "MPI plugin types are...\n\tpmix\n\tnone\n\tcray_shasta\n\tpmi2\n"
    "specific pmix plugin versions available: pmix_v4\n";

const std::string associations =
    "m1234||debug,long,normal|normal|20|500|2-00:00:00|\n"
    "m99||normal|normal||||node=8\n";

const std::string qos =
    "normal||||||\n"
    "debug|DenyOnLimit|00:15:00|1|2|node=2|\n"
    "long|DenyOnLimit,PartitionTimeLimit|4-00:00:00||10||node=2\n";

ControllerTexts texts() {
  return {.config = config,
          .partitions = partitions,
          .nodes = nodes,
          .licenses = "LicenseName=scratch Total=100 Used=0 Free=100 Reserved=0 Remote=no\n",
          .mpi = mpi,
          .associations = associations,
          .qos = qos};
}

Controller controller() {
  const auto read = read_controller(texts());
  REQUIRE(read.has_value());
  return *read;
}

/// A site that says what the controller says of its default partition.
Site fitting() {
  Site site;
  site.partition = "gpu";
  site.account = "m1234";
  site.gpu_request = GpuRequest::gres;
  site.gpu_type = "a100";
  site.gpus_per_node = 4;
  site.cpus_per_node = 128;
  site.array_size_max = 301;
  site.submit_jobs_max = 500;
  site.running_jobs_max = 20;
  site.walltime_max_s = 86'400;
  site.nodes_max = 16;
  return site;
}

SiteDifference only(const Site& site) {
  const auto differences = compare_site(site, controller());
  INFO((differences.empty() ? "none" : differences.front().key));
  REQUIRE(differences.size() == 1);
  return differences.front();
}

}  // namespace

TEST_CASE("read_controller: what Slurm prints, with greetings around it", "[execute]") {
  const Controller read = controller();
  CHECK(read.cluster == "mycluster");
  CHECK(read.version == "22.05.8");
  CHECK(read.array_size_max == 301);
  CHECK(read.job_count_max == 20'000);
  CHECK(read.has_accounting);
  CHECK(read.needs_account);
  CHECK(read.licenses == std::vector<std::string>{"scratch"});
  CHECK(read.mpi_plugins ==
        std::vector<std::string>{"pmix", "none", "cray_shasta", "pmi2", "pmix_v4"});
  REQUIRE(read.partitions.size() == 3);
  const ControllerPartition& gpu = read.partitions[1];
  CHECK(read.default_partition() == &gpu);
  CHECK(gpu.walltime_max_s == 86'400);
  CHECK(gpu.nodes_max == 16);
  CHECK(gpu.allowed_qos == std::vector<std::string>{"normal", "long"});
  CHECK(gpu.allowed_accounts.empty());
  REQUIRE(gpu.nodes.size() == 2);
  CHECK(gpu.nodes[0].count == 36);
  CHECK(gpu.nodes[0].gpus == std::map<std::string, int>{{"a100", 4}});
  CHECK(gpu.nodes[1].features == std::vector<std::string>{"a100", "hbm80g"});
  const ControllerPartition& old = read.partitions[2];
  CHECK(old.state == "DOWN");
  CHECK_FALSE(old.walltime_max_s.has_value());
  CHECK(old.nodes_min == 2);
  CHECK(old.nodes[0].gpus.empty());
  REQUIRE(read.associations.size() == 2);
  CHECK(read.associations[0].limits.submit_jobs_max == 500);
  CHECK(read.associations[1].limits.nodes_max == 8);
  CHECK(read.qos[2].past_partition_time);
  CHECK(read.qos[2].limits.nodes_min == 2);
}

TEST_CASE("read_controller: what is no answer of Slurm is an error", "[execute]") {
  ControllerTexts bad = texts();
  bad.config = "bash: scontrol: not found\n";
  CHECK_FALSE(read_controller(bad).has_value());
  bad = texts();
  bad.partitions = "";
  CHECK_FALSE(read_controller(bad).has_value());
  // Without accounting its texts are nobody's.
  ControllerTexts without = texts();
  without.config.replace(without.config.find("slurmdbd"), 8, "none");
  const auto read = read_controller(without);
  REQUIRE(read.has_value());
  CHECK(read->associations.empty());
  CHECK_FALSE(has_accounting(without.config));
}

TEST_CASE("gpus_of_gres, slurm_time_limit: every form that Slurm writes", "[execute]") {
  CHECK(gpus_of_gres("gpu:a100:4(S:0-1),gpu:v100:2,nvme:800") ==
        std::map<std::string, int>{{"a100", 4}, {"v100", 2}});
  CHECK(gpus_of_gres("gpu:4(IDX:0,2)") == std::map<std::string, int>{{"", 4}});
  CHECK(gpus_of_gres("gpu") == std::map<std::string, int>{{"", 1}});
  CHECK(gpus_of_gres("(null)").empty());
  CHECK(slurm_time_limit("1-00:00:00") == 86'400);
  CHECK(slurm_time_limit("00:30:00") == 1800);
  CHECK_FALSE(slurm_time_limit("UNLIMITED").has_value());
  CHECK_FALSE(slurm_time_limit("").has_value());
}

TEST_CASE("limits_at: partition QOS, then the job's, then the association", "[execute]") {
  const Controller read = controller();
  const UserLimits plain = limits_at(read, {.partition = "gpu", .account = "m1234", .qos = ""});
  CHECK(plain.walltime_max_s == 86'400);  // the partition's, below the association's two days
  CHECK(plain.submit_jobs_max == 500);
  CHECK(plain.running_jobs_max == 20);
  CHECK(plain.nodes_max == 16);
  const UserLimits debug = limits_at(read, {.partition = "debug", .account = "m1234", .qos = ""});
  CHECK(debug.walltime_max_s == 900);
  CHECK(debug.submit_jobs_max == 2);
  CHECK(debug.nodes_max == 2);
  const UserLimits longer =
      limits_at(read, {.partition = "gpu", .account = "m1234", .qos = "long"});
  CHECK(longer.walltime_max_s == 345'600);  // PartitionTimeLimit
  CHECK(longer.submit_jobs_max == 10);
  CHECK(longer.nodes_min == 2);
  // Whoever may charge several accounts and names none is held to neither's.
  CHECK_FALSE(
      limits_at(read, {.partition = "gpu", .account = "", .qos = ""}).submit_jobs_max.has_value());
}

TEST_CASE("compare_site: a site that says what the controller says differs in nothing",
          "[execute]") {
  CHECK(compare_site(fitting(), controller()).empty());
}

TEST_CASE("compare_site: what would refuse a job is told apart from what is only wasted",
          "[execute]") {
  Site site = fitting();
  site.array_size_max = 1001;
  CHECK(only(site) == SiteDifference{"array_size_max", "1001", "301", Effect::refused});
  site.array_size_max = 100;
  CHECK(only(site) == SiteDifference{"array_size_max", "100", "301", Effect::waste});

  // Of a partition that takes jobs from login nodes only.
  Controller login = controller();
  login.partitions[1].submit_hosts = {"login1", "login2"};
  REQUIRE(compare_site(fitting(), login).size() == 1);
  CHECK(compare_site(fitting(), login).front() ==
        SiteDifference{"jobs_can_submit", "true", "only from login1, login2", Effect::refused});
  CHECK(render_site_file(login, "2026-12-01").find("jobs_can_submit  = false") !=
        std::string::npos);
  CHECK(render_site_file(controller(), "2026-12-01").find("jobs_can_submit") == std::string::npos);
  site = fitting();
  site.jobs_can_submit = false;
  CHECK(compare_site(site, login).empty());

  site = fitting();
  site.walltime_max_s = 172'800;
  CHECK(only(site) == SiteDifference{"walltime_max_s", "172800", "86400", Effect::refused});
  site = fitting();
  site.submit_jobs_max = 501;
  CHECK(only(site) == SiteDifference{"submit_jobs_max", "501", "500", Effect::refused});
  site = fitting();
  site.running_jobs_max = 21;
  CHECK(only(site) == SiteDifference{"running_jobs_max", "21", "20", Effect::waste});
  site = fitting();
  site.nodes_max.reset();
  CHECK(only(site) == SiteDifference{"nodes_max", "not given", "16", Effect::waste});
}

TEST_CASE("compare_site: partitions, accounts and QOS that are not there", "[execute]") {
  Site site = fitting();
  site.partition = "gpus";
  CHECK(only(site) ==
        SiteDifference{"partition", "gpus", "no such partition; gpu?", Effect::refused});
  site.partition = "gpu,nowhere,debug";
  CHECK(only(site).site == "nowhere");
  site = fitting();
  site.reducer_partition = "old";
  CHECK(only(site) == SiteDifference{"reducer_partition", "old", "is DOWN", Effect::refused});
  site = fitting();
  site.reducer_partition = "debug";
  site.reducer_minutes = 60.0;
  CHECK(only(site) == SiteDifference{"reducer_minutes", "60", "30 in debug", Effect::refused});

  site = fitting();
  site.account = "hep";
  const auto differences = compare_site(site, controller());
  REQUIRE_FALSE(differences.empty());
  CHECK(differences[0] ==
        SiteDifference{"account", "hep", "yours are m1234, m99", Effect::refused});
  site = fitting();
  site.qos = "debug";
  site.submit_jobs_max = 2;
  site.running_jobs_max = 1;
  site.walltime_max_s = 900;
  site.nodes_max = 2;
  CHECK(only(site) == SiteDifference{"qos", "debug", "gpu takes normal, long", Effect::refused});
}

TEST_CASE("compare_site: GPUs, features, memory, licences and MPI as the nodes have them",
          "[execute]") {
  Site site = fitting();
  site.gpus_per_node = 8;
  CHECK(only(site) == SiteDifference{"gpus_per_node", "8", "4", Effect::refused});
  site.gpu_request = GpuRequest::none;
  CHECK(only(site) == SiteDifference{"gpus_per_node", "8", "4", Effect::waste});
  site = fitting();
  site.gpu_type = "h100";
  CHECK(only(site) == SiteDifference{"gpu_type", "h100", "GRES are a100", Effect::refused});
  site = fitting();
  site.constraint = "a100&hbm96g";
  CHECK(only(site) == SiteDifference{"constraint", "hbm96g", "features are a100, hbm40g, hbm80g",
                                     Effect::refused});
  site.constraint = "[hbm40g|hbm80g]*2";
  CHECK(compare_site(site, controller()).empty());
  site = fitting();
  site.mem = "2000G";
  CHECK(only(site).key == "mem");
  CHECK(only(site).effect == Effect::refused);
  site.mem = "0";
  CHECK(compare_site(site, controller()).empty());
  site = fitting();
  site.node_bytes = 256e9;
  CHECK(only(site).effect == Effect::waste);
  site = fitting();
  site.licenses = "scratch:2,matlab";
  CHECK(only(site) == SiteDifference{"licenses", "matlab", "scratch", Effect::refused});
  site = fitting();
  site.mpi = "pmi1";
  CHECK(only(site).key == "mpi");
  site.runner_launch = {"mpirun"};
  CHECK(compare_site(site, controller()).empty());
}

TEST_CASE("render_site_file: the first file is read, and differs in nothing from its controller",
          "[execute]") {
  for (const bool accounting : {true, false}) {
    ControllerTexts said = texts();
    if (!accounting) {
      said.config.replace(said.config.find("slurmdbd"), 8, "none");
      said.config.replace(said.config.find("associations,"), 13, "");
    }
    const auto read = read_controller(said);
    REQUIRE(read.has_value());
    const std::string text = render_site_file(*read, "2026-11-30");
    INFO(text);
    const auto file = read_site_file({"first.toml", text});
    INFO((file ? "" : file.error().message));
    REQUIRE(file.has_value());
    CHECK_THAT(text, Contains("name   = \"mycluster\"") && Contains("2026-11-30"));
    CHECK((text.find("ask    = { account = \"m1234\" }") != std::string::npos) == accounting);
    const auto site = resolve_site(*file, {});
    REQUIRE(site.has_value());
    CHECK(site->partition == "gpu");
    CHECK(site->gpu_type == "a100");
    CHECK(compare_site(*site, *read).empty());
    const auto queues = queues_of(*file);
    REQUIRE(queues.has_value());
    CHECK(queues->size() == (accounting ? 5 : 3));
    for (const SiteQueue& queue : *queues) {
      for (const SiteDifference& difference : compare_site(queue.site, *read)) {
        // Its partition is down, and the file says so; debug is no QOS of the default partition.
        const bool is_told = difference.controller == "is DOWN" || difference.key == "qos";
        INFO(queue.place << ": " << difference.key << " " << difference.site << " "
                         << difference.controller);
        CHECK(is_told);
      }
    }
  }
}

TEST_CASE("read_balance: the node-hours that the site's pattern finds", "[execute]") {
  constexpr std::string_view pattern = R"(Remaining:\s+(?<node_hours>[0-9,.]+))";
  const auto hours = read_balance(pattern, "Project m1234\nRemaining:   1,234.5 node-hours\n");
  REQUIRE(hours.has_value());
  CHECK(*hours == 1234.5);
  CHECK_FALSE(read_balance(pattern, "no such project\n").has_value());
  CHECK_FALSE(read_balance("(?<node_hours>\\w+)", "none\n").has_value());
  Site site;
  CHECK_FALSE(ask_balance(site)->has_value());
  site.balance_command = {"echo", "left 12.5"};
  site.balance_pattern = "left (?<node_hours>[0-9.]+)";
  CHECK(*ask_balance(site) == 12.5);
  site.balance_command = {"false"};
  CHECK_FALSE(ask_balance(site).has_value());
}
