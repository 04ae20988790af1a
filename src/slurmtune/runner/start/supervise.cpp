// SPDX-License-Identifier: MIT
#include "slurmtune/runner/start/supervise.hpp"

#include <cerrno>
#include <csignal>
#include <utility>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "slurmtune/execute/spawn.hpp"

namespace slurmtune {

namespace {

constexpr int exit_not_found = 127;

/// Whether any child is left; takes in those that have ended.
bool has_children() {
  pid_t pid = 0;
  while ((pid = ::waitpid(-1, nullptr, WNOHANG)) > 0) continue;
  return pid == 0;
}

void kill_all() {
  constexpr int rounds_max = 500;  // five seconds: what does not go then waits for a file system
  constexpr useconds_t pause_us = 10'000;
  for (int round = 0; round < rounds_max && has_children(); ++round) {
    for (const pid_t pid : descendants(::getpid())) ::kill(pid, SIGKILL);
    ::usleep(pause_us);
  }
}

[[noreturn]] void end_as(int status) {
  if (!WIFSIGNALED(status)) ::_exit(WEXITSTATUS(status));
  const rlimit no_core{0, 0};  // the program has left its own, if it was to
  ::setrlimit(RLIMIT_CORE, &no_core);
  const int signal = WTERMSIG(status);
  ::signal(signal, SIG_DFL);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, signal);
  ::sigprocmask(SIG_UNBLOCK, &only, nullptr);
  ::raise(signal);
  constexpr int exit_of_signal = 128;
  ::_exit(exit_of_signal + signal);
}

/// Waits for the program; the launcher's death ends it all.
int wait_for(pid_t child, const sigset_t& watched) {
  for (;;) {
    int signal = 0;
    ::sigwait(&watched, &signal);
    if (signal == SIGRTMIN) {
      kill_all();
      ::_exit(exit_not_found);
    }
    if (signal != SIGCHLD) continue;  // the rank got it, too
    int status = 0;
    pid_t pid = 0;
    while ((pid = ::waitpid(-1, &status, WNOHANG)) > 0) {
      if (pid == child) return status;
    }
  }
}

}  // namespace

int run_supervised(const char* program, char* const* argv, char* const* envp) {
  const pid_t launcher = ::getppid();
  sigset_t before;
  sigset_t watched;
  sigemptyset(&watched);
  for (const int signal :
       {SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCONT, SIGTSTP, SIGRTMIN}) {
    sigaddset(&watched, signal);
  }
  ::sigprocmask(SIG_BLOCK, &watched, &before);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  ::prctl(PR_SET_PDEATHSIG, SIGRTMIN);
  if (::getppid() != launcher) ::_exit(exit_not_found);
  auto report = make_pipe();
  if (!report) return errno;
  const pid_t self = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) return errno;
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != self) ::_exit(exit_not_found);
    ::sigprocmask(SIG_SETMASK, &before, nullptr);
    ::execvpe(program, argv, envp);
    const int problem = errno;
    const ssize_t told = ::write(report->write_end.get(), &problem, sizeof problem);
    ::_exit(told < 0 ? exit_not_found - 1 : exit_not_found);
  }
  report->write_end.close();
  int problem = 0;
  ssize_t count = 0;
  do {
    count = ::read(report->read_end.get(), &problem, sizeof problem);
  } while (count < 0 && errno == EINTR);
  if (count > 0) return problem;
  // What the program wrote has to be over when it has closed its ends.
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(null, fd);
  const int status = wait_for(child, watched);
  kill_all();
  end_as(status);
}

}  // namespace slurmtune
