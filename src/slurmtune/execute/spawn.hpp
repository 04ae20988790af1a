// SPDX-License-Identifier: MIT
#pragma once

#include <csignal>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "slurmtune/base/error.hpp"

namespace slurmtune {

struct ProgramCall;

/// A file descriptor and its owner.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor() { close(); }

  [[nodiscard]] int get() const { return fd_; }
  void close();

 private:
  int fd_ = -1;
};

struct Pipe {
  Descriptor read_end;
  Descriptor write_end;
};

/// Close-on-exec on both ends. Errors: unavailable.
[[nodiscard]] Expected<Pipe> make_pipe();

/// Opens close-on-exec, mode 0600 if it makes the file. Errors: unavailable.
[[nodiscard]] Expected<Descriptor> open_file(const std::string& path, int flags);

/// As write(2), but a closed pipe gives EPIPE and no signal.
[[nodiscard]] ssize_t write_quietly(int fd, std::string_view bytes);

/// The descriptors that become a child's standard ones.
struct StandardFiles {
  int in = -1;
  int out = -1;
  int err = -1;
};

/// In what a child may differ from others.
struct SpawnTraits {
  enum class Leads { group, session };
  enum class OutOfMemory { as_others, goes_first };

  std::string program;  ///< path of the executable, below the workdir; "" = argv[0], searched
  Leads leads = Leads::group;
  int death_signal = SIGTERM;  ///< that it gets when the thread that started it goes
  std::vector<int> cpus;       ///< that it may run on; empty = all that we may
  /// Whether the kernel takes it before others when memory runs out.
  OutOfMemory out_of_memory = OutOfMemory::as_others;
};

/// Starts a program as leader of its own process group; see ChildProcess for what it inherits.
/// Errors: unavailable, naming the program and the system's reason.
[[nodiscard]] Expected<pid_t> spawn(const ProgramCall& call, const StandardFiles& files,
                                    const SpawnTraits& traits = {});

/// All living descendants of a process, from /proc; without it, none. Neither `spared` nor what
/// descends from them is among them.
[[nodiscard]] std::vector<pid_t> descendants(pid_t root, std::span<const pid_t> spared = {});

}  // namespace slurmtune
