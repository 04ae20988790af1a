// SPDX-License-Identifier: MIT
#include <algorithm>

#include <fmt/core.h>

#include "slurmtune/base/units.hpp"
#include "slurmtune/input/key_table.hpp"
#include "slurmtune/input/readers.hpp"
#include "slurmtune/input/site_file.hpp"
#include "slurmtune/input/study_input.hpp"

namespace slurmtune {

namespace {

void replace_text(const Node& node, std::string_view key, std::string& field) {
  if (const Node* value = node.find(key)) field = value->text;
}

void replace_texts(const Node& node, std::string_view key, std::vector<std::string>& field) {
  if (const Node* value = node.find(key)) field = strings_of(value);
}

template <class Integer>
void replace_count(const Node& node, std::string_view key, std::optional<Integer>& field) {
  if (const Node* value = node.find(key)) field = static_cast<Integer>(value->as_integer());
}

void replace_number(const Node& node, std::string_view key, std::optional<double>& field) {
  if (const auto value = real_at(node, key)) field = value;
}

void apply_placement(const Node& node, Site& site) {
  replace_text(node, "partition", site.partition);
  replace_text(node, "reducer_partition", site.reducer_partition);
  replace_text(node, "account", site.account);
  replace_text(node, "qos", site.qos);
  replace_text(node, "constraint", site.constraint);
  replace_text(node, "reservation", site.reservation);
  replace_text(node, "licenses", site.licenses);
  replace_text(node, "begin", site.begin);
  replace_count(node, "nice", site.nice);
  replace_texts(node, "exclude", site.exclude);
  replace_text(node, "mail", site.mail);
  replace_texts(node, "sbatch_options", site.sbatch_options);
  replace_texts(node, "array_options", site.array_options);
  replace_texts(node, "reducer_options", site.reducer_options);
  replace_texts(node, "modules", site.modules);
  site.exclusive = boolean_or(node, "exclusive", site.exclusive);
}

void apply_hardware(const Node& node, Site& site) {
  if (const Node* request = node.find("gpu_request")) {
    site.gpu_request =
        static_cast<GpuRequest>(word_index(*site_keys().find("gpu_request"), request->text));
  }
  replace_text(node, "gpu_type", site.gpu_type);
  replace_count(node, "cpus_per_task", site.cpus_per_task);
  // Whoever gives one of them means it instead of what a layer below gives.
  if (node.find("mem") || node.find("mem_per_cpu") || node.find("mem_per_gpu")) {
    site.mem = site.mem_per_cpu = site.mem_per_gpu = "";
  }
  replace_text(node, "mem", site.mem);
  replace_text(node, "mem_per_cpu", site.mem_per_cpu);
  replace_text(node, "mem_per_gpu", site.mem_per_gpu);
  replace_count(node, "gpus_per_node", site.gpus_per_node);
  replace_count(node, "cpus_per_node", site.cpus_per_node);
  replace_number(node, "gpu_bytes", site.gpu_bytes);
  replace_number(node, "node_bytes", site.node_bytes);
}

void apply_limits(const Node& node, Site& site) {
  site.array_size_max = integer_or(node, "array_size_max", site.array_size_max);
  site.submit_jobs_max = integer_or(node, "submit_jobs_max", site.submit_jobs_max);
  replace_count(node, "running_jobs_max", site.running_jobs_max);
  site.jobs_can_submit = boolean_or(node, "jobs_can_submit", site.jobs_can_submit);
  site.walltime_max_s = integer_or(node, "walltime_max_s", site.walltime_max_s);
  replace_count(node, "nodes_min", site.nodes_min);
  replace_count(node, "nodes_max", site.nodes_max);
  replace_number(node, "job_minutes_min", site.job_minutes_min);
  replace_count(node, "jobs_per_minute_max", site.jobs_per_minute_max);
}

void apply_habits(const Node& node, Site& site) {
  site.lanes = static_cast<int>(integer_or(node, "lanes", site.lanes));
  site.lanes_per_node = static_cast<int>(integer_or(node, "lanes_per_node", site.lanes_per_node));
  site.min_task_minutes = real_or(node, "min_task_minutes", site.min_task_minutes);
  site.no_queue = boolean_or(node, "no_queue", site.no_queue);
  site.probe_tasks = boolean_or(node, "probe_tasks", site.probe_tasks);
  site.reducer_minutes = real_or(node, "reducer_minutes", site.reducer_minutes);
  site.fs_settle_s = real_or(node, "fs_settle_s", site.fs_settle_s);
  replace_text(node, "mpi", site.mpi);
  replace_texts(node, "runner_launch", site.runner_launch);
  replace_texts(node, "trial_launch", site.trial_launch);
  replace_texts(node, "balance_command", site.balance_command);
  replace_text(node, "balance_pattern", site.balance_pattern);
}

/// Puts the site keys that `node` has over those of `site`.
Expected<void> apply_site_keys(const Node& node, std::string_view path, Site& site) {
  SLURMTUNE_CHECK(check_site_keys(node, path));
  apply_placement(node, site);
  apply_hardware(node, site);
  apply_limits(node, site);
  apply_habits(node, site);
  return check_site_layer(node, path, site);
}

constexpr std::string_view place_keys[] = {"partition", "qos", "constraint"};

std::string place_of(const Site& site, std::string_view key) {
  if (key == "partition") return site.partition;
  return key == "qos" ? site.qos : site.constraint;
}

bool holds_for(const Node& queue, const Site& place) {
  return std::ranges::all_of(place_keys, [&](std::string_view key) {
    const Node* value = queue.find(key);
    return value == nullptr || value->text == place_of(place, key);
  });
}

Expected<void> check_queues(const SiteFile& file) {
  const Node* queues = file.root.find("queue");
  if (queues == nullptr) return {};
  for (const Node& queue : queues->items) {
    const bool placed = std::ranges::any_of(
        place_keys, [&](std::string_view key) { return queue.find(key) != nullptr; });
    if (!placed) {
      return fail_at(file.path, queue.line, "a [[queue]] names no partition, qos or constraint",
                     "write the one that it is about, e.g. partition = \"gpu\"");
    }
  }
  SLURMTUNE_TRY([[maybe_unused]] const std::vector<SiteQueue> all, queues_of(file));
  return {};
}

Expected<void> check_asked(const SiteFile& file) {
  const Node* asked = file.root.find("ask");
  if (asked == nullptr) return {};
  for (const NodeMember& member : asked->members) {
    if (queue_keys().find(member.key) == nullptr) {
      std::vector<std::string_view> known;
      for (const KeyRow& row : queue_keys().rows) known.push_back(row.key);
      const std::string_view nearest = nearest_word(member.key, known);
      return fail_at(file.path, member.value.line,
                     fmt::format("\"{}\" in ask is no key of a site", member.key),
                     nearest.empty() ? "see slurmtune schema site"
                                     : fmt::format("did you mean \"{}\"?", nearest));
    }
    const Node* given = file.root.find(member.key);
    if (given != nullptr) {
      return fail_at(file.path, given->line,
                     fmt::format("{} is asked for (ask) and given", member.key),
                     "remove one of them");
    }
  }
  return {};
}

}  // namespace

Expected<SiteFile> read_site_file(const SourceText& source) {
  SiteFile file{.path = source.path, .root = {}};
  SLURMTUNE_TRY(file.root, parse_toml(source));
  const Node* format = file.root.find("format");
  // A newer format may have keys that this version does not know, so this is looked at first.
  if (format != nullptr && format->is_integral() && format->as_integer() > 1) {
    return fail_at(
        source.path, format->line,
        fmt::format("format {} is newer than this version reads (1)", format->as_integer()),
        "use a newer slurmtune");
  }
  SLURMTUNE_CHECK(check_keys(file.root, site_keys(), source.path));
  const Node& name = *file.root.find("name");
  if (name.text.empty()) {
    return fail_at(source.path, name.line, "the site has an empty name",
                   "write name = \"mycluster\"");
  }
  SLURMTUNE_CHECK(check_queues(file));
  SLURMTUNE_CHECK(check_asked(file));
  return file;
}

Expected<Site> resolve_site(const SiteFile& file, const SiteLayer& slurm) {
  Site site;
  site.name = file.root.find("name")->text;
  SLURMTUNE_CHECK(apply_site_keys(file.root, file.path, site));
  Site place = site;
  if (slurm.keys != nullptr) apply_placement(*slurm.keys, place);
  if (const Node* queues = file.root.find("queue")) {
    for (const Node& queue : queues->items) {
      if (holds_for(queue, place)) SLURMTUNE_CHECK(apply_site_keys(queue, file.path, site));
    }
  }
  if (slurm.keys != nullptr) {
    SLURMTUNE_CHECK(apply_site_keys(*slurm.keys, slurm.path, site));
  }
  // Any layer may name it, so that only all of them show that none does.
  const Node* asked = file.root.find("ask");
  const bool is_asked = asked != nullptr && asked->find("constraint") != nullptr;
  if (site.gpu_request == GpuRequest::constraint && site.constraint.empty() && !is_asked) {
    const Node* request = file.root.find("gpu_request");
    return fail_at(file.path, request != nullptr ? request->line : 1,
                   "gpu_request = \"constraint\", but no constraint is given",
                   "write constraint = \"gpu\", or gpu_request = \"none\"");
  }
  return site;
}

Expected<std::vector<SiteQueue>> queues_of(const SiteFile& file) {
  std::vector<SiteQueue> all;
  const Node* queues = file.root.find("queue");
  if (queues == nullptr) return all;
  for (const Node& queue : queues->items) {
    SiteQueue found;
    Node place;
    for (const std::string_view key : place_keys) {
      const Node* value = queue.find(key);
      if (value == nullptr) continue;
      place.members.push_back({std::string(key), *value});
      found.place += fmt::format("{}{} {}", found.place.empty() ? "" : ", ", key, value->text);
    }
    SLURMTUNE_TRY(found.site, resolve_site(file, {&place, file.path}));
    all.push_back(std::move(found));
  }
  return all;
}

std::optional<std::string> unanswered(const SiteFile& file, const SiteLayer& slurm) {
  const Node* asked = file.root.find("ask");
  if (asked == nullptr) return std::nullopt;
  for (const NodeMember& member : asked->members) {
    const Node* given = slurm.keys != nullptr ? slurm.keys->find(member.key) : nullptr;
    if (given != nullptr && (given->kind != Node::Kind::string || !given->text.empty())) continue;
    const bool is_text =
        (queue_keys().find(member.key)->shapes & (shape_string | shape_token | shape_word)) != 0;
    return fmt::format(
        "{}:{}: the site {} has no {} of its own: it is the study's; write {} = {} in "
        "[slurm]",
        slurm.path, slurm.keys != nullptr ? slurm.keys->line : 1, file.root.find("name")->text,
        member.key, member.key,
        is_text ? fmt::format("\"{}\"", member.value.text) : member.value.text);
  }
  return std::nullopt;
}

Expected<Site> parse_site(const SourceText& source) {
  SLURMTUNE_TRY(const SiteFile file, read_site_file(source));
  return resolve_site(file, {});
}

}  // namespace slurmtune
