// SPDX-License-Identifier: MIT
#include <algorithm>
#include <string_view>

#include <fmt/core.h>

#include "slurmtune/input/launch_hosts.hpp"
#include "slurmtune/input/launch_study.hpp"

namespace slurmtune {

namespace {

bool is_here(std::string_view host) { return host == "localhost" || host == "127.0.0.1"; }

/// Finds out what a line takes.
class Resolver {
 public:
  Resolver(const LaunchLine& line, const LaunchPlace& place) : line_(line), place_(place) {}

  Expected<LaunchResources> resolve();

 private:
  Expected<void> read_hosts();
  void set_nodes();
  void set_processes();
  [[nodiscard]] int hosts_filled(int processes, int nodes) const;
  void use_every_device(const std::string& why);
  Expected<void> divide_processes();
  [[nodiscard]] bool takes_all() const {
    return line_.launcher == LineLauncher::deepspeed || line_.launcher == LineLauncher::accelerate;
  }

  const LaunchLine& line_;
  const LaunchPlace& place_;
  std::vector<Host> hosts_;
  LaunchResources result_;
};

Expected<void> Resolver::read_hosts() {
  if (!line_.include.empty() && !line_.exclude.empty()) {
    return invalid_input("launch line: --include and --exclude exclude each other; give one");
  }
  const bool including = !line_.include.empty();
  const std::string_view flag = including ? "--include" : "--exclude";
  const std::string& text = including ? line_.include : line_.exclude;
  if (!text.empty() && (line_.nodes || line_.processes_per_node)) {
    return invalid_input(
        fmt::format("launch line: {} and {} exclude each other; give one of them", flag,
                    line_.nodes ? line_.nodes->from : line_.processes_per_node->from));
  }
  SLURMTUNE_TRY(const std::vector<Host> filter, read_host_filter(flag, text));
  if (!line_.hosts.empty()) {
    SLURMTUNE_TRY(hosts_, read_host_list(line_.hosts));
  } else if (place_.hostfile) {
    SLURMTUNE_TRY(hosts_, line_.launcher == LineLauncher::mpi ? read_mpi_hostfile(*place_.hostfile)
                                                              : read_hostfile(*place_.hostfile));
    if (!filter.empty()) {
      SLURMTUNE_TRY(hosts_, filtered_hosts(hosts_, {flag, text, filter}, place_.hostfile->path));
    }
  } else if (including) {
    hosts_ = filter;
  } else if (!filter.empty()) {
    return invalid_input(fmt::format(
        "launch line: --exclude {} has no hostfile to exclude from; give --num_gpus instead, or "
        "--hostfile",
        text));
  }
  if (hosts_.empty()) return {};
  if (hosts_.size() == 1 && is_here(hosts_.front().name) && hosts_.front().slots && including) {
    for (const int slot : *hosts_.front().slots) {
      result_.devices += (result_.devices.empty() ? "" : ",") + std::to_string(slot);
    }
  } else {
    result_.notes.emplace_back(
        "the names of hosts and the numbers of slots are not taken over, only how many: Slurm "
        "chooses the nodes and binds the GPUs (to leave nodes out: exclude in [slurm])");
  }
  return {};
}

void Resolver::set_nodes() {
  if (line_.nodes) {
    result_.nodes = line_.nodes->value;
    result_.nodes_from = line_.nodes->from;
  } else if (!hosts_.empty()) {
    result_.nodes = static_cast<int>(hosts_.size());
    result_.nodes_from = !line_.hosts.empty() ? "--host " + line_.hosts
                         : place_.hostfile    ? place_.hostfile->path
                                              : "--include " + line_.include;
    if (place_.hostfile && !line_.include.empty()) result_.nodes_from += ", --include";
    if (!line_.exclude.empty()) result_.nodes_from += ", --exclude";
  } else if (place_.held_nodes && !line_.processes_per_node && !line_.processes &&
             (takes_all() || line_.launcher == LineLauncher::srun)) {
    result_.nodes = *place_.held_nodes;
    result_.nodes_from = "the allocation";
  } else {
    result_.nodes_from = "nothing says more";
  }
}

void Resolver::use_every_device(const std::string& why) {
  const auto take = [&](int count, std::string from) {
    result_.processes_per_node = count;
    result_.processes_from = std::move(from);
  };
  if (place_.visible_devices && result_.nodes == 1 && !place_.visible_devices->empty()) {
    const auto commas = std::ranges::count(*place_.visible_devices, ',');
    take(static_cast<int>(commas) + 1, "CUDA_VISIBLE_DEVICES=" + *place_.visible_devices);
  } else if (place_.held_gpus_per_node) {
    take(*place_.held_gpus_per_node, "the GPUs of the allocation's nodes");
  } else if (place_.site_gpus_per_node) {
    take(*place_.site_gpus_per_node, "gpus_per_node of the site");
  } else if (place_.gpus_here > 0) {
    take(place_.gpus_here, "the GPUs of this machine");
  } else {
    take(1, "nothing says more");
    result_.notes.push_back(fmt::format(
        "one process on each node is assumed: {}, and no GPU is known of (none here, no --site "
        "with gpus_per_node)",
        why));
  }
}

void Resolver::set_processes() {
  if (line_.processes_per_node) {
    result_.processes_per_node = line_.processes_per_node->value;
    result_.processes_from = line_.processes_per_node->from;
    return;
  }
  std::size_t least = 0;
  bool uneven = false;
  for (const Host& host : hosts_) {
    if (!host.slots) continue;
    uneven = uneven || (least != 0 && host.slots->size() != least);
    least = least == 0 ? host.slots->size() : std::min(least, host.slots->size());
  }
  if (least > 0) {
    result_.processes_per_node = static_cast<int>(least);
    result_.processes_from =
        uneven ? "the fewest slots of a host" : result_.nodes_from + ": slots of a host";
    if (uneven) {
      result_.notes.push_back(fmt::format(
          "the hosts have different numbers of slots; each node gets {}, the fewest", least));
    }
    return;
  }
  if (line_.all_devices) {
    use_every_device("the line asks for all devices");
  } else if (takes_all()) {
    use_every_device("the line does not say how many");
  } else {
    result_.processes_from = line_.launcher == LineLauncher::none
                                 ? "the line names no launcher"
                                 : "the default of " + line_.launcher_name;
    result_.notes.push_back(
        fmt::format("one process on each node: {}",
                    line_.launcher == LineLauncher::none
                        ? "the line names no launcher (torchrun --nproc_per_node=N starts N)"
                        : fmt::format("{} starts one if nothing is said", line_.launcher_name)));
  }
}

/// mpirun fills the slots of one host before it goes to the next.
int Resolver::hosts_filled(int processes, int nodes) const {
  if (line_.launcher != LineLauncher::mpi || line_.by_node) return nodes;
  int filled = 0;
  std::size_t slots = 0;
  for (const Host& host : hosts_) {
    if (!host.slots) return nodes;
    if (slots >= static_cast<std::size_t>(processes)) break;
    slots += host.slots->size();
    ++filled;
  }
  return filled > 0 ? filled : nodes;
}

/// Counts of all nodes together, as accelerate and mpirun have them.
Expected<void> Resolver::divide_processes() {
  const int all = line_.processes->value;
  const auto uneven = [&](int by, std::string_view of) {
    return invalid_input(
        fmt::format("launch line: {} cannot be divided evenly among {} {}; each "
                    "node has as many processes as the others",
                    line_.processes->from, by, of));
  };
  if (line_.processes_per_node) {
    const int each = line_.processes_per_node->value;
    if (all % each != 0) return uneven(each, "processes a node");
    if (line_.nodes && line_.nodes->value != all / each) {
      return invalid_input(fmt::format("launch line: {}, {} and {} contradict each other",
                                       line_.processes->from, line_.processes_per_node->from,
                                       line_.nodes->from));
    }
    result_.nodes = all / each;
    result_.nodes_from = line_.processes->from + ", " + line_.processes_per_node->from;
    result_.processes_per_node = each;
    result_.processes_from = line_.processes_per_node->from;
    return {};
  }
  set_nodes();
  if (!line_.nodes) result_.nodes = hosts_filled(all, result_.nodes);
  if (all % result_.nodes != 0) return uneven(result_.nodes, "nodes");
  result_.processes_per_node = all / result_.nodes;
  result_.processes_from = line_.processes->from;
  return {};
}

Expected<LaunchResources> Resolver::resolve() {
  SLURMTUNE_CHECK(read_hosts());
  if (line_.processes) {
    SLURMTUNE_CHECK(divide_processes());
    return std::move(result_);
  }
  if (place_.hostfile && line_.nodes && line_.nodes->value > static_cast<int>(hosts_.size())) {
    return invalid_input(fmt::format("launch line: {}, but {} has {} hosts", line_.nodes->from,
                                     place_.hostfile->path, hosts_.size()));
  }
  set_nodes();
  set_processes();
  return std::move(result_);
}

}  // namespace

Expected<LaunchResources> launch_resources(const LaunchLine& line, const LaunchPlace& place) {
  return Resolver(line, place).resolve();
}

}  // namespace slurmtune
