// SPDX-License-Identifier: MIT
#include "slurmtune/execute/spawn.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string_view>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "slurmtune/execute/cpu_affinity.hpp"
#include "slurmtune/execute/process.hpp"

namespace slurmtune {
namespace {

std::string reason(int error) { return std::strerror(error); }

/// Where a child stopped before it became the program.
enum class Stage : int { workdir, program };

struct Failure {
  Stage stage;
  int error;
};

std::vector<char*> pointers(const std::vector<std::string>& strings) {
  std::vector<char*> all;
  all.reserve(strings.size() + 1);
  // execve() takes char* for C's sake; it does not write to them.
  for (const std::string& s : strings) all.push_back(const_cast<char*>(s.c_str()));
  all.push_back(nullptr);
  return all;
}

struct Prepared {
  const char* program;
  const char* workdir;  ///< nullptr = ours
  char** argv;
  char** environment;
  StandardFiles files;
  int report;  ///< where a Failure is written
  pid_t parent;
  SpawnTraits::Leads leads;
  int death_signal;
  const CpuSet* cpus;  ///< nullptr = ours
  SpawnTraits::OutOfMemory out_of_memory;
};

/// When memory runs out the kernel shall take the child, not us beside it.
void offer_to_the_kernel() {
  constexpr std::string_view first_to_go = "900";
  const int file = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (file < 0) return;  // not allowed here: it goes without
  [[maybe_unused]] const ssize_t n = ::write(file, first_to_go.data(), first_to_go.size());
  ::close(file);
}

/// Runs in the child between fork() and execve(): only what POSIX calls async-signal-safe.
[[noreturn]] void become(const Prepared& p) {
  const auto fail = [&](Stage stage) {
    const Failure failure{stage, errno};
    [[maybe_unused]] const ssize_t n = ::write(p.report, &failure, sizeof failure);
    ::_exit(127);
  };
  if (p.leads == SpawnTraits::Leads::session) {
    ::setsid();
  } else {
    ::setpgid(0, 0);
  }
  // Nothing is left behind if we are killed. The parent may be gone already.
  ::prctl(PR_SET_PDEATHSIG, p.death_signal);
  if (::getppid() != p.parent) ::_exit(127);

  struct sigaction standard = {};
  standard.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal) ::sigaction(signal, &standard, nullptr);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);

  if (p.out_of_memory == SpawnTraits::OutOfMemory::goes_first) offer_to_the_kernel();
  if (p.cpus != nullptr) p.cpus->apply();

  // The three may be each other's numbers: move them out of the way first.
  const int in = ::fcntl(p.files.in, F_DUPFD_CLOEXEC, 10);
  const int out = ::fcntl(p.files.out, F_DUPFD_CLOEXEC, 10);
  const int err = ::fcntl(p.files.err, F_DUPFD_CLOEXEC, 10);
  if (::dup2(in, 0) < 0 || ::dup2(out, 1) < 0 || ::dup2(err, 2) < 0) fail(Stage::program);
  // Descriptors that others opened without O_CLOEXEC; where the kernel is too old, ours are closed
  // by execve() all the same.
  ::close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
  if (p.workdir != nullptr && ::chdir(p.workdir) != 0) fail(Stage::workdir);
  ::execve(p.program, p.argv, p.environment);
  fail(Stage::program);
  ::_exit(127);
}

/// What is executed. A relative path would mean one thing before and another after chdir().
Expected<std::string> path_of(const std::string& name) {
  const auto program = find_program(name);
  if (program) return std::filesystem::absolute(*program).string();
  return unavailable(name + (name.find('/') == std::string::npos
                                 ? ": not found in PATH"
                                 : ": no such program, or not executable"));
}

std::optional<pid_t> parent_of(const std::filesystem::path& process) {
  std::ifstream file(process / "stat");
  std::string text;
  if (!std::getline(file, text)) return std::nullopt;
  // `pid (command) state parent …`; the command may hold anything, so look for its end from behind.
  const std::size_t end = text.rfind(')');
  if (end == std::string::npos || end + 4 > text.size()) return std::nullopt;
  pid_t parent = 0;
  const char* first = text.data() + end + 4;
  if (std::from_chars(first, text.data() + text.size(), parent).ec != std::errc()) {
    return std::nullopt;
  }
  return parent;
}

}  // namespace

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this != &other) {
    close();
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

void Descriptor::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

Expected<Pipe> make_pipe() {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) return unavailable("cannot make a pipe: " + reason(errno));
  return Pipe{.read_end = Descriptor(ends[0]), .write_end = Descriptor(ends[1])};
}

Expected<Descriptor> open_file(const std::string& path, int flags) {
  const int fd = ::open(path.c_str(), flags | O_CLOEXEC, 0600);
  if (fd < 0) return unavailable(path + ": cannot be opened: " + reason(errno));
  return Descriptor(fd);
}

ssize_t write_quietly(int fd, std::string_view bytes) {
  // MSG_NOSIGNAL is for sockets only. Block SIGPIPE in this thread and take back what we caused.
  sigset_t pipe_signal;
  sigset_t before;
  ::sigemptyset(&pipe_signal);
  ::sigaddset(&pipe_signal, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
  const ssize_t n = ::write(fd, bytes.data(), bytes.size());
  const int error = errno;
  if (n < 0 && error == EPIPE && ::sigismember(&before, SIGPIPE) == 0) {
    const timespec now = {};
    ::sigtimedwait(&pipe_signal, nullptr, &now);
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return n;
}

Expected<pid_t> spawn(const ProgramCall& call, const StandardFiles& files,
                      const SpawnTraits& traits) {
  SLURMTUNE_ASSERT(!call.argv.empty());
  const std::string& name = call.argv.front();
  std::string path = traits.program;
  if (path.empty()) {
    SLURMTUNE_TRY(path, path_of(name));
  }
  const CpuSet cpus(traits.cpus);
  SLURMTUNE_TRY(Pipe report, make_pipe());
  std::vector<char*> argv = pointers(call.argv);
  std::vector<char*> environment;
  if (call.environment) environment = pointers(*call.environment);
  const Prepared prepared{.program = path.c_str(),
                          .workdir = call.workdir.empty() ? nullptr : call.workdir.c_str(),
                          .argv = argv.data(),
                          .environment = call.environment ? environment.data() : environ,
                          .files = files,
                          .report = report.write_end.get(),
                          .parent = ::getpid(),
                          .leads = traits.leads,
                          .death_signal = traits.death_signal,
                          .cpus = traits.cpus.empty() ? nullptr : &cpus,
                          .out_of_memory = traits.out_of_memory};
  // A signal handler of ours must not run in the child.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t pid = ::fork();
  if (pid == 0) become(prepared);
  const int fork_error = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (pid < 0) return unavailable(name + ": cannot be started: " + reason(fork_error));

  // On both sides, so that the group exists whoever comes first.
  if (traits.leads == SpawnTraits::Leads::group) ::setpgid(pid, pid);
  report.write_end.close();
  Failure failure{};
  ssize_t n = 0;
  do {
    n = ::read(report.read_end.get(), &failure, sizeof failure);
  } while (n < 0 && errno == EINTR);
  if (n != static_cast<ssize_t>(sizeof failure)) return pid;  // closed by execve(): it runs

  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (failure.stage == Stage::workdir) {
    return unavailable(call.workdir + ": cannot be entered to run " + name + ": " +
                       reason(failure.error));
  }
  return unavailable(path + ": cannot be run: " + reason(failure.error));
}

std::vector<pid_t> descendants(pid_t root, std::span<const pid_t> spared) {
  std::multimap<pid_t, pid_t> children;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename().string();
    pid_t pid = 0;
    const auto [end, ec] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (ec != std::errc() || end != name.data() + name.size()) continue;
    if (const auto parent = parent_of(entry.path())) children.emplace(*parent, pid);
  }
  std::vector<pid_t> found;
  std::vector<pid_t> todo{root};
  while (!todo.empty()) {
    const pid_t parent = todo.back();
    todo.pop_back();
    const auto [first, last] = children.equal_range(parent);
    for (auto child = first; child != last; ++child) {
      if (std::find(spared.begin(), spared.end(), child->second) != spared.end()) continue;
      found.push_back(child->second);
      todo.push_back(child->second);
    }
  }
  return found;
}

}  // namespace slurmtune
