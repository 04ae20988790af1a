// SPDX-License-Identifier: MIT
#include "slurmtune/execute/site/compare_site.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <set>

#include <fmt/format.h>

#include "slurmtune/base/units.hpp"

namespace slurmtune {

namespace {

using Limit = std::optional<std::int64_t>;

/// Memory as sites and Slurm write it differs by what the system keeps, and by MB and MiB.
constexpr double memory_tolerance = 0.1;

template <class Range, class Value>
bool holds(const Range& range, const Value& value) {
  return std::ranges::find(range, value) != std::ranges::end(range);
}

std::string joined(const std::vector<std::string>& names) {
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

std::string joined_set(const std::set<std::string>& names) {
  return joined({names.begin(), names.end()});
}

/// `a&b|c*2`, `[a|b]`: the features in it.
std::vector<std::string> features_of(const std::string& constraint) {
  std::vector<std::string> features;
  std::string word;
  for (const char c : constraint + "&") {
    const bool part = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' ||
                      c == '.' || c == '=' || c == ':';
    if (part) {
      word += c;
      continue;
    }
    // A number counts nodes (`a*2`).
    if (word.find_first_not_of("0123456789") != std::string::npos) features.push_back(word);
    word.clear();
  }
  return features;
}

/// sbatch's size: `4000` (MiB), `370G`. Absent for `0`, which is all of a node.
std::optional<double> bytes_of(const std::string& text) {
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value <= 0.0) return std::nullopt;
  const char unit = end == text.data() + text.size()
                        ? 'M'
                        : static_cast<char>(std::toupper(static_cast<unsigned char>(*end)));
  constexpr std::string_view units = "KMGT";
  const std::size_t at = units.find(unit);
  if (at == std::string_view::npos) return std::nullopt;
  return value * std::pow(1024.0, static_cast<double>(at + 1));
}

/// sbatch takes several partitions, with commas; limits are compared with those of the first.
std::string first_of(const std::string& partitions) {
  return partitions.substr(0, partitions.find(','));
}

class Comparison {
 public:
  Comparison(const Site& site, const Controller& controller)
      : site_(site),
        controller_(controller),
        partition_(controller.find_partition(first_of(site.partition))) {}

  std::vector<SiteDifference> run() {
    compare_partitions();
    if (partition_ != nullptr) {
      compare_account();
      compare_limits();
      compare_nodes();
      compare_submit_hosts();
    }
    compare_controller();
    return std::move(found_);
  }

 private:
  void add(std::string key, std::string site, std::string controller, Effect effect) {
    found_.push_back({std::move(key), std::move(site), std::move(controller), effect});
  }
  void refused(std::string key, std::string site, std::string controller) {
    add(std::move(key), std::move(site), std::move(controller), Effect::refused);
  }

  void compare_partition(const char* key, const std::string& name) {
    const ControllerPartition* partition = controller_.find_partition(name);
    if (partition == nullptr) {
      std::vector<std::string> names;
      for (const ControllerPartition& other : controller_.partitions) names.push_back(other.name);
      const std::string_view nearest = nearest_word(name, names);
      refused(key, name.empty() ? "Slurm's default" : name,
              name.empty()      ? "there is no default: " + joined(names)
              : nearest.empty() ? joined(names)
                                : fmt::format("no such partition; {}?", nearest));
      return;
    }
    if (partition->state != "UP") {
      refused(key, name.empty() ? partition->name : name, "is " + partition->state);
    }
  }

  void compare_partitions() {
    std::string rest = site_.partition;
    do {
      const std::string name = first_of(rest);
      compare_partition("partition", name);
      rest.erase(0, name.size() + 1);
    } while (!rest.empty());
    if (site_.reducer_partition.empty()) return;
    compare_partition("reducer_partition", site_.reducer_partition);
    const auto* partition = controller_.find_partition(site_.reducer_partition);
    if (partition == nullptr || !partition->walltime_max_s) return;
    const auto wanted = std::llround(site_.reducer_minutes * 60.0);
    if (wanted > *partition->walltime_max_s) {
      refused("reducer_minutes", fmt::format("{:g}", site_.reducer_minutes),
              fmt::format("{:g} in {}", static_cast<double>(*partition->walltime_max_s) / 60.0,
                          partition->name));
    }
  }

  void compare_account() {
    if (!controller_.has_accounting || controller_.associations.empty()) return;
    std::set<std::string> accounts;
    std::set<std::string> qos;
    for (const Association& association : controller_.associations) {
      accounts.insert(association.account);
      const bool mine = site_.account.empty() || association.account == site_.account;
      if (mine) qos.insert(association.qos.begin(), association.qos.end());
    }
    if (!site_.account.empty() && !accounts.contains(site_.account)) {
      refused("account", site_.account, "yours are " + joined_set(accounts));
    } else if (!site_.account.empty() && !partition_->allowed_accounts.empty() &&
               !holds(partition_->allowed_accounts, site_.account)) {
      refused("account", site_.account,
              fmt::format("{} is for {}", partition_->name, joined(partition_->allowed_accounts)));
    }
    if (site_.qos.empty()) return;
    if (controller_.find_qos(site_.qos) == nullptr) {
      refused("qos", site_.qos, "no such QOS; yours are " + joined_set(qos));
    } else if (!qos.empty() && !qos.contains(site_.qos)) {
      refused("qos", site_.qos, "yours are " + joined_set(qos));
    } else if (!partition_->allowed_qos.empty() && !holds(partition_->allowed_qos, site_.qos)) {
      refused("qos", site_.qos,
              fmt::format("{} takes {}", partition_->name, joined(partition_->allowed_qos)));
    }
  }

  /// A value of the site that may be at most what the controller says.
  void compare_most(const char* key, const Limit& site, const Limit& controller,
                    Effect above = Effect::refused) {
    if (!controller || site == controller) return;
    const std::string says = site ? std::to_string(*site) : "not given";
    add(key, says, std::to_string(*controller),
        site && *site > *controller ? above : Effect::waste);
  }

  void compare_limits() {
    const UserLimits limits = limits_at(
        controller_,
        {.partition = first_of(site_.partition), .account = site_.account, .qos = site_.qos});
    compare_most("walltime_max_s", site_.walltime_max_s, limits.walltime_max_s);
    compare_most("nodes_max", site_.nodes_max, limits.nodes_max);
    compare_most("submit_jobs_max", site_.submit_jobs_max, limits.submit_jobs_max);
    // More than those that may run wait.
    compare_most("running_jobs_max", site_.running_jobs_max, limits.running_jobs_max,
                 Effect::waste);
    const std::int64_t nodes_min = limits.nodes_min.value_or(0);
    if (nodes_min > 1 && nodes_min != site_.nodes_min) {
      const bool too_few = site_.nodes_min && *site_.nodes_min < nodes_min;
      add("nodes_min", site_.nodes_min ? std::to_string(*site_.nodes_min) : "not given",
          std::to_string(nodes_min), too_few ? Effect::refused : Effect::waste);
    }
  }

  /// The kinds of nodes that have all features of the constraint, or where one is unknown none.
  [[nodiscard]] std::vector<NodeKind> nodes_with_features() const {
    std::vector<NodeKind> nodes;
    const std::vector<std::string> wanted = features_of(site_.constraint);
    const bool alternatives = site_.constraint.find('|') != std::string::npos;
    for (const NodeKind& kind : partition_->nodes) {
      const auto has = [&](const std::string& feature) { return holds(kind.features, feature); };
      const bool fits = wanted.empty() || (alternatives ? std::ranges::any_of(wanted, has)
                                                        : std::ranges::all_of(wanted, has));
      if (fits) nodes.push_back(kind);
    }
    return nodes;
  }

  void compare_nodes() {
    if (partition_->nodes.empty()) return;  // not told: sinfo hides them
    std::set<std::string> features;
    for (const NodeKind& kind : partition_->nodes) {
      features.insert(kind.features.begin(), kind.features.end());
    }
    for (const std::string& wanted : features_of(site_.constraint)) {
      if (!features.contains(wanted)) {
        refused("constraint", wanted, "features are " + joined_set(features));
      }
    }
    const std::vector<NodeKind> nodes = nodes_with_features();
    if (nodes.empty()) return;
    compare_gpus(nodes);
    compare_cpus(nodes);
    compare_memory(nodes);
  }

  void compare_gpus(const std::vector<NodeKind>& nodes) {
    const bool asks =
        site_.gpu_request == GpuRequest::gres || site_.gpu_request == GpuRequest::gpus_per_node;
    std::set<std::string> types;
    int most = 0;
    for (const NodeKind& kind : nodes) {
      for (const auto& [type, count] : kind.gpus) {
        types.insert(type.empty() ? "gpu" : type);
        if (site_.gpu_type.empty()) continue;
        if (type == site_.gpu_type) most = std::max(most, count);
      }
      if (site_.gpu_type.empty()) most = std::max(most, kind.all_gpus());
    }
    if (asks && !site_.gpu_type.empty() && !types.contains(site_.gpu_type)) {
      refused("gpu_type", site_.gpu_type, "GRES are " + joined_set(types));
      return;
    }
    if (site_.gpus_per_node == most || (most == 0 && !asks)) return;
    const std::string says =
        site_.gpus_per_node ? std::to_string(*site_.gpus_per_node) : "not given";
    const bool too_many = asks && site_.gpus_per_node.value_or(0) > most;
    add("gpus_per_node", says, std::to_string(most), too_many ? Effect::refused : Effect::waste);
  }

  void compare_cpus(const std::vector<NodeKind>& nodes) {
    const auto most = std::ranges::max_element(nodes, {}, &NodeKind::cpus)->cpus;
    if (site_.cpus_per_task && *site_.cpus_per_task > most) {
      refused("cpus_per_task", std::to_string(*site_.cpus_per_task),
              fmt::format("{} a node", most));
    }
    if (site_.cpus_per_node && *site_.cpus_per_node != most) {
      add("cpus_per_node", std::to_string(*site_.cpus_per_node), std::to_string(most),
          Effect::waste);
    }
  }

  void compare_memory(const std::vector<NodeKind>& nodes) {
    const double most = std::ranges::max_element(nodes, {}, &NodeKind::memory_bytes)->memory_bytes;
    if (const auto wanted = bytes_of(site_.mem); wanted && *wanted > most) {
      refused("mem", site_.mem, format_bytes(most) + " a node");
    }
    if (!site_.node_bytes || most <= 0.0) return;
    if (std::abs(*site_.node_bytes - most) > memory_tolerance * most) {
      add("node_bytes", format_bytes(*site_.node_bytes), format_bytes(most), Effect::waste);
    }
  }

  /// Whether its compute nodes are among them, their names do not tell.
  void compare_submit_hosts() {
    if (!site_.jobs_can_submit || partition_->submit_hosts.empty()) return;
    add("jobs_can_submit", "true", "only from " + joined(partition_->submit_hosts),
        Effect::refused);
  }

  void compare_controller() {
    compare_most("array_size_max", site_.array_size_max, controller_.array_size_max);
    if (site_.submit_jobs_max > controller_.job_count_max) {
      refused("submit_jobs_max", std::to_string(site_.submit_jobs_max),
              fmt::format("{} of all users (MaxJobCount)", controller_.job_count_max));
    }
    std::string rest = site_.licenses;
    while (!rest.empty()) {
      const std::size_t comma = std::min(rest.find(','), rest.size());
      const std::string name = rest.substr(0, std::min(comma, rest.find_first_of(":*@")));
      if (!name.empty() && !holds(controller_.licenses, name)) {
        refused("licenses", name, joined(controller_.licenses));
      }
      rest.erase(0, comma + 1);
    }
    const bool is_used = site_.runner_launch.empty() && !site_.mpi.empty();
    if (is_used && !controller_.mpi_plugins.empty() && !holds(controller_.mpi_plugins, site_.mpi)) {
      refused("mpi", site_.mpi, joined(controller_.mpi_plugins));
    }
  }

  const Site& site_;
  const Controller& controller_;
  const ControllerPartition* partition_;
  std::vector<SiteDifference> found_;
};

}  // namespace

std::vector<SiteDifference> compare_site(const Site& site, const Controller& controller) {
  return Comparison(site, controller).run();
}

}  // namespace slurmtune
