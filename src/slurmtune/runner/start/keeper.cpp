// SPDX-License-Identifier: MIT
#include "slurmtune/runner/start/keeper.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "slurmtune/execute/process.hpp"

namespace slurmtune {

namespace {

/// For a trial to hear of its end when its runner is gone, before it is killed.
constexpr double abandoned_s = 2.0;
constexpr double killing_max_s = 10.0;
constexpr int kill_again_ms = 10;

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Expected<pid_t> start_process(const ProcessSpec& spec, int output) {
  if (spec.argv.empty()) return unavailable("cannot start a trial without a command");
  const auto program = find_executable(spec.argv.front(), spec.environment, spec.workdir);
  if (!program) {
    return unavailable(
        fmt::format("cannot start '{}': no such program, or not executable", spec.argv.front()));
  }
  SpawnTraits traits;
  traits.program = *program;
  traits.leads = SpawnTraits::Leads::session;
  traits.death_signal = spec.remote == RemoteEnding::interrupt ? SIGINT : SIGKILL;
  traits.cpus = spec.cpus;
  traits.out_of_memory = SpawnTraits::OutOfMemory::goes_first;
  SLURMTUNE_TRY(const Descriptor null, open_file("/dev/null", O_RDONLY));
  const ProgramCall call{spec.argv, environment_entries(spec.environment), spec.workdir};
  const auto pid = spawn(call, {null.get(), output, output}, traits);
  if (pid) return *pid;
  return unavailable(fmt::format("cannot start '{}': {}", spec.argv.front(), pid.error().message));
}

}  // namespace

void Keeper::start(int index, const ProcessSpec& spec, int output) {
  const auto pid = start_process(spec, output);
  if (!pid) {
    socket_.send(Words{"failed", std::to_string(index), pid.error().message});
    return;
  }
  leaders_.push_back({index, *pid, spec.remote});
  socket_.send(Words{"started", std::to_string(index)});
}

void Keeper::obey(const WordSocket::Message& message) {
  WordReader words(message.words);
  const std::string what = words.text();
  if (what == "start") {
    const int index = static_cast<int>(words.integer());
    start(index, read_process_spec(words), message.descriptor.get());
  } else if (what == "signal") {
    signal_all(static_cast<int>(words.integer()));
  } else if (what == "signal-leaders") {
    signal_leaders(static_cast<int>(words.integer()));
  } else if (what == "kill" && phase_ != Phase::killing) {
    phase_ = Phase::killing;
    since_s_ = now_s();
    // Mostly nobody is left, and a look at all processes of a node would take long.
    if (!reap()) kill_descendants();
  }
}

bool Keeper::reap() {
  constexpr double bytes_per_kib = 1024.0;
  int status = 0;
  rusage usage{};
  pid_t pid = 0;
  while ((pid = ::wait4(-1, &status, WNOHANG, &usage)) > 0) {
    const auto leader = std::find_if(leaders_.begin(), leaders_.end(),
                                     [pid](const Leader& one) { return one.pid == pid; });
    if (leader == leaders_.end()) continue;
    ProcessEnd end;
    if (WIFSIGNALED(status)) {
      end.signal = WTERMSIG(status);
    } else {
      end.exit_code = WEXITSTATUS(status);
    }
    end.peak_bytes = static_cast<double>(usage.ru_maxrss) * bytes_per_kib;
    NodeEvent event;
    event.kind = NodeEvent::Kind::ended;
    event.index = leader->index;
    event.end = end;
    Words words{"ended"};
    for (std::string& word : to_words(event)) words.push_back(std::move(word));
    leaders_.erase(leader);
    socket_.send(words);
  }
  return pid < 0 && errno == ECHILD;
}

void Keeper::signal_all(int signal) const {
  // Found first: what the groups' ends leave behind would hide under another parent.
  const std::vector<pid_t> family = descendants(::getpid());
  for (const Leader& leader : leaders_) ::kill(-leader.pid, signal);
  for (const pid_t pid : family) {
    const pid_t group = ::getpgid(pid);
    // A leader's group got it already; twice would look like a user who insists.
    const bool is_led = std::any_of(leaders_.begin(), leaders_.end(),
                                    [group](const Leader& one) { return one.pid == group; });
    if (!is_led) ::kill(pid, signal);
  }
}

void Keeper::signal_leaders(int signal) const {
  for (const Leader& leader : leaders_) ::kill(leader.pid, signal);
}

void Keeper::kill_descendants() const {
  for (const pid_t pid : descendants(::getpid())) ::kill(pid, SIGKILL);
}

void Keeper::runner_is_gone() {
  runner_is_there_ = false;
  if (phase_ == Phase::killing) return;
  phase_ = Phase::abandoned;
  since_s_ = now_s();
  signal_all(SIGTERM);
  for (const Leader& leader : leaders_) {
    if (leader.remote == RemoteEnding::interrupt) ::kill(leader.pid, SIGINT);
  }
}

bool Keeper::go_on() {
  const bool is_alone = reap();
  if (phase_ == Phase::serving) return false;
  if (is_alone) {
    socket_.send(Words{"gone"});
    return true;
  }
  const double lasted = now_s() - since_s_;
  if (phase_ == Phase::abandoned && lasted > abandoned_s) {
    phase_ = Phase::killing;
    since_s_ = now_s();
  }
  if (phase_ != Phase::killing) return false;
  kill_descendants();
  if (now_s() - since_s_ < killing_max_s) return false;
  socket_.send(Words{"stuck"});
  return true;
}

void Keeper::run() {
  sigset_t children;
  sigemptyset(&children);
  sigaddset(&children, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &children, nullptr);
  ::signal(SIGCHLD, SIG_DFL);
  const Descriptor ended(::signalfd(-1, &children, SFD_NONBLOCK | SFD_CLOEXEC));
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  for (;;) {
    std::array<pollfd, 2> watched{
        {{ended.get(), POLLIN, 0}, {runner_is_there_ ? socket_.fd() : -1, POLLIN, 0}}};
    ::poll(watched.data(), watched.size(), phase_ == Phase::serving ? -1 : kill_again_ms);
    signalfd_siginfo info{};
    while (::read(ended.get(), &info, sizeof info) > 0) continue;
    if (watched[1].revents != 0) {
      const bool is_open = socket_.read_ready();
      while (const auto message = socket_.next()) obey(*message);
      if (!is_open) runner_is_gone();
    }
    if (go_on()) return;
  }
}

}  // namespace slurmtune
