// SPDX-License-Identifier: MIT
#include "slurmtune/runner/start/keeper.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

namespace slurmtune {

namespace {

constexpr int exit_not_started = 127;
/// For a trial to hear of its end when its runner is gone, before it is killed.
constexpr double abandoned_s = 2.0;
constexpr double killing_max_s = 10.0;
constexpr int kill_again_ms = 10;

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

enum class Hurdle : char { directory = 'd', program = 'p' };

struct StartFailure {
  int problem = 0;
  Hurdle hurdle = Hurdle::program;
};

/// What the child needs between fork and exec.
struct ChildPlan {
  std::string program;
  std::vector<std::string> words;
  std::vector<std::string> entries;
  std::vector<char*> argv;
  std::vector<char*> envp;
  std::string workdir;
  std::vector<int> cpus;
  int death_signal = SIGKILL;
  int output = -1;
  int report = -1;  ///< a StartFailure is written here if the child cannot go on
  pid_t parent = -1;
};

[[noreturn]] void give_up(const ChildPlan& plan, Hurdle hurdle) {
  const StartFailure failure{errno, hurdle};
  const ssize_t told = ::write(plan.report, &failure, sizeof failure);
  ::_exit(told < 0 ? exit_not_started - 1 : exit_not_started);
}

/// When memory runs out the kernel shall take the trial, not the runner beside it.
void offer_to_the_kernel() {
  const Descriptor file(::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC));
  constexpr std::string_view first_to_go = "900";
  if (file.get() >= 0 && ::write(file.get(), first_to_go.data(), first_to_go.size()) < 0) {
    errno = 0;  // not allowed here: it goes without
  }
}

void bind_to(const std::vector<int>& cpus) {
  if (cpus.empty()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) CPU_SET(static_cast<std::size_t>(cpu), &set);
  ::sched_setaffinity(0, sizeof set, &set);
}

[[noreturn]] void become(const ChildPlan& plan) {
  ::setsid();
  ::prctl(PR_SET_PDEATHSIG, plan.death_signal);
  if (::getppid() != plan.parent) ::_exit(exit_not_started);  // it died before prctl
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  offer_to_the_kernel();
  bind_to(plan.cpus);
  const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::dup2(null, STDIN_FILENO);
  ::dup2(plan.output, STDOUT_FILENO);
  ::dup2(plan.output, STDERR_FILENO);
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
  const bool by_directory = failure.hurdle == Hurdle::directory;
  return unavailable(fmt::format("cannot start '{}': {}{}", plan.words.front(),
                                 by_directory ? plan.workdir + ": " : "",
                                 std::strerror(failure.problem)));
}

Expected<pid_t> start_process(const ProcessSpec& spec, int output) {
  if (spec.argv.empty()) return unavailable("cannot start a trial without a command");
  ChildPlan plan;
  const auto program = find_executable(spec.argv.front(), spec.environment, spec.workdir);
  if (!program) {
    return unavailable(
        fmt::format("cannot start '{}': no such program, or not executable", spec.argv.front()));
  }
  plan.program = *program;
  plan.words = spec.argv;
  plan.entries = environment_entries(spec.environment);
  plan.workdir = spec.workdir;
  plan.cpus = spec.cpus;
  plan.output = output;
  plan.parent = ::getpid();
  if (spec.remote == RemoteEnding::interrupt) plan.death_signal = SIGINT;
  point_at(plan.words, plan.argv);
  point_at(plan.entries, plan.envp);
  SLURMTUNE_TRY(Pipe report, make_pipe());
  plan.report = report.write_end.get();
  const pid_t pid = ::fork();
  if (pid == 0) become(plan);
  if (pid < 0) return unavailable(fmt::format("cannot fork: {}", std::strerror(errno)));
  report.write_end.close();
  SLURMTUNE_CHECK(wait_for_exec(report.read_end.get(), plan));
  return pid;
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
