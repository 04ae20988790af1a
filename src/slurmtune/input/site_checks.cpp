// SPDX-License-Identifier: MIT
//
// What one key of a site cannot show: values that contradict each other.
#include <algorithm>
#include <array>
#include <regex>
#include <set>

#include <fmt/core.h>

#include "slurmtune/input/named_pattern.hpp"
#include "slurmtune/input/readers.hpp"

namespace slurmtune {

namespace {

// What the job scripts set themselves; a second value would win or be refused by sbatch.
constexpr std::array<std::string_view, 22> own_options{
    "--array",     "--begin",    "--chdir",    "--deadline", "--dependency", "--error",
    "--export",    "--hold",     "--input",    "--job-name", "--no-requeue", "--nodes",
    "--open-mode", "--output",   "--parsable", "--requeue",  "--signal",     "--test-only",
    "--time",      "--time-min", "--wait",     "--wrap"};

constexpr std::array<const char*, 3> option_lists{"sbatch_options", "array_options",
                                                  "reducer_options"};

// Each has a key of its own, which such an option would contradict.
struct OwnKey {
  std::string_view option;
  std::string_view key;
};
constexpr std::array<OwnKey, 11> own_keys{{{"--partition", "partition"},
                                           {"--account", "account"},
                                           {"--qos", "qos"},
                                           {"--constraint", "constraint"},
                                           {"--exclude", "exclude"},
                                           {"--reservation", "reservation"},
                                           {"--licenses", "licenses"},
                                           {"--nice", "nice"},
                                           {"--mail-user", "mail"},
                                           {"--mail-type", "mail"},
                                           {"--cpus-per-task", "cpus_per_task"}}};

std::string_view name_of_option(std::string_view option) {
  return option.substr(0, option.find_first_of("= "));
}

/// True if sbatch may take `name` for `option`: it takes the beginning of a name for all of it
/// (getopt_long). No option of sbatch is the beginning of one that is asked for here.
bool is_meant(std::string_view option, std::string_view name) {
  return name == option || (name.size() > 2 && option.starts_with(name));
}

/// `--array`, or `--arra, which sbatch takes for --array,`.
std::string called(std::string_view option, std::string_view name) {
  if (name == option) return std::string(option);
  return fmt::format("{}, which sbatch takes for {},", name, option);
}

/// --mem and its kin, but for --mem-bind.
bool asks_for_memory(std::string_view name) {
  return name.starts_with("--mem") && !name.starts_with("--mem-b");
}

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
    const std::string_view name = name_of_option(text);
    const auto whole = std::ranges::find(own_options, name);
    const auto own = whole != own_options.end()
                         ? whole
                         : std::ranges::find_if(own_options, [&](std::string_view known) {
                             return is_meant(known, name);
                           });
    if (own != own_options.end()) {
      return fail_at(path, option.line,
                     fmt::format("{} is set by slurmtune itself", called(*own, name)),
                     *own == "--begin" ? "write begin = \"20:00\", which is a key" : "remove it");
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
  return {};
}

/// What tune/begin_time.cpp understands of sbatch's words.
Expected<void> check_begin(const Node& node, std::string_view path) {
  const Node* begin = node.find("begin");
  if (begin == nullptr || begin->text.empty()) return {};
  static const std::regex form(
      R"(now(\+\d{1,9}(seconds?|minutes?|hours?|days?|weeks?)?)?|)"
      R"(([01]?\d|2[0-3]):[0-5]\d(:[0-5]\d)?|)"
      R"(midnight|elevenses|noon|fika|teatime|today|tomorrow|)"
      R"(\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])(T([01]\d|2[0-3]):[0-5]\d(:[0-5]\d)?)?)");
  if (std::regex_match(begin->text, form)) return {};
  return fail_at(path, begin->line, fmt::format("begin = \"{}\" is no time", begin->text),
                 "write \"20:00\", \"now+2hours\", \"tomorrow\" or \"2026-12-01T20:00\"");
}

/// An address, or a user's name, which the cluster's mail program takes as well.
Expected<void> check_mail(const Node& node, std::string_view path) {
  const Node* mail = node.find("mail");
  if (mail == nullptr || mail->text.empty()) return {};
  static const std::regex form(R"([A-Za-z0-9_][\w.+-]*(@[A-Za-z0-9][\w-]*(\.[\w-]+)*)?)");
  if (std::regex_match(mail->text, form)) return {};
  return fail_at(path, mail->line, fmt::format("\"{}\" is no address of mail", mail->text),
                 "write one address or user, mail = \"me@example.org\", or \"\" for no mail");
}

Expected<void> check_shell_lines(const Node* lines, std::string_view path) {
  if (lines == nullptr) return {};
  for (const Node& line : lines->items) {
    if (line.text.find('\n') == std::string::npos) continue;
    return fail_at(path, line.line, "a shell line holds a line break", "write one string a line");
  }
  return {};
}

/// Where a layer gives one of `keys`: the line of the first; 0 if it gives none.
int line_of(const Node& node, std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) {
    if (const Node* value = node.find(key)) return value->line;
  }
  return 0;
}

/// An option of the site that satisfies `wanted`, and the list it stands in.
struct FoundOption {
  std::string option;
  std::string list;
};
template <class Wanted>
std::optional<FoundOption> find_option(const Site& site, const Wanted& wanted) {
  const std::pair<const char*, const std::vector<std::string>*> lists[] = {
      {"sbatch_options", &site.sbatch_options},
      {"array_options", &site.array_options},
      {"reducer_options", &site.reducer_options}};
  for (const auto& [list, options] : lists) {
    for (const std::string& option : *options) {
      if (wanted(name_of_option(option))) {
        return FoundOption{std::string(name_of_option(option)), list};
      }
    }
  }
  return std::nullopt;
}

bool gives(const Site& site, std::string_view key) {
  if (key == "partition") return !site.partition.empty();
  if (key == "account") return !site.account.empty();
  if (key == "qos") return !site.qos.empty();
  if (key == "constraint") return !site.constraint.empty();
  if (key == "exclude") return !site.exclude.empty();
  if (key == "reservation") return !site.reservation.empty();
  if (key == "licenses") return !site.licenses.empty();
  if (key == "nice") return site.nice.has_value();
  if (key == "mail") return !site.mail.empty();
  return site.cpus_per_task.has_value();
}

Expected<void> check_own_keys(const Node& node, std::string_view path, const Site& site) {
  for (const OwnKey& own : own_keys) {
    if (!gives(site, own.key)) continue;
    const auto found =
        find_option(site, [&](std::string_view name) { return is_meant(own.option, name); });
    // Reducers are not asked for cpus_per_task, and may have to go elsewhere.
    const bool of_reducers = own.key == "cpus_per_task" || own.key == "qos" ||
                             own.key == "account" || own.key == "constraint";
    const bool fine = of_reducers && found && found->list == "reducer_options";
    if (!found || fine) continue;
    const int line = line_of(node, {found->list, own.key});
    return fail_at(path, line,
                   fmt::format("{} stands in {} and in {}", called(own.option, found->option),
                               found->list, own.key),
                   fmt::format("write it into {} alone", own.key));
  }
  return {};
}

/// The options of the site that ask for memory of jobs of trials, each once.
std::set<std::string_view> memory_options(const Site& site) {
  std::set<std::string_view> found;
  for (const auto* options : {&site.sbatch_options, &site.array_options}) {
    for (const std::string& option : *options) {
      if (asks_for_memory(name_of_option(option))) found.insert(name_of_option(option));
    }
  }
  return found;
}

/// sbatch takes only one of --mem, --mem-per-cpu and --mem-per-gpu.
Expected<void> check_memory(const Node& node, std::string_view path, const Site& site) {
  const bool given[] = {!site.mem.empty(), !site.mem_per_cpu.empty(), !site.mem_per_gpu.empty()};
  const auto count = std::ranges::count(given, true);
  const int line = line_of(node, {"mem_per_gpu", "mem_per_cpu", "mem"});
  if (count > 1) {
    return fail_at(path, line, "more than one of mem, mem_per_cpu and mem_per_gpu is given",
                   "keep one: sbatch refuses the others beside it");
  }
  if (memory_options(site).size() > 1) {
    return fail_at(path, std::max(line, line_of(node, {"array_options", "sbatch_options"})),
                   "options ask for memory in more than one way (--mem, --mem-per-cpu, "
                   "--mem-per-gpu)",
                   "keep one: sbatch refuses the others beside it");
  }
  const auto option = find_option(site, asks_for_memory);
  if (count == 0 || !option || option->list == "reducer_options") return {};
  return fail_at(path, std::max(line, line_of(node, {option->list})),
                 fmt::format("memory is asked for twice: by {} in {}, and by a key of its own",
                             option->option, option->list),
                 "keep one of them");
}

Expected<void> check_gpus(const Node& node, std::string_view path, const Site& site) {
  const int line =
      line_of(node, {"gpu_request", "gpus_per_node", "array_options", "sbatch_options"});
  if (site.gpu_request == GpuRequest::none || site.gpu_request == GpuRequest::constraint) return {};
  if (site.gpus_per_node.value_or(0) < 1) {
    return fail_at(path, line, "GPUs are to be asked for (gpu_request), but nobody says how many",
                   "write gpus_per_node = 4, or gpu_request = \"none\"");
  }
  const auto option = find_option(
      site, [](std::string_view name) { return name.starts_with("--gpus") || name == "--gres"; });
  if (!option || option->list == "reducer_options") return {};
  return fail_at(path, std::max(line, line_of(node, {option->list})),
                 fmt::format("GPUs are asked for twice: by {} in {}, and by gpu_request",
                             option->option, option->list),
                 "take the option out, or write gpu_request = \"none\"");
}

Expected<void> check_limits(const Node& node, std::string_view path, const Site& site) {
  if (site.nodes_min && site.nodes_max && *site.nodes_min > *site.nodes_max) {
    return fail_at(
        path, line_of(node, {"nodes_min", "nodes_max"}),
        fmt::format("nodes_min = {} is more than nodes_max = {}", *site.nodes_min, *site.nodes_max),
        "lower the one or raise the other");
  }
  const double least_s = site.job_minutes_min.value_or(0.0) * 60.0;
  if (least_s > static_cast<double>(site.walltime_max_s)) {
    return fail_at(path, line_of(node, {"job_minutes_min", "walltime_max_s"}),
                   "job_minutes_min is more than a job may last (walltime_max_s)",
                   "lower the one or raise the other");
  }
  return {};
}

Expected<void> check_balance(const Node& node, std::string_view path, const Site& site) {
  const int line = line_of(node, {"balance_pattern", "balance_command"});
  if (site.balance_command.empty() && site.balance_pattern.empty()) return {};
  if (site.balance_command.empty() || site.balance_pattern.empty()) {
    return fail_at(path, line, "balance_command and balance_pattern go together",
                   "write both, or none");
  }
  const auto pattern = compile_named_pattern(site.balance_pattern);
  if (!pattern) {
    return fail_at(path, line,
                   fmt::format("balance_pattern cannot be used: {}", pattern.error().message),
                   "write balance_pattern = 'left: (?<node_hours>[0-9.]+)'");
  }
  const bool named = std::ranges::any_of(
      pattern->groups, [](const NamedPattern::Group& group) { return group.name == "node_hours"; });
  if (named) return {};
  return fail_at(path, line, "balance_pattern has no group named node_hours",
                 "write balance_pattern = 'left: (?<node_hours>[0-9.]+)'");
}

}  // namespace

Expected<void> check_site_keys(const Node& node, std::string_view path) {
  for (const char* list : option_lists) SLURMTUNE_CHECK(check_options(node.find(list), path));
  SLURMTUNE_CHECK(check_exclude(node, path));
  SLURMTUNE_CHECK(check_begin(node, path));
  SLURMTUNE_CHECK(check_mail(node, path));
  return check_shell_lines(node.find("modules"), path);
}

Expected<void> check_site_layer(const Node& node, std::string_view path, const Site& site) {
  SLURMTUNE_CHECK(check_own_keys(node, path, site));
  SLURMTUNE_CHECK(check_memory(node, path, site));
  SLURMTUNE_CHECK(check_gpus(node, path, site));
  SLURMTUNE_CHECK(check_limits(node, path, site));
  return check_balance(node, path, site);
}

}  // namespace slurmtune
