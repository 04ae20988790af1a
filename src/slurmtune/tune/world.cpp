// SPDX-License-Identifier: MIT
#include "slurmtune/tune/world.hpp"

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <string_view>
#include <thread>

#include <fmt/core.h>
#include <unistd.h>

#include "slurmtune/execute/partition_nodes.hpp"
#include "slurmtune/study/files.hpp"

namespace slurmtune {

namespace {

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "unknown";
  return name.data();
}

std::optional<std::int64_t> integer_of(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<std::int64_t> integer_in_environment(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? std::nullopt : integer_of(text);
}

/// The process of `host:pid`, if that is this host.
std::optional<pid_t> process_here(const std::string& who) {
  const std::size_t colon = who.rfind(':');
  if (colon == std::string::npos || who.substr(0, colon) != host_name()) return std::nullopt;
  const auto pid = integer_of(std::string_view(who).substr(colon + 1));
  if (!pid || *pid <= 0) return std::nullopt;
  return static_cast<pid_t>(*pid);
}

bool is_dead(const std::string& who) {
  const auto pid = process_here(who);
  return pid && ::kill(*pid, 0) != 0 && errno == ESRCH;
}

/// The name is compared because numbers of processes are used again.
bool is_running(const std::string& who) {
  const auto pid = process_here(who);
  if (!pid || ::kill(*pid, 0) != 0) return false;
  const auto name = read_file(fmt::format("/proc/{}/comm", *pid));
  return name && name->starts_with("slurmtune");
}

}  // namespace

World real_world() {
  World world;
  world.now = [] {
    return std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
  };
  world.sleep = [](std::chrono::milliseconds span) { std::this_thread::sleep_for(span); };
  world.is_dead = is_dead;
  world.is_running = is_running;
  world.who = fmt::format("{}:{}", host_name(), ::getpid());
  // A scheduler of ours first: its jobs may run inside one of Slurm's. Of an array task the number
  // of its array: what is cancelled is whole arrays, never ourselves.
  world.in_array = integer_in_environment("SLURM_ARRAY_JOB_ID").has_value() ||
                   integer_in_environment("SLURMTUNE_TASK").has_value();
  for (const char* name : {"SLURMTUNE_JOB", "SLURM_ARRAY_JOB_ID", "SLURM_JOB_ID"}) {
    if (!world.own_job) world.own_job = integer_in_environment(name);
  }
  world.time_follows = std::getenv(time_follows_variable) != nullptr;
  world.nodes_there = nodes_of_partition;
  if (const auto pause = integer_in_environment("SLURMTUNE_TEST_ABSENCE_PAUSE_MS")) {
    world.absence_pause = std::chrono::milliseconds(*pause);
  }
  const auto fatal = integer_in_environment("SLURMTUNE_TEST_DIE_AFTER_EVENT");
  const auto halting = integer_in_environment("SLURMTUNE_TEST_STOP_AFTER_EVENT");
  if (fatal || halting) {
    world.after_event = [fatal, halting](std::int64_t number) {
      if (number == fatal) ::raise(SIGKILL);
      if (number == halting) ::raise(SIGSTOP);
    };
  }
  return world;
}

}  // namespace slurmtune
