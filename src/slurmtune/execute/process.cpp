// SPDX-License-Identifier: MIT
#include "slurmtune/execute/process.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <thread>

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "slurmtune/execute/spawn.hpp"

namespace slurmtune {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

ExitStatus status_of(int wait_status) {
  if (WIFSIGNALED(wait_status)) {
    return ExitStatus{.code = 128 + WTERMSIG(wait_status), .signal = WTERMSIG(wait_status)};
  }
  return ExitStatus{.code = WEXITSTATUS(wait_status), .signal = 0};
}

/// Moves bytes between a child's pipes and strings until all pipes are closed or time is over.
class Exchange {
 public:
  Exchange(Pipe& in, Pipe& out, Pipe& err, std::string_view input)
      : in_(in), out_(out), err_(err), input_(input) {
    for (const int fd : {in_.write_end.get(), out_.read_end.get(), err_.read_end.get()}) {
      ::fcntl(fd, F_SETFL, O_NONBLOCK);
    }
    if (input_.empty()) in_.write_end.close();
  }

  [[nodiscard]] bool open() const {
    return in_.write_end.get() >= 0 || out_.read_end.get() >= 0 || err_.read_end.get() >= 0;
  }

  /// One round of poll(), at most `wait` long.
  void step(milliseconds wait, ProcessResult& result) {
    std::array<pollfd, 3> fds{{{in_.write_end.get(), POLLOUT, 0},
                               {out_.read_end.get(), POLLIN, 0},
                               {err_.read_end.get(), POLLIN, 0}}};
    if (::poll(fds.data(), fds.size(), static_cast<int>(wait.count())) <= 0) return;
    if (fds[0].revents != 0) feed();
    if (fds[1].revents != 0) drain(out_.read_end, result.out);
    if (fds[2].revents != 0) drain(err_.read_end, result.err);
  }

 private:
  void feed() {
    const ssize_t n = write_quietly(in_.write_end.get(), input_);
    if (n > 0) input_.remove_prefix(static_cast<std::size_t>(n));
    if (input_.empty() || (n < 0 && errno != EAGAIN && errno != EINTR)) in_.write_end.close();
  }

  static void drain(Descriptor& from, std::string& to) {
    std::array<char, 16'384> buffer;
    ssize_t n = 0;
    while ((n = ::read(from.get(), buffer.data(), buffer.size())) > 0) {
      to.append(buffer.data(), static_cast<std::size_t>(n));
    }
    if (n == 0 || (errno != EAGAIN && errno != EINTR)) from.close();
  }

  Pipe& in_;
  Pipe& out_;
  Pipe& err_;
  std::string_view input_;
};

}  // namespace

std::string ExitStatus::text() const {
  return signal != 0 ? "signal " + std::to_string(signal) : "exit code " + std::to_string(code);
}

Expected<ChildProcess> ChildProcess::start(const ProgramCall& call, const OutputFiles& output) {
  SLURMTUNE_TRY(const Descriptor in, open_file("/dev/null", O_RDONLY));
  constexpr int append = O_WRONLY | O_CREAT | O_APPEND;
  SLURMTUNE_TRY(const Descriptor out,
                open_file(output.out.empty() ? "/dev/null" : output.out, append));
  Descriptor err;
  if (!output.err.empty()) {
    SLURMTUNE_TRY(err, open_file(output.err, append));
  }
  SLURMTUNE_TRY(const pid_t pid, spawn(call, {.in = in.get(),
                                              .out = out.get(),
                                              .err = output.err.empty() ? out.get() : err.get()}));
  return ChildProcess(pid);
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), ended_(other.ended_) {}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  if (this != &other) {
    end_now();
    pid_ = std::exchange(other.pid_, -1);
    ended_ = other.ended_;
  }
  return *this;
}

ChildProcess::~ChildProcess() { end_now(); }

std::optional<ExitStatus> ChildProcess::poll() {
  if (!ended_ && pid_ > 0) {
    siginfo_t info = {};
    if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
        info.si_pid == pid_) {
      // As a batch system does: what a job leaves in the background ends with it. While the child
      // is not reaped, the number of its group is surely its own.
      ::kill(-pid_, SIGKILL);
      int status = 0;
      if (::waitpid(pid_, &status, 0) == pid_) ended_ = status_of(status);
    }
  }
  return ended_;
}

void ChildProcess::signal_all(int signal) {
  // Once it has been reaped its number may belong to somebody else.
  if (pid_ <= 0 || ended_) return;
  // mpirun gives each rank a group of its own: the group alone does not reach everything.
  const std::vector<pid_t> others = descendants(pid_);
  ::kill(-pid_, signal);
  for (const pid_t other : others) ::kill(other, signal);
}

void ChildProcess::end_now() {
  if (pid_ <= 0 || poll()) return;
  signal_all(SIGKILL);
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  ended_ = status_of(status);
}

Expected<ProcessResult> run_process(const ProcessRequest& request) {
  SLURMTUNE_TRY(Pipe in, make_pipe());
  SLURMTUNE_TRY(Pipe out, make_pipe());
  SLURMTUNE_TRY(Pipe err, make_pipe());
  SLURMTUNE_TRY(const pid_t pid, spawn(request.call, {.in = in.read_end.get(),
                                                      .out = out.write_end.get(),
                                                      .err = err.write_end.get()}));
  in.read_end.close();
  out.write_end.close();
  err.write_end.close();

  ProcessResult result;
  Exchange exchange(in, out, err, request.input);
  auto deadline = Clock::now() + request.timeout;
  const auto end_group = [&](Clock::time_point now) {
    if (now < deadline) return;
    ::kill(-pid, result.ending == Ending::exited ? SIGTERM : SIGKILL);
    result.ending = Ending::timed_out;
    deadline = now + request.grace;
  };
  int status = 0;
  pid_t reaped = 0;
  // A descendant may hold the pipes open after the program itself has ended: what counts is the
  // program, and what its pipes hold at that time.
  while (reaped == 0) {
    const auto now = Clock::now();
    end_group(now);
    if (exchange.open()) {
      exchange.step(std::min(milliseconds(50), request.timeout), result);
    } else {
      std::this_thread::sleep_for(milliseconds(1));
    }
    reaped = ::waitpid(pid, &status, WNOHANG);
    if (reaped < 0 && errno == EINTR) reaped = 0;
  }
  if (exchange.open()) exchange.step(milliseconds(0), result);
  if (result.ending == Ending::timed_out) ::kill(-pid, SIGKILL);
  result.status = reaped == pid ? status_of(status) : ExitStatus{.code = 255, .signal = 0};
  return result;
}

std::vector<std::string> current_environment() {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) all.emplace_back(*entry);
  return all;
}

void set_variable(std::vector<std::string>& environment, std::string_view name,
                  std::string_view value) {
  const std::string head = std::string(name) + "=";
  std::erase_if(environment, [&](const std::string& entry) { return entry.starts_with(head); });
  environment.push_back(head + std::string(value));
}

std::optional<std::string> find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) {
    return ::access(name.c_str(), X_OK) == 0 ? std::optional(name) : std::nullopt;
  }
  const char* path = std::getenv("PATH");
  std::string_view rest = path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin";
  while (true) {
    const std::size_t colon = rest.find(':');
    const std::string_view directory = rest.substr(0, colon);
    std::string file = (directory.empty() ? "." : std::string(directory)) + "/" + name;
    if (::access(file.c_str(), X_OK) == 0) return file;
    if (colon == std::string_view::npos) return std::nullopt;
    rest.remove_prefix(colon + 1);
  }
}

}  // namespace slurmtune
