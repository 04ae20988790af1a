// SPDX-License-Identifier: MIT
#include "slurmtune/input/launch_hosts.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/core.h>

#include "slurmtune/input/node.hpp"
#include "slurmtune/input/readers.hpp"

namespace slurmtune {

namespace {

std::optional<int> whole_number(std::string_view text) {
  int value = 0;
  const char* end = text.data() + text.size();
  const auto [after, problem] = std::from_chars(text.data(), end, value);
  if (problem != std::errc{} || after != end || value < 0) return std::nullopt;
  return value;
}

/// What stands before `separator`; the rest stays in `text`.
std::string_view cut(std::string_view& text, char separator) {
  const std::string_view item = text.substr(0, text.find(separator));
  text.remove_prefix(std::min(text.size(), item.size() + 1));
  return item;
}

std::vector<int> slots_to(int count) {
  std::vector<int> slots(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) slots[static_cast<std::size_t>(i)] = i;
  return slots;
}

tl::unexpected<Error> bad_filter(std::string_view flag, std::string_view text,
                                 std::string_view what) {
  return invalid_input(
      fmt::format("launch line: {} {}: {}; write host:0,2@host2", flag, text, what));
}

/// `4` of `slots=4` and `:4`.
std::optional<int> slots_in(std::string_view words) {
  std::optional<int> slots;
  while (!words.empty()) {
    std::string_view word = words.substr(0, words.find_first_of(" \t"));
    words = trimmed(words.substr(word.size()));
    if (!word.starts_with("slots=")) continue;
    word.remove_prefix(6);
    slots = whole_number(word);
    if (!slots) return 0;
  }
  return slots;
}

/// One more mention of a host: its slots are added.
void add_host(std::vector<Host>& hosts, std::string_view name, std::optional<int> slots, int line) {
  const auto same = std::ranges::find(hosts, name, &Host::name);
  if (same == hosts.end()) {
    hosts.push_back({std::string(name), std::nullopt, line});
    if (slots) hosts.back().slots = slots_to(*slots);
    return;
  }
  const std::size_t before = same->slots ? same->slots->size() : 1;
  same->slots = slots_to(static_cast<int>(before) + slots.value_or(1));
}

constexpr std::string_view remedy = "write a line for each host: worker-1 slots=8";

struct HostLine {
  int line = 0;
  std::string_view words;
};

/// The lines of a hostfile that say something, without comments.
std::vector<HostLine> host_lines(const SourceText& source) {
  std::vector<HostLine> lines;
  std::string_view text = source.text;
  for (int line = 1; !text.empty(); ++line) {
    std::string_view words = cut(text, '\n');
    words = trimmed(words.substr(0, words.find('#')));
    if (!words.empty()) lines.push_back({line, words});
  }
  return lines;
}

}  // namespace

Expected<std::vector<Host>> read_hostfile(const SourceText& source) {
  std::vector<Host> hosts;
  for (const auto& [line, words] : host_lines(source)) {
    const std::size_t space = words.find_first_of(" \t");
    const std::string name(words.substr(0, space));
    const std::string_view rest =
        space == std::string_view::npos ? "" : trimmed(words.substr(space));
    const auto slots = rest.starts_with("slots=") ? whole_number(rest.substr(6)) : std::nullopt;
    if (!slots || *slots < 1) {
      return fail_at(source.path, line,
                     fmt::format("\"{}\" is not a host and its number of slots", words), remedy);
    }
    for (const Host& other : hosts) {
      if (other.name != name) continue;
      return fail_at(
          source.path, line,
          fmt::format("{} stands here a second time (first in line {})", name, other.line),
          "remove one of them");
    }
    hosts.push_back({name, slots_to(*slots), line});
  }
  if (hosts.empty()) return fail_at(source.path, 1, "it names no host", remedy);
  return hosts;
}

Expected<std::vector<Host>> read_host_filter(std::string_view flag, std::string_view text) {
  std::vector<Host> hosts;
  std::string_view left = text;
  while (!left.empty()) {
    std::string_view item = trimmed(cut(left, '@'));
    Host host{std::string(cut(item, ':')), std::nullopt, 0};
    if (host.name.empty()) return bad_filter(flag, text, "a host has no name");
    if (!item.empty()) host.slots.emplace();
    while (!item.empty()) {
      const std::string_view word = cut(item, ',');
      const auto slot = whole_number(word);
      if (!slot) return bad_filter(flag, text, fmt::format("'{}' is no slot", word));
      // DeepSpeed takes a slot that stands twice for one.
      if (std::ranges::find(*host.slots, *slot) == host.slots->end()) host.slots->push_back(*slot);
    }
    const auto same = std::ranges::find(hosts, host.name, &Host::name);
    if (same != hosts.end()) {
      return bad_filter(flag, text, fmt::format("{} stands there twice", host.name));
    }
    hosts.push_back(std::move(host));
  }
  return hosts;
}

Expected<std::vector<Host>> filtered_hosts(const std::vector<Host>& hosts, const HostFilter& filter,
                                           const std::string& hostfile) {
  const std::string_view flag = filter.flag;
  const std::string_view text = filter.text;
  const bool including = flag == "--include";
  std::vector<Host> left = including ? std::vector<Host>{} : hosts;
  for (const Host& wanted : filter.hosts) {
    const auto known = std::ranges::find(hosts, wanted.name, &Host::name);
    if (known == hosts.end()) {
      return bad_filter(flag, text, fmt::format("{} is not in {}", wanted.name, hostfile));
    }
    for (const int slot : wanted.slots.value_or(std::vector<int>{})) {
      if (std::ranges::find(*known->slots, slot) != known->slots->end()) continue;
      return bad_filter(flag, text,
                        fmt::format("{} has {} slots, counted from 0, so there is no slot {}",
                                    wanted.name, known->slots->size(), slot));
    }
    if (including) {
      left.push_back({wanted.name, wanted.slots ? wanted.slots : known->slots, known->line});
      continue;
    }
    const auto out = std::ranges::find(left, wanted.name, &Host::name);
    if (wanted.slots) {
      std::erase_if(*out->slots, [&](int slot) {
        return std::ranges::find(*wanted.slots, slot) != wanted.slots->end();
      });
    }
    if (!wanted.slots || out->slots->empty()) left.erase(out);
  }
  if (left.empty()) return bad_filter(flag, text, "no host is left");
  return left;
}

Expected<std::vector<Host>> read_mpi_hostfile(const SourceText& source) {
  std::vector<Host> hosts;
  for (const auto& [line, words] : host_lines(source)) {
    std::string_view name = words.substr(0, words.find_first_of(" \t"));
    std::optional<int> slots = slots_in(trimmed(words.substr(name.size())));
    if (const std::size_t colon = name.find(':'); colon != std::string_view::npos) {
      slots = whole_number(name.substr(colon + 1)).value_or(0);
      name = name.substr(0, colon);
    }
    if (slots == 0 || name.empty()) {
      return fail_at(source.path, line,
                     fmt::format("\"{}\" is not a host and its number of slots", words), remedy);
    }
    add_host(hosts, name, slots, line);
  }
  if (hosts.empty()) return fail_at(source.path, 1, "it names no host", remedy);
  return hosts;
}

Expected<std::vector<Host>> read_host_list(std::string_view text) {
  std::vector<Host> hosts;
  std::string_view left = text;
  while (!left.empty()) {
    std::string_view item = trimmed(cut(left, ','));
    const std::string_view name = cut(item, ':');
    const int slots = item.empty() ? 1 : whole_number(item).value_or(0);
    if (name.empty() || slots < 1) {
      return invalid_input(fmt::format(
          "launch line: --host {}: '{}' is not a host and its number of slots; write "
          "host1:4,host2:4",
          text, name.empty() ? text : fmt::format("{}{}{}", name, item.empty() ? "" : ":", item)));
    }
    add_host(hosts, name, slots, 0);
  }
  if (hosts.empty()) {
    return invalid_input("launch line: --host is given nothing; is a shell variable unset?");
  }
  return hosts;
}

}  // namespace slurmtune
