// SPDX-License-Identifier: MIT
#include "slurmtune/tune/draft.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <system_error>

#include <fmt/core.h>

namespace slurmtune {

namespace {

namespace fs = std::filesystem;

/// A study is made in seconds; of one with a large snapshot it may be minutes.
constexpr std::chrono::hours draft_age_max{1};

std::string draft_prefix(const fs::path& place) {
  return fmt::format(".{}.draft.", place.filename().string());
}

/// What `create_study` writes, and the temporary files of it.
bool is_of_a_draft(const std::string& name) {
  constexpr std::array<std::string_view, 7> names{"study.toml", "site.toml", "plan.json", "inputs",
                                                  "bin",        "journal",   "stages"};
  return name.starts_with('.') || std::find(names.begin(), names.end(), name) != names.end();
}

bool holds_a_draft_only(const fs::path& path) {
  std::error_code code;
  if (!fs::is_directory(fs::symlink_status(path, code))) return false;
  for (fs::directory_iterator entry(path, code), end; entry != end && !code;
       entry.increment(code)) {
    if (!is_of_a_draft(entry->path().filename().string())) return false;
  }
  return !code;
}

/// `host.pid` as `host:pid`; "" if it is no such name.
std::string maker_of(const std::string& rest) {
  const std::size_t dot = rest.rfind('.');
  if (dot == std::string::npos || dot == 0 || dot + 1 == rest.size()) return "";
  const bool is_pid = rest.find_first_not_of("0123456789", dot + 1) == std::string::npos;
  return is_pid ? rest.substr(0, dot) + ':' + rest.substr(dot + 1) : "";
}

std::string_view host_of(std::string_view who) { return who.substr(0, who.rfind(':')); }

bool is_old(const fs::path& path) {
  std::error_code code;
  const auto written = fs::last_write_time(path, code);
  return !code && fs::file_time_type::clock::now() - written > draft_age_max;
}

}  // namespace

Draft::Draft(const fs::path& place, const std::string& who) {
  std::string maker = who;
  std::replace(maker.begin(), maker.end(), ':', '.');
  path_ = place.parent_path() / (draft_prefix(place) + maker);
}

Draft::~Draft() {
  std::error_code code;
  if (!moved_) fs::remove_all(path_, code);
}

Expected<void> Draft::move_to(const fs::path& place) {
  std::error_code code;
  fs::rename(path_, place, code);
  if (code) {
    return unavailable(fmt::format("{}: cannot create: {}", place.string(), code.message()));
  }
  moved_ = true;
  return {};
}

std::vector<fs::path> abandoned_drafts(const fs::path& place, const World& world) {
  std::vector<fs::path> found;
  const std::string prefix = draft_prefix(place);
  std::error_code code;
  for (fs::directory_iterator entry(place.parent_path(), code), end; entry != end && !code;
       entry.increment(code)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(prefix)) continue;
    const std::string maker = maker_of(name.substr(prefix.size()));
    if (maker.empty()) continue;
    const bool is_here = host_of(maker) == host_of(world.who);
    const bool is_gone = is_here ? world.is_dead && world.is_dead(maker) : is_old(entry->path());
    if (is_gone && holds_a_draft_only(entry->path())) found.push_back(entry->path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace slurmtune
