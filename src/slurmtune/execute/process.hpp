// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "slurmtune/base/error.hpp"

namespace slurmtune {

/// Where a child's standard output and error go.
struct OutputFiles {
  std::string out;  ///< appended to; "" = /dev/null
  std::string err;  ///< appended to; "" = the same as `out`
};

/// What to run: an argument vector, never a shell's command line.
struct ProgramCall {
  std::vector<std::string> argv;  ///< argv[0] is searched in our own PATH unless it has a slash
  /// `NAME=value` each; absent = our own environment.
  std::optional<std::vector<std::string>> environment;
  std::string workdir;  ///< "" = ours
};

/// How a process ended.
struct ExitStatus {
  int code = 0;    ///< of exit(); 128 + signal if a signal ended it, as shells say
  int signal = 0;  ///< 0 = none

  [[nodiscard]] bool success() const { return code == 0; }
  /// `exit code 3`, `signal 9`.
  [[nodiscard]] std::string text() const;
};

/// A child in a process group of its own. It inherits no descriptor but its three standard ones
/// and no blocked or ignored signal, and gets SIGTERM if the thread that started it goes away.
/// Its destructor kills the group if it has not ended (SIGKILL) and reaps the child.
class ChildProcess {
 public:
  /// Errors: unavailable, with the system's reason (no such program, no such directory, …).
  [[nodiscard]] static Expected<ChildProcess> start(const ProgramCall& call,
                                                    const OutputFiles& output);
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  ~ChildProcess();

  /// How it ended, once it has; does not wait. What it left in its group is killed then.
  [[nodiscard]] std::optional<ExitStatus> poll();
  /// Sends a signal to its group and to whatever descends from it in other groups.
  void signal_all(int signal);
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  explicit ChildProcess(pid_t pid) : pid_(pid) {}
  void end_now();

  pid_t pid_ = -1;
  std::optional<ExitStatus> ended_;
};

/// A program that is run to its end, its output caught.
struct ProcessRequest {
  ProgramCall call;
  std::string input;                          ///< to its standard input
  std::chrono::milliseconds timeout{60'000};  ///< then SIGTERM to its group
  std::chrono::milliseconds grace{2'000};     ///< and after this SIGKILL
};

enum class Ending { exited, timed_out };

struct ProcessResult {
  Ending ending = Ending::exited;
  ExitStatus status;
  std::string out;
  std::string err;
};

/// Runs a program and waits for it. A program that fails is no error: see the status.
/// Errors: unavailable if it cannot be started.
[[nodiscard]] Expected<ProcessResult> run_process(const ProcessRequest& request);

/// Our own environment as `NAME=value`, in its order.
[[nodiscard]] std::vector<std::string> current_environment();

/// Replaces or adds one variable.
void set_variable(std::vector<std::string>& environment, std::string_view name,
                  std::string_view value);

/// The file that `name` means in our PATH, if there is an executable one.
[[nodiscard]] std::optional<std::string> find_program(const std::string& name);

}  // namespace slurmtune
