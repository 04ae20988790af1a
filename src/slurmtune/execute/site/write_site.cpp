// SPDX-License-Identifier: MIT
#include "slurmtune/execute/site/write_site.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

namespace slurmtune {

namespace {

/// A name for a site, of the cluster's.
std::string site_name(std::string name) {
  std::ranges::replace_if(
      name,
      [](unsigned char c) { return std::isalnum(c) == 0 && c != '-' && c != '_' && c != '.'; },
      '-');
  return name.empty() ? "mycluster" : name;
}

/// Only names that a TOML text holds as they are; Slurm has no others.
std::string quoted(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    if (c != '"' && c != '\\' && static_cast<unsigned char>(c) >= 0x20) safe += c;
  }
  return '"' + safe + '"';
}

class SiteWriter {
 public:
  SiteWriter(const Controller& controller, const std::string& date)
      : controller_(controller), date_(date) {}

  std::string run() {
    write_head();
    for (const ControllerPartition& partition : controller_.partitions) write_partition(partition);
    for (const std::string& qos : own_qos()) write_qos(qos);
    return std::move(text_);
  }

 private:
  void line(const std::string& text) { text_ += text + "\n"; }
  template <class Value>
  void key(const char* name, const Value& value) {
    text_ += fmt::format("{:<16} = {}\n", name, value);
  }
  template <class Value>
  void key_if(const char* name, const std::optional<Value>& value) {
    if (value) key(name, *value);
  }

  [[nodiscard]] std::set<std::string> own_accounts() const {
    std::set<std::string> accounts;
    for (const Association& association : controller_.associations) {
      accounts.insert(association.account);
    }
    return accounts;
  }

  /// QOS that the user may ask for and that limit something.
  [[nodiscard]] std::set<std::string> own_qos() const {
    std::set<std::string> names;
    for (const Association& association : controller_.associations) {
      for (const std::string& name : association.qos) {
        const ControllerQos* qos = controller_.find_qos(name);
        if (qos == nullptr) continue;
        const UserLimits& limits = qos->limits;
        const bool limited = limits.walltime_max_s || limits.nodes_max || limits.nodes_min ||
                             limits.running_jobs_max || limits.submit_jobs_max;
        if (limited) names.insert(name);
      }
    }
    return names;
  }

  void write_head() {
    line("# SPDX-License-Identifier: MIT");
    line("#");
    line(fmt::format("# {}: what its controller (Slurm {}) said on {} to slurmtune site init.",
                     controller_.cluster, controller_.version, date_));
    line(
        "# Keys in comments are known to the centre alone: read its documentation, and fill them "
        "in.");
    line("# Then: slurmtune site check --site THIS FILE");
    line("format = 1");
    line(fmt::format("name   = {}", quoted(site_name(controller_.cluster))));
    const std::set<std::string> accounts = own_accounts();
    if (controller_.needs_account || accounts.size() > 1) {
      line(fmt::format("ask    = {{ account = {} }}",
                       quoted(accounts.empty() ? "m1234" : *accounts.begin())));
    }
    line("");
    const ControllerPartition* partition = controller_.default_partition();
    if (partition == nullptr) partition = &controller_.partitions.front();
    key("partition", quoted(partition->name));
    line("# reducer_partition = \"\"    # where one core may be had without a whole node");
    if (!accounts.empty()) {
      line(fmt::format("# accounts that you may charge: {}", fmt::join(accounts, ", ")));
    }
    line("");
    key("array_size_max", controller_.array_size_max);
    if (controller_.job_count_max < 1000) key("submit_jobs_max", controller_.job_count_max);
    if (!controller_.mpi_plugins.empty()) write_mpi();
    line("# job_minutes_min     = 60    # if the centre asks for jobs of some length");
    line("# jobs_per_minute_max = 10    # if it bounds how fast they are submitted");
  }

  void write_mpi() {
    const auto has = [&](std::string_view name) {
      return std::ranges::count(controller_.mpi_plugins, name) > 0;
    };
    text_ +=
        fmt::format("{:<16} = {}    # srun has {}; it must suit the MPI of the runner\n", "mpi",
                    has("pmix") ? "\"pmix\"" : "\"\"", fmt::join(controller_.mpi_plugins, ", "));
  }

  void write_limits(const UserLimits& limits) {
    key_if("walltime_max_s", limits.walltime_max_s);
    key_if("nodes_max", limits.nodes_max);
    if (limits.nodes_min.value_or(0) > 1) key("nodes_min", *limits.nodes_min);
    key_if("submit_jobs_max", limits.submit_jobs_max);
    key_if("running_jobs_max", limits.running_jobs_max);
  }

  void write_partition(const ControllerPartition& partition) {
    line("");
    line("[[queue]]");
    key("partition", quoted(partition.name));
    if (partition.state != "UP") line(fmt::format("# it is {}", partition.state));
    write_limits(limits_at(controller_, {.partition = partition.name, .account = "", .qos = ""}));
    if (!partition.submit_hosts.empty()) {
      line(fmt::format("{:<16} = false    # only from {} (AllocNodes)", "jobs_can_submit",
                       fmt::join(partition.submit_hosts, ",")));
    }
    if (partition.nodes.empty()) return;
    write_gpus(partition);
    const auto& nodes = partition.nodes;
    key("cpus_per_node", std::ranges::max_element(nodes, {}, &NodeKind::cpus)->cpus);
    text_ +=
        fmt::format("{:<16} = {:.3e}\n", "node_bytes",
                    std::ranges::max_element(nodes, {}, &NodeKind::memory_bytes)->memory_bytes);
    std::set<std::string> features;
    for (const NodeKind& kind : nodes) features.insert(kind.features.begin(), kind.features.end());
    if (!features.empty()) {
      line(fmt::format("# features (constraint): {}", fmt::join(features, ", ")));
    }
  }

  void write_gpus(const ControllerPartition& partition) {
    const auto most = std::ranges::max_element(
        partition.nodes, {}, [](const NodeKind& kind) { return kind.all_gpus(); });
    if (most->all_gpus() == 0) return;
    key("gpu_request", "\"gres\"");
    if (most->gpus.size() == 1 && !most->gpus.begin()->first.empty()) {
      key("gpu_type", quoted(most->gpus.begin()->first));
    }
    key("gpus_per_node", most->all_gpus());
    line("# gpu_bytes        = 80e9    # memory of one GPU");
  }

  void write_qos(const std::string& name) {
    line("");
    line("[[queue]]");
    key("qos", quoted(name));
    const ControllerPartition* partition = controller_.default_partition();
    if (partition == nullptr) partition = &controller_.partitions.front();
    write_limits(
        limits_at(controller_, {.partition = partition->name, .account = "", .qos = name}));
  }

  const Controller& controller_;
  const std::string& date_;
  std::string text_;
};

}  // namespace

std::string render_site_file(const Controller& controller, const std::string& date) {
  return SiteWriter(controller, date).run();
}

}  // namespace slurmtune
