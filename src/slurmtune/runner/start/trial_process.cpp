// SPDX-License-Identifier: MIT
#include "slurmtune/runner/start/trial_process.hpp"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace slurmtune {

namespace {

constexpr int exit_not_started = 127;

/// Everything the child needs, made before fork(): after it only async-signal-safe calls are
/// allowed, because MPI may have threads.
struct ChildPlan {
  std::string program;
  std::vector<std::string> words;
  std::vector<std::string> entries;
  std::vector<char*> argv;
  std::vector<char*> envp;
  std::string workdir;
  int death_signal = SIGKILL;
  int null = -1;
  int out = -1;
  int err = -1;
  int report = -1;  ///< errno and a letter are written here if the child cannot go on
  pid_t parent = -1;
};

enum class Hurdle : char { directory = 'd', program = 'p' };

struct StartFailure {
  int problem = 0;
  Hurdle hurdle = Hurdle::program;
};

[[noreturn]] void give_up(const ChildPlan& plan, Hurdle hurdle) {
  const StartFailure failure{errno, hurdle};
  const ssize_t told = ::write(plan.report, &failure, sizeof failure);
  ::_exit(told < 0 ? exit_not_started - 1 : exit_not_started);
}

[[noreturn]] void become(const ChildPlan& plan) {
  ::setsid();
  ::prctl(PR_SET_PDEATHSIG, plan.death_signal);
  if (::getppid() != plan.parent) ::_exit(exit_not_started);  // it died before prctl
  sigset_t none;
  sigemptyset(&none);
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::dup2(plan.null, STDIN_FILENO);
  ::dup2(plan.out, STDOUT_FILENO);
  ::dup2(plan.err, STDERR_FILENO);
  // MPI's sockets are not all close-on-exec.
  ::close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
  if (::chdir(plan.workdir.c_str()) != 0) give_up(plan, Hurdle::directory);
  ::execve(plan.program.c_str(), plan.argv.data(), plan.envp.data());
  give_up(plan, Hurdle::program);
}

void point_at(std::vector<std::string>& texts, std::vector<char*>& pointers) {
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
}

/// Waits for the child to become the program, or to say why it cannot.
Expected<void> wait_for_exec(int fd, const ChildPlan& plan) {
  StartFailure failure;
  ssize_t count = 0;
  do {
    count = ::read(fd, &failure, sizeof failure);
  } while (count < 0 && errno == EINTR);
  if (count == 0) return {};
  const std::string& what = failure.hurdle == Hurdle::directory ? plan.workdir : plan.words.front();
  return unavailable(fmt::format("cannot start '{}': {}{}", plan.words.front(),
                                 failure.hurdle == Hurdle::directory ? what + ": " : "",
                                 std::strerror(failure.problem)));
}

ProcessEnd end_of(int status, const rusage& usage) {
  constexpr double bytes_per_kib = 1024.0;
  ProcessEnd end;
  if (WIFSIGNALED(status)) {
    end.signal = WTERMSIG(status);
  } else {
    end.exit_code = WEXITSTATUS(status);
  }
  end.peak_bytes = static_cast<double>(usage.ru_maxrss) * bytes_per_kib;
  return end;
}

}  // namespace

Expected<void> adopt_orphans() {
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1) == 0) return {};
  return unavailable(fmt::format("cannot adopt orphaned processes: {}", std::strerror(errno)));
}

Expected<TrialProcess> TrialProcess::start(const ProcessSpec& spec) {
  ChildPlan plan;
  plan.words = spec.launch.argv;
  plan.entries = environment_entries(spec.environment);
  plan.workdir = spec.workdir;
  plan.parent = ::getpid();
  if (spec.launch.remote == RemoteEnding::interrupt) plan.death_signal = SIGINT;
  if (plan.words.empty()) return unavailable("cannot start a trial without a command");
  const auto program = find_executable(plan.words.front(), spec.environment, spec.workdir);
  if (!program) {
    return unavailable(fmt::format("cannot start '{}': no such program", plan.words.front()));
  }
  plan.program = *program;
  point_at(plan.words, plan.argv);
  point_at(plan.entries, plan.envp);

  SLURMTUNE_TRY(const Descriptor null, open_file("/dev/null", O_RDONLY));
  SLURMTUNE_TRY(Pipe out, make_pipe());
  SLURMTUNE_TRY(Pipe err, make_pipe());
  SLURMTUNE_TRY(Pipe report, make_pipe());
  plan.null = null.get();
  plan.out = out.write_end.get();
  plan.err = err.write_end.get();
  plan.report = report.write_end.get();
  const pid_t pid = ::fork();
  if (pid == 0) become(plan);
  if (pid < 0) return unavailable(fmt::format("cannot fork: {}", std::strerror(errno)));

  report.write_end.close();
  TrialProcess process;
  process.pid_ = pid;
  process.remote_ = spec.launch.remote;
  SLURMTUNE_CHECK(wait_for_exec(report.read_end.get(), plan));
  ::fcntl(out.read_end.get(), F_SETFL, O_NONBLOCK);
  ::fcntl(err.read_end.get(), F_SETFL, O_NONBLOCK);
  process.out_ = std::move(out.read_end);
  process.err_ = std::move(err.read_end);
  return process;
}

TrialProcess::TrialProcess(TrialProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      remote_(other.remote_),
      out_(std::move(other.out_)),
      err_(std::move(other.err_)),
      end_(other.end_) {}

TrialProcess::~TrialProcess() {
  if (pid_ > 0) kill_rest();
}

void TrialProcess::reap(pid_t which) {
  int status = 0;
  rusage usage{};
  for (pid_t pid = 0; (pid = ::wait4(which, &status, WNOHANG, &usage)) > 0;) {
    if (pid == pid_) end_ = end_of(status, usage);
  }
}

std::optional<ProcessEnd> TrialProcess::poll() {
  if (!end_) reap(-1);
  return end_;
}

void TrialProcess::signal_all(int signal) const {
  // Found first: what the group's end leaves behind would hide under another parent.
  const std::vector<pid_t> family = descendants(::getpid());
  if (!end_) ::kill(-pid_, signal);
  for (const pid_t pid : family) {
    // The group got it already; twice would look like a user who insists.
    if (!end_ && ::getpgid(pid) == pid_) continue;
    ::kill(pid, signal);
  }
}

void TrialProcess::signal_leader(int signal) const {
  if (!end_) ::kill(pid_, signal);
}

bool TrialProcess::kill_rest() {
  using namespace std::chrono_literals;
  constexpr int rounds_max = 1000;  // of 10 ms
  for (int round = 0; round < rounds_max; ++round) {
    reap(-1);
    const std::vector<pid_t> family = descendants(::getpid());
    if (family.empty() && end_) return true;
    for (const pid_t pid : family) ::kill(pid, SIGKILL);
    std::this_thread::sleep_for(round == 0 ? 1ms : 10ms);
  }
  return false;
}

}  // namespace slurmtune
