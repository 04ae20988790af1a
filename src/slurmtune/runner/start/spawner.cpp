// SPDX-License-Identifier: MIT
#include "slurmtune/runner/start/spawner.hpp"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

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

void serve(WordSocket socket) {
  for (;;) {
    pollfd watched{socket.fd(), POLLIN, 0};
    ::poll(&watched, 1, -1);
    const bool is_open = socket.read_ready();
    while (auto message = socket.next()) {
      const pid_t pid = ::fork();
      if (pid == 0) {
        ::prctl(PR_SET_NAME, "slurmtune-keep");
        WordSocket theirs(std::move(message->descriptor));
        socket = WordSocket();
        theirs.send(Words{"keeper", std::to_string(::getpid())});
        Keeper(std::move(theirs)).run();
        return;
      }
    }
    if (!is_open) return;
  }
}

[[noreturn]] void become_spawner(WordSocket socket) {
  ::setsid();
  ::prctl(PR_SET_NAME, "slurmtune-spawn");
  leave_signals_to_the_runner();
  ::signal(SIGCHLD, SIG_IGN);  // keepers are not waited for
  let_go_of_files(socket.fd());
  serve(std::move(socket));
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
