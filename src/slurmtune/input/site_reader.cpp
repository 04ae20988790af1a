// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <regex>

#include <fmt/core.h>

#include "slurmtune/input/key_table.hpp"
#include "slurmtune/input/readers.hpp"
#include "slurmtune/input/study_input.hpp"

namespace slurmtune {

namespace {

// What the job scripts set themselves; a second value would win or be refused by sbatch.
constexpr std::array<std::string_view, 14> own_options{
    "--array",  "--dependency", "--error",     "--export", "--hold", "--job-name", "--nodes",
    "--output", "--parsable",   "--test-only", "--time",   "--wait", "--wrap",     "--chdir"};

Expected<void> check_options(const Node* options, std::string_view path) {
  if (options == nullptr) return {};
  for (const Node& option : options->items) {
    const std::string& text = option.text;
    const bool clean =
        std::ranges::none_of(text, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
    if (!text.starts_with("--") || text.size() < 3 || !clean) {
      return fail_at(path, option.line, fmt::format("\"{}\" is not an sbatch option", text),
                     "write one string an option, e.g. \"--gpus-per-node=4\"");
    }
    const std::string name = text.substr(0, text.find_first_of("= "));
    if (std::ranges::find(own_options, name) != own_options.end()) {
      return fail_at(path, option.line, fmt::format("{} is set by slurmtune itself", name),
                     "remove it");
    }
  }
  return {};
}

/// Names of nodes, or Slurm's short form of several (`n[1-4,7]`).
Expected<void> check_exclude(const Node& node, std::string_view path) {
  const Node* exclude = node.find("exclude");
  if (exclude == nullptr) return {};
  static const std::regex form(R"([A-Za-z0-9][\w.-]*(\[\d+(-\d+)?(,\d+(-\d+)?)*\][\w.-]*)*)");
  for (const Node& name : exclude->items) {
    if (!std::regex_match(name.text, form)) {
      return fail_at(path, name.line, fmt::format("\"{}\" is no name of a node", name.text),
                     "write exclude = [\"n7\", \"n[11-13]\"]");
    }
  }
  for (const char* key : {"sbatch_options", "array_options"}) {
    const Node* options = node.find(key);
    for (const std::string& option : strings_of(options)) {
      if (!option.starts_with("--exclude=") && option != "--exclude") continue;
      return fail_at(path, options->line, fmt::format("--exclude stands in {} and in exclude", key),
                     "write all such nodes into exclude");
    }
  }
  return {};
}

Expected<void> check_shell_lines(const Node* lines, std::string_view path) {
  if (lines == nullptr) return {};
  for (const Node& line : lines->items) {
    if (line.text.find('\n') == std::string::npos) continue;
    return fail_at(path, line.line, "a shell line holds a line break", "write one string a line");
  }
  return {};
}

void replace_text(const Node& node, std::string_view key, std::string& field) {
  if (const Node* value = node.find(key)) field = value->text;
}

void replace_texts(const Node& node, std::string_view key, std::vector<std::string>& field) {
  if (const Node* value = node.find(key)) field = strings_of(value);
}

void replace_count(const Node& node, std::string_view key, std::optional<int>& field) {
  if (const Node* value = node.find(key)) field = static_cast<int>(value->as_integer());
}

}  // namespace

Expected<void> apply_site_keys(const Node& node, std::string_view path, Site& site) {
  SLURMTUNE_CHECK(check_options(node.find("sbatch_options"), path));
  SLURMTUNE_CHECK(check_options(node.find("array_options"), path));
  SLURMTUNE_CHECK(check_exclude(node, path));
  SLURMTUNE_CHECK(check_shell_lines(node.find("modules"), path));
  replace_text(node, "partition", site.partition);
  replace_text(node, "reducer_partition", site.reducer_partition);
  replace_text(node, "account", site.account);
  replace_text(node, "qos", site.qos);
  replace_text(node, "constraint", site.constraint);
  replace_texts(node, "exclude", site.exclude);
  replace_texts(node, "sbatch_options", site.sbatch_options);
  replace_texts(node, "array_options", site.array_options);
  replace_texts(node, "modules", site.modules);
  site.exclusive = boolean_or(node, "exclusive", site.exclusive);
  replace_count(node, "gpus_per_node", site.gpus_per_node);
  replace_count(node, "cpus_per_node", site.cpus_per_node);
  if (const auto bytes = real_at(node, "gpu_bytes")) site.gpu_bytes = bytes;
  site.array_size_max = integer_or(node, "array_size_max", site.array_size_max);
  site.submit_jobs_max = integer_or(node, "submit_jobs_max", site.submit_jobs_max);
  site.walltime_max_s = integer_or(node, "walltime_max_s", site.walltime_max_s);
  site.lanes = static_cast<int>(integer_or(node, "lanes", site.lanes));
  site.lanes_per_node = static_cast<int>(integer_or(node, "lanes_per_node", site.lanes_per_node));
  site.min_task_minutes = real_or(node, "min_task_minutes", site.min_task_minutes);
  site.no_queue = boolean_or(node, "no_queue", site.no_queue);
  site.probe_tasks = boolean_or(node, "probe_tasks", site.probe_tasks);
  site.reducer_minutes = real_or(node, "reducer_minutes", site.reducer_minutes);
  site.fs_settle_s = real_or(node, "fs_settle_s", site.fs_settle_s);
  replace_texts(node, "runner_launch", site.runner_launch);
  replace_texts(node, "trial_launch", site.trial_launch);
  return {};
}

Expected<Site> parse_site(const SourceText& source) {
  SLURMTUNE_TRY(const Node node, parse_toml(source));
  SLURMTUNE_CHECK(check_keys(node, site_keys(), source.path));
  if (const Node* format = node.find("format"); format != nullptr && format->as_integer() != 1) {
    return fail_at(
        source.path, format->line,
        fmt::format("format {} is newer than this version reads (1)", format->as_integer()),
        "use a newer slurmtune");
  }
  Site site;
  site.name = text_or(node, "name", "");
  if (site.name.empty()) {
    return fail_at(source.path, node.find("name")->line, "the site has an empty name",
                   "write name = \"mycluster\"");
  }
  SLURMTUNE_CHECK(apply_site_keys(node, source.path, site));
  return site;
}

}  // namespace slurmtune
