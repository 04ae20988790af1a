// SPDX-License-Identifier: MIT
#include "slurmtune/execute/sbatch_directives.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include <fmt/format.h>

namespace slurmtune {
namespace {

// The script or the command line sets these; a second setting would contradict the plan.
constexpr std::array<std::string_view, 17> our_keys{
    "array",    "begin", "chdir",    "deadline", "dependency", "error",
    "hold",     "input", "job-name", "nodes",    "open-mode",  "output",
    "parsable", "time",  "time-min", "wait",     "wrap"};

bool plain(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x20 && byte != 0x7f && c != '"' && c != '\'' && c != '\\' && c != '#';
}

Expected<void> check_characters(std::string_view what, std::string_view text) {
  if (std::all_of(text.begin(), text.end(), plain)) return {};
  return invalid_input(fmt::format(
      "{} holds a character that cannot stand in an #SBATCH line (quotes, backslash, # or a "
      "control character): {}",
      what, text));
}

Expected<void> check_key(std::string_view option, std::string_view key) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  };
  if (key.empty() || key.front() == '-' || !std::all_of(key.begin(), key.end(), allowed)) {
    return invalid_input(
        fmt::format("sbatch option {}: write --key=value or --key, with the long name", option));
  }
  return {};
}

SbatchDirective split(std::string_view option) {
  option.remove_prefix(2);
  const std::size_t equals = option.find('=');
  if (equals == std::string_view::npos) return {.key = std::string(option), .value = ""};
  return {.key = std::string(option.substr(0, equals)),
          .value = std::string(option.substr(equals + 1))};
}

/// The words of a directive line: quotes join, a `#` at the start of a word ends the line.
Expected<std::vector<std::string>> split_words(std::string_view line) {
  std::vector<std::string> words;
  std::size_t at = 0;
  while (true) {
    while (at < line.size() && (line[at] == ' ' || line[at] == '\t' || line[at] == '\r')) ++at;
    if (at == line.size() || line[at] == '#') return words;
    std::string word;
    char quote = 0;
    for (; at < line.size(); ++at) {
      const char c = line[at];
      if (quote != 0) {
        if (c == quote) {
          quote = 0;
        } else {
          word += c;
        }
      } else if (c == '"' || c == '\'') {
        quote = c;
      } else if (c == '\\' && at + 1 < line.size()) {
        word += line[++at];
      } else if (c == ' ' || c == '\t' || c == '\r') {
        break;
      } else {
        word += c;
      }
    }
    if (quote != 0) {
      return invalid_input(fmt::format("a quotation does not end: #SBATCH{}", line));
    }
    words.push_back(std::move(word));
  }
}

std::optional<std::vector<std::int64_t>> numbers(std::string_view text) {
  std::vector<std::int64_t> all;
  while (true) {
    const std::size_t colon = text.find(':');
    const std::string_view part = text.substr(0, colon);
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    if (error != std::errc() || end != part.data() + part.size() || value < 0) return std::nullopt;
    all.push_back(value);
    if (colon == std::string_view::npos) return all;
    text.remove_prefix(colon + 1);
  }
}

}  // namespace

Expected<SbatchDirective> parse_site_option(std::string_view option) {
  if (!option.starts_with("--")) {
    return invalid_input(
        fmt::format("sbatch option {}: write --key=value or --key, with the long name", option));
  }
  SbatchDirective directive = split(option);
  SLURMTUNE_CHECK(check_key(option, directive.key));
  SLURMTUNE_CHECK(check_characters("sbatch option --" + directive.key, directive.value));
  // sbatch takes the beginning of a name for all of it.
  if (std::ranges::any_of(our_keys,
                          [&](std::string_view key) { return key.starts_with(directive.key); })) {
    return invalid_input(fmt::format(
        "sbatch option --{} is set by slurmtune for each job; take it out of the options",
        directive.key));
  }
  return directive;
}

Expected<std::string> render_directive(const SbatchDirective& directive) {
  SLURMTUNE_CHECK(check_key("--" + directive.key, directive.key));
  SLURMTUNE_CHECK(check_characters("sbatch option --" + directive.key, directive.value));
  if (directive.value.empty()) return "#SBATCH --" + directive.key;
  const bool spaced = directive.value.find(' ') != std::string::npos;
  const std::string_view quote = spaced ? "\"" : "";
  return fmt::format("#SBATCH --{}={}{}{}", directive.key, quote, directive.value, quote);
}

Expected<std::string> render_directives(const std::vector<SbatchDirective>& directives) {
  std::string lines;
  for (const SbatchDirective& directive : directives) {
    SLURMTUNE_TRY(const std::string line, render_directive(directive));
    lines += lines.empty() ? line : "\n" + line;
  }
  return lines;
}

Expected<std::vector<SbatchDirective>> read_directives(std::string_view script) {
  constexpr std::string_view mark = "#SBATCH";
  std::vector<SbatchDirective> directives;
  while (!script.empty()) {
    const std::size_t newline = script.find('\n');
    const std::string_view line = script.substr(0, newline);
    script.remove_prefix(newline == std::string_view::npos ? script.size() : newline + 1);
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    if (line.front() != '#') break;  // the first command ends them
    if (!line.starts_with(mark)) continue;
    SLURMTUNE_TRY(const auto words, split_words(line.substr(mark.size())));
    for (const std::string& word : words) {
      if (!word.starts_with("--")) {
        return invalid_input(
            fmt::format("{}: write --key=value, with the long name, in #SBATCH lines", word));
      }
      directives.push_back(split(word));
    }
  }
  return directives;
}

std::optional<std::string> directive_value(const std::vector<SbatchDirective>& directives,
                                           std::string_view key) {
  std::optional<std::string> last;
  for (const SbatchDirective& directive : directives) {
    if (directive.key == key) last = directive.value;
  }
  return last;
}

std::string format_walltime(std::chrono::seconds walltime) {
  const auto s = walltime.count();
  return fmt::format("{:02}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
}

Expected<std::chrono::seconds> parse_walltime(std::string_view text) {
  const auto bad = [&] {
    return invalid_input(fmt::format("walltime {}: write HH:MM:SS or D-HH:MM:SS", text));
  };
  std::int64_t days = 0;
  std::string_view rest = text;
  const std::size_t dash = text.find('-');
  if (dash != std::string_view::npos) {
    const auto day_part = numbers(text.substr(0, dash));
    if (!day_part || day_part->size() != 1) return bad();
    days = day_part->front();
    rest.remove_prefix(dash + 1);
  }
  auto parts = numbers(rest);
  if (!parts || parts->size() > 3) return bad();
  if (dash != std::string_view::npos || parts->size() == 3) {
    parts->resize(3);  // D-H, D-H:M: from the front
  } else {
    parts->insert(parts->begin(), 0);  // M, M:S: hours are left out
    parts->resize(3);
  }
  return std::chrono::seconds(((days * 24 + (*parts)[0]) * 60 + (*parts)[1]) * 60 + (*parts)[2]);
}

std::string fill_output_pattern(std::string_view pattern, const OutputNames& names) {
  std::string path;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%' || i + 1 == pattern.size()) {
      path += pattern[i];
      continue;
    }
    switch (pattern[++i]) {
      case 'A':
      case 'j': path += names.job; break;
      case 'a': path += names.task; break;
      case 'x': path += names.name; break;
      case '%': path += '%'; break;
      default: path += {'%', pattern[i]}; break;
    }
  }
  return path;
}

}  // namespace slurmtune
