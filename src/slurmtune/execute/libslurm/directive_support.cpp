// SPDX-License-Identifier: MIT
#include "slurmtune/execute/libslurm/directive_support.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <limits>
#include <utility>

namespace slurmtune {
namespace {

constexpr std::array<std::string_view, 13> text_keys{
    "account",   "comment",  "constraint", "error",     "exclude", "job-name",   "licenses",
    "mail-user", "nodelist", "output",     "partition", "qos",     "reservation"};
constexpr std::array<std::string_view, 4> count_keys{"cpus-per-task", "nodes", "ntasks",
                                                     "ntasks-per-node"};
constexpr std::array<std::string_view, 3> flag_keys{"exclusive", "no-requeue", "requeue"};

constexpr std::array<std::pair<std::string_view, int>, 6> signals{{{"USR1", SIGUSR1},
                                                                   {"USR2", SIGUSR2},
                                                                   {"TERM", SIGTERM},
                                                                   {"INT", SIGINT},
                                                                   {"HUP", SIGHUP},
                                                                   {"CONT", SIGCONT}}};

template <std::size_t n>
bool is_one_of(std::string_view key, const std::array<std::string_view, n>& keys) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

template <class Number>
std::optional<Number> whole(std::string_view text) {
  Number value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool is_known(const SbatchDirective& directive) {
  const auto& [key, value] = directive;
  if (is_one_of(key, text_keys)) return !value.empty();
  if (is_one_of(key, count_keys)) return parse_count(value).has_value();
  if (is_one_of(key, flag_keys)) return value.empty();
  if (key == "time") return parse_walltime(value).has_value();
  if (key == "signal") return parse_warning_signal(value).has_value();
  if (key == "mail-type") return parse_mail_types(value).has_value();
  if (key == "open-mode") return value == "append" || value == "truncate";
  if (key == "mem" || key == "mem-per-cpu") return parse_mebibytes(value).has_value();
  if (key == "gpus-per-node" || key == "gres") {
    // Without Slurm's own notation for flags and several kinds.
    return !value.empty() && value.find_first_of(", (/") == std::string::npos;
  }
  return false;
}

}  // namespace

std::optional<SbatchDirective> unknown_to_libslurm(const std::vector<SbatchDirective>& directives) {
  const auto found = std::find_if_not(directives.begin(), directives.end(), is_known);
  if (found == directives.end()) return std::nullopt;
  return *found;
}

std::optional<WarningSignal> parse_warning_signal(std::string_view text) {
  WarningSignal signal;
  if (text.starts_with("B:")) {
    signal.batch_only = true;
    text.remove_prefix(2);
  }
  const std::size_t at = text.find('@');
  std::string_view name = text.substr(0, at);
  if (at != std::string_view::npos) {
    const auto seconds = whole<std::uint16_t>(text.substr(at + 1));
    if (!seconds) return std::nullopt;
    signal.seconds = *seconds;
  }
  if (name.starts_with("SIG")) name.remove_prefix(3);
  const auto* known = std::find_if(signals.begin(), signals.end(),
                                   [&](const auto& entry) { return entry.first == name; });
  if (known != signals.end()) {
    signal.number = known->second;
    return signal;
  }
  const auto number = whole<std::uint16_t>(name);
  if (!number || *number == 0 || *number >= NSIG) return std::nullopt;
  signal.number = *number;
  return signal;
}

std::optional<MailTypes> parse_mail_types(std::string_view text) {
  MailTypes types;
  while (true) {
    const std::size_t comma = text.find(',');
    const std::string_view word = text.substr(0, comma);
    if (word == "BEGIN") {
      types.begin = true;
    } else if (word == "END") {
      types.end = true;
    } else if (word == "FAIL") {
      types.fail = true;
    } else {
      return std::nullopt;
    }
    if (comma == std::string_view::npos) return types;
    text.remove_prefix(comma + 1);
  }
}

std::optional<std::uint64_t> parse_mebibytes(std::string_view text) {
  if (text.empty()) return std::nullopt;
  constexpr std::string_view suffixes = "KMGT";
  const char last = text.back();
  const std::size_t suffix =
      suffixes.find(static_cast<char>(last >= 'a' && last <= 'z' ? last - 'a' + 'A' : last));
  if (suffix != std::string_view::npos) text.remove_suffix(1);
  const auto number = whole<std::uint32_t>(text);
  if (!number) return std::nullopt;
  const std::uint64_t value = *number;
  switch (suffix) {
    case 0: return (value + 1023) / 1024;
    case 2: return value * 1024;
    case 3: return value * 1024 * 1024;
    default: return value;
  }
}

std::optional<std::uint32_t> parse_count(std::string_view text) {
  const auto number = whole<std::uint32_t>(text);
  // Slurm's own marks for "none" and "infinite" lie at the end of the range.
  if (!number || *number == 0 || *number > std::numeric_limits<std::uint16_t>::max() - 4) {
    return std::nullopt;
  }
  return number;
}

}  // namespace slurmtune
