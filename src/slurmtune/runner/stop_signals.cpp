// SPDX-License-Identifier: MIT
#include "slurmtune/runner/stop_signals.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

namespace slurmtune {

namespace {

constexpr std::array caught{SIGTERM, SIGUSR1, SIGINT, SIGCHLD};

// A handler can reach nothing but globals.
std::atomic<int> first_stop{0};
std::atomic<int> wake_pipe{-1};
static_assert(std::atomic<int>::is_always_lock_free);

extern "C" void on_signal(int signal) {
  const int saved = errno;
  if (signal != SIGCHLD) {
    int none = 0;
    first_stop.compare_exchange_strong(none, signal);
  }
  const char byte = 's';
  const int pipe = wake_pipe.load();
  // The pipe may be full: then it wakes already.
  if (pipe >= 0 && ::write(pipe, &byte, 1) < 0) errno = 0;
  errno = saved;
}

}  // namespace

Expected<StopSignals> StopSignals::catch_all() {
  StopSignals signals;
  SLURMTUNE_TRY(Pipe pipe, make_pipe());
  for (const int fd : {pipe.read_end.get(), pipe.write_end.get()}) {
    if (::fcntl(fd, F_SETFL, O_NONBLOCK) != 0) {
      return unavailable(fmt::format("cannot set up signals: {}", std::strerror(errno)));
    }
  }
  signals.read_end_ = std::move(pipe.read_end);
  signals.write_end_ = std::move(pipe.write_end);
  first_stop = 0;
  wake_pipe = signals.write_end_.get();
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (const int signal : caught) ::sigaction(signal, &action, nullptr);
  signals.active_ = true;
  return signals;
}

StopSignals::StopSignals(StopSignals&& other) noexcept
    : active_(std::exchange(other.active_, false)),
      read_end_(std::move(other.read_end_)),
      write_end_(std::move(other.write_end_)) {}

StopSignals::~StopSignals() {
  if (!active_) return;
  for (const int signal : caught) ::signal(signal, SIG_DFL);
  wake_pipe = -1;
}

std::optional<EndReason> StopSignals::requested() const {
  const int signal = first_stop.load();
  if (signal == 0) return std::nullopt;
  return signal == SIGINT ? EndReason::cancelled : EndReason::preempted;
}

void StopSignals::drain() {
  std::array<char, 64> bytes;
  while (::read(read_end_.get(), bytes.data(), bytes.size()) > 0) continue;
}

}  // namespace slurmtune
