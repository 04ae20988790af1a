// SPDX-License-Identifier: MIT
#include "slurmtune/runner/start/spawner.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "slurmtune/execute/spawn.hpp"
#include "slurmtune/runner/start/keeper.hpp"

namespace slurmtune {

namespace {

/// Signals that mean the runner; it decides what becomes of the trials.
void leave_signals_to_the_runner() {
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGPIPE}) {
    ::signal(signal, SIG_IGN);
  }
}

/// Neither the runner's output nor anything else of its is held open by us.
void let_go_of_files(int socket) {
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(null, fd);
  const auto kept = static_cast<unsigned>(socket);
  if (kept > STDERR_FILENO + 1) ::close_range(STDERR_FILENO + 1, kept - 1, 0);
  ::close_range(kept + 1, ~0U, 0);
}

/// Forks keepers, and kills what one leaves behind that was killed itself.
class Nursery {
 public:
  explicit Nursery(WordSocket socket) : socket_(std::move(socket)) {}

  /// Until the runner and all keepers have gone, in the spawner; in a keeper until it is done.
  void serve();

 private:
  using Clock = std::chrono::steady_clock;

  /// True in the keeper that was forked, once it is done.
  bool obey();
  void reap();
  /// What a keeper left is our child now, since we are a sub-reaper.
  void kill_orphans();

  WordSocket socket_;
  Descriptor ended_;
  std::vector<pid_t> keepers_;
  std::optional<Clock::time_point> orphans_until_;
};

bool Nursery::obey() {
  while (auto message = socket_.next()) {
    const pid_t pid = ::fork();
    if (pid > 0) keepers_.push_back(pid);
    if (pid != 0) continue;
    ::prctl(PR_SET_NAME, "slurmtune-keep");
    WordSocket theirs(std::move(message->descriptor));
    socket_ = WordSocket();
    ended_.close();
    theirs.send(Words{"keeper", std::to_string(::getpid())});
    Keeper(std::move(theirs)).run();
    return true;
  }
  return false;
}

void Nursery::reap() {
  constexpr std::chrono::seconds patience{10};
  signalfd_siginfo info{};
  while (::read(ended_.get(), &info, sizeof info) > 0) continue;
  int status = 0;
  pid_t pid = 0;
  while ((pid = ::waitpid(-1, &status, WNOHANG)) > 0) {
    const bool was_keeper = std::erase(keepers_, pid) > 0;
    if (was_keeper && WIFSIGNALED(status)) orphans_until_ = Clock::now() + patience;
  }
}

void Nursery::kill_orphans() {
  const std::vector<pid_t> orphans = descendants(::getpid(), keepers_);
  for (const pid_t pid : orphans) ::kill(pid, SIGKILL);
  if (orphans.empty() || Clock::now() > *orphans_until_) orphans_until_.reset();
}

void Nursery::serve() {
  constexpr int kill_again_ms = 10;
  sigset_t children;
  sigemptyset(&children);
  sigaddset(&children, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &children, nullptr);
  ended_ = Descriptor(::signalfd(-1, &children, SFD_NONBLOCK | SFD_CLOEXEC));
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  bool runner_is_there = true;
  while (runner_is_there || !keepers_.empty() || orphans_until_) {
    std::array<pollfd, 2> watched{
        {{ended_.get(), POLLIN, 0}, {runner_is_there ? socket_.fd() : -1, POLLIN, 0}}};
    ::poll(watched.data(), watched.size(), orphans_until_ ? kill_again_ms : -1);
    reap();
    if (watched[1].revents != 0) {
      runner_is_there = socket_.read_ready();
      if (obey()) return;
    }
    if (orphans_until_) kill_orphans();
  }
}

[[noreturn]] void become_spawner(WordSocket socket) {
  ::setsid();
  ::prctl(PR_SET_NAME, "slurmtune-spawn");
  leave_signals_to_the_runner();
  let_go_of_files(socket.fd());
  Nursery(std::move(socket)).serve();
  ::_exit(0);
}

}  // namespace

Expected<Spawner> Spawner::start() {
  SLURMTUNE_TRY(WordSocket::Pair pair, WordSocket::make_pair());
  const pid_t pid = ::fork();
  if (pid == 0) become_spawner(std::move(pair.theirs));
  if (pid < 0) return unavailable(fmt::format("cannot fork: {}", std::strerror(errno)));
  Spawner spawner;
  spawner.socket_ = std::move(pair.ours);
  spawner.pid_ = pid;
  return spawner;
}

Spawner::Spawner(Spawner&& other) noexcept
    : socket_(std::move(other.socket_)), pid_(std::exchange(other.pid_, -1)) {}

Spawner::~Spawner() {
  if (pid_ <= 0) return;
  socket_ = WordSocket();
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) continue;
}

Expected<WordSocket> Spawner::fork_keeper() {
  SLURMTUNE_TRY(WordSocket::Pair pair, WordSocket::make_pair());
  if (!socket_.send(Words{"keep"}, pair.theirs.fd())) {
    return unavailable("the process that starts trials is gone; it was killed, or out of memory");
  }
  return std::move(pair.ours);
}

}  // namespace slurmtune
