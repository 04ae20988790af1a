// SPDX-License-Identifier: MIT
#include "slurmtune/execute/site/read_controller.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>

#include <fmt/format.h>

#include "slurmtune/execute/sbatch_directives.hpp"

namespace slurmtune {

namespace {

using Fields = std::map<std::string, std::string, std::less<>>;

std::vector<std::string> split(std::string_view text, char mark) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t at = text.find(mark);
    parts.emplace_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::string_view trim(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

std::vector<std::string_view> lines(std::string_view text) {
  std::vector<std::string_view> all;
  while (!text.empty()) {
    const std::size_t newline = std::min(text.find('\n'), text.size());
    if (const std::string_view line = trim(text.substr(0, newline)); !line.empty()) {
      all.push_back(line);
    }
    text.remove_prefix(std::min(newline + 1, text.size()));
  }
  return all;
}

/// A number, also `8+` as sinfo writes the least of several.
std::optional<std::int64_t> number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = end == text.data() + text.size() || *end == '+';
  if (error != std::errc() || !whole) return std::nullopt;
  return value;
}

bool is_none(std::string_view text) {
  return text.empty() || text == "(null)" || text == "N/A" || text == "none";
}

/// A list of names; ALL and none are both empty.
std::vector<std::string> names(std::string_view text) {
  if (is_none(text) || text == "ALL") return {};
  return split(text, ',');
}

/// `Key   = value` on a line each.
Fields config_fields(std::string_view text) {
  Fields fields;
  for (const std::string_view line : lines(text)) {
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) continue;
    fields.emplace(trim(line.substr(0, equals)), trim(line.substr(equals + 1)));
  }
  return fields;
}

/// `Key=value Key=value`.
Fields word_fields(std::string_view line) {
  Fields fields;
  for (const std::string& word : split(line, ' ')) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) continue;
    fields.emplace(word.substr(0, equals), word.substr(equals + 1));
  }
  return fields;
}

std::string field(const Fields& fields, std::string_view key) {
  const auto found = fields.find(key);
  return found == fields.end() ? "" : found->second;
}

/// The number behind `node=` in `cpu=4,node=2`.
std::optional<std::int64_t> nodes_of_tres(std::string_view tres) {
  for (const std::string& part : split(tres, ',')) {
    if (part.starts_with("node=")) return number(std::string_view(part).substr(5));
  }
  return std::nullopt;
}

ControllerPartition partition_of(const Fields& fields) {
  ControllerPartition partition;
  partition.name = field(fields, "PartitionName");
  partition.is_default = field(fields, "Default") == "YES";
  partition.state = field(fields, "State");
  partition.walltime_max_s = slurm_time_limit(field(fields, "MaxTime"));
  partition.nodes_max = number(field(fields, "MaxNodes"));
  partition.nodes_min = number(field(fields, "MinNodes")).value_or(0);
  const std::string qos = field(fields, "QoS");
  if (!is_none(qos)) partition.qos = qos;
  partition.allowed_qos = names(field(fields, "AllowQos"));
  partition.allowed_accounts = names(field(fields, "AllowAccounts"));
  partition.submit_hosts = names(field(fields, "AllocNodes"));
  return partition;
}

void read_nodes(std::string_view text, std::vector<ControllerPartition>& partitions) {
  constexpr double mebibyte = 1024.0 * 1024.0;
  for (const std::string_view line : lines(text)) {
    const std::vector<std::string> cells = split(line, '|');
    if (cells.size() != 6) continue;
    const auto count = number(cells[1]);
    const auto cpus = number(cells[2]);
    const auto memory = number(cells[3]);
    const auto partition = std::ranges::find(partitions, cells[0], &ControllerPartition::name);
    if (!count || !cpus || !memory || partition == partitions.end()) continue;
    partition->nodes.push_back({.count = *count,
                                .cpus = *cpus,
                                .memory_bytes = static_cast<double>(*memory) * mebibyte,
                                .gpus = gpus_of_gres(cells[4]),
                                .features = names(cells[5])});
  }
}

std::vector<std::string> read_licenses(std::string_view text) {
  std::vector<std::string> licenses;
  for (const std::string_view line : lines(text)) {
    const std::string name = field(word_fields(line), "LicenseName");
    if (!name.empty()) licenses.push_back(name);
  }
  return licenses;
}

/// One name a line; before 23.11 `specific pmix plugin versions available: pmix_v4`.
std::vector<std::string> read_mpi(std::string_view text) {
  std::vector<std::string> plugins;
  for (std::string_view line : lines(text)) {
    const std::size_t colon = line.rfind(": ");
    if (line.starts_with("specific") && colon != std::string_view::npos) {
      for (const std::string& name : split(line.substr(colon + 2), ',')) plugins.push_back(name);
    } else if (line.find_first_of(" .:") == std::string_view::npos) {
      plugins.emplace_back(line);
    }
  }
  return plugins;
}

std::vector<Association> read_associations(std::string_view text) {
  std::vector<Association> all;
  for (const std::string_view line : lines(text)) {
    const std::vector<std::string> cells = split(line, '|');
    if (cells.size() != 8 || cells[0].empty()) continue;
    all.push_back({.account = cells[0],
                   .partition = cells[1],
                   .qos = names(cells[2]),
                   .default_qos = cells[3],
                   .limits = {.walltime_max_s = slurm_time_limit(cells[6]),
                              .nodes_max = nodes_of_tres(cells[7]),
                              .nodes_min = std::nullopt,
                              .running_jobs_max = number(cells[4]),
                              .submit_jobs_max = number(cells[5])}});
  }
  return all;
}

std::vector<ControllerQos> read_qos(std::string_view text) {
  std::vector<ControllerQos> all;
  for (const std::string_view line : lines(text)) {
    const std::vector<std::string> cells = split(line, '|');
    if (cells.size() != 7 || cells[0].empty()) continue;
    const std::vector<std::string> flags = split(cells[1], ',');
    const auto has = [&](std::string_view flag) { return std::ranges::count(flags, flag) > 0; };
    all.push_back({.name = cells[0],
                   .over_partition = has("OverPartQOS"),
                   .past_partition_time = has("PartitionTimeLimit"),
                   .limits = {.walltime_max_s = slurm_time_limit(cells[2]),
                              .nodes_max = nodes_of_tres(cells[5]),
                              .nodes_min = nodes_of_tres(cells[6]),
                              .running_jobs_max = number(cells[3]),
                              .submit_jobs_max = number(cells[4])}});
  }
  return all;
}

bool stores_accounts(const Fields& config) {
  return field(config, "AccountingStorageType") == "accounting_storage/slurmdbd";
}

}  // namespace

std::optional<std::int64_t> slurm_time_limit(std::string_view text) {
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text.front())) == 0) {
    return std::nullopt;
  }
  const auto limit = parse_walltime(text);
  if (!limit) return std::nullopt;
  return limit->count();
}

std::map<std::string, int> gpus_of_gres(std::string_view gres) {
  // Sockets and the like stand in parentheses, with commas of their own.
  std::string plain;
  int depth = 0;
  for (const char c : gres) {
    if (c == '(') ++depth;
    if (depth == 0) plain += c;
    if (c == ')') --depth;
  }
  std::map<std::string, int> gpus;
  for (const std::string& part : split(plain, ',')) {
    const std::vector<std::string> words = split(part, ':');
    if (words[0] != "gpu") continue;
    const auto count = words.size() > 1 ? number(words.back()) : std::nullopt;
    const bool typed = words.size() > 2 || (words.size() == 2 && !count);
    gpus[typed ? words[1] : ""] += static_cast<int>(count.value_or(1));
  }
  return gpus;
}

bool has_accounting(std::string_view config) { return stores_accounts(config_fields(config)); }

std::vector<ControllerPartition> read_partitions(std::string_view text) {
  std::vector<ControllerPartition> partitions;
  for (const std::string_view line : lines(text)) {
    if (!line.starts_with("PartitionName=")) continue;
    partitions.push_back(partition_of(word_fields(line)));
  }
  return partitions;
}

std::vector<NodeState> read_node_states(std::string_view text) {
  std::vector<NodeState> nodes;
  for (const std::string_view line : lines(text)) {
    if (!line.starts_with("NodeName=")) continue;
    const Fields fields = word_fields(line);
    NodeState node{.name = field(fields, "NodeName"),
                   .state = field(fields, "State"),
                   .reason = "",
                   .partitions = names(field(fields, "Partitions"))};
    // The only field whose value has spaces, and the last but a comment; `[who@when]` ends it.
    const std::size_t reason = line.find(" Reason=");
    if (reason != std::string_view::npos) {
      node.reason = line.substr(reason + 8);
      node.reason = node.reason.substr(0, node.reason.find(" ["));
    }
    nodes.push_back(std::move(node));
  }
  return nodes;
}

Expected<Controller> read_controller(const ControllerTexts& texts) {
  const Fields config = config_fields(texts.config);
  Controller controller;
  controller.cluster = field(config, "ClusterName");
  controller.version = field(config, "SLURM_VERSION");
  if (controller.cluster.empty() || controller.version.empty()) {
    return unavailable(
        fmt::format("scontrol show config names no cluster: {}",
                    texts.config.substr(0, std::min<std::size_t>(texts.config.size(), 200))));
  }
  controller.array_size_max =
      number(field(config, "MaxArraySize")).value_or(controller.array_size_max);
  controller.job_count_max =
      number(field(config, "MaxJobCount")).value_or(controller.job_count_max);
  controller.has_accounting = stores_accounts(config);
  const std::vector<std::string> enforced = split(field(config, "AccountingStorageEnforce"), ',');
  controller.needs_account = std::ranges::count(enforced, "associations") > 0;
  controller.partitions = read_partitions(texts.partitions);
  if (controller.partitions.empty()) return unavailable("scontrol show partition names none");
  read_nodes(texts.nodes, controller.partitions);
  controller.licenses = read_licenses(texts.licenses);
  controller.mpi_plugins = read_mpi(texts.mpi);
  if (controller.has_accounting) {
    controller.associations = read_associations(texts.associations);
    controller.qos = read_qos(texts.qos);
  }
  return controller;
}

}  // namespace slurmtune
