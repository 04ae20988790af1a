// SPDX-License-Identifier: MIT
#include "slurmtune/execute/process.hpp"

#include <csignal>
#include <fstream>
#include <functional>
#include <thread>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "slurmtune/execute/spawn.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace slurmtune;
using namespace std::chrono_literals;

namespace {

ProcessRequest shell(const std::string& script) {
  return {.call = {.argv = {"sh", "-c", script}, .environment = {}, .workdir = ""}, .input = ""};
}

/// Not counting what has ended and is yet to be reaped by init.
bool exists(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  if (!std::getline(file, text)) return false;
  return text.find(") Z ") == std::string::npos;
}

bool await(const std::function<bool()>& done) {
  for (int i = 0; i < 500; ++i) {
    if (done()) return true;
    std::this_thread::sleep_for(10ms);
  }
  return false;
}

}  // namespace

TEST_CASE("run_process: output, error and exit code are told apart", "[execute]") {
  const auto result = run_process(shell("echo out; echo err >&2; exit 3"));
  REQUIRE(result);
  CHECK(result->out == "out\n");
  CHECK(result->err == "err\n");
  CHECK(result->status.code == 3);
  CHECK(result->status.signal == 0);
  CHECK_FALSE(result->status.success());
  CHECK(result->status.text() == "exit code 3");
}

TEST_CASE("run_process: input and output larger than a pipe pass through", "[execute]") {
  ProcessRequest request = shell("cat");
  request.input.assign(1'000'000, 'x');
  const auto result = run_process(request);
  REQUIRE(result);
  CHECK(result->out == request.input);
}

TEST_CASE("run_process: a program that does not read its input is no error", "[execute]") {
  ProcessRequest request = shell("exec <&-; sleep 0.1; echo done");
  request.input.assign(1'000'000, 'x');
  const auto result = run_process(request);
  REQUIRE(result);
  CHECK(result->out == "done\n");
}

TEST_CASE("run_process: a signal is reported as shells do", "[execute]") {
  const auto result = run_process(shell("kill -KILL $$"));
  REQUIRE(result);
  CHECK(result->status.code == 137);
  CHECK(result->status.signal == SIGKILL);
}

TEST_CASE("run_process: arguments are not a shell's command line", "[execute]") {
  const auto result = run_process({.call = {.argv = {"printf", "%s|", "a b", "$HOME", "*", "x;y"},
                                            .environment = {},
                                            .workdir = ""},
                                   .input = ""});
  REQUIRE(result);
  CHECK(result->out == "a b|$HOME|*|x;y|");
}

TEST_CASE("run_process: environment and directory are as given", "[execute]") {
  const TemporaryDirectory directory;
  const auto result = run_process({.call = {.argv = {"sh", "-c", "echo \"$A $HOME\"; pwd"},
                                            .environment = std::vector<std::string>{"A=1 2"},
                                            .workdir = directory.path().string()},
                                   .input = ""});
  REQUIRE(result);
  CHECK(result->out == "1 2 \n" + directory.path().string() + "\n");
}

TEST_CASE("run_process: one that ignores SIGTERM is killed with its children", "[execute]") {
  ProcessRequest request = shell("trap '' TERM; sleep 60 & echo $!; wait; sleep 60");
  request.timeout = 200ms;
  request.grace = 200ms;
  const auto begin = std::chrono::steady_clock::now();
  const auto result = run_process(request);
  REQUIRE(result);
  CHECK(result->ending == Ending::timed_out);
  CHECK(result->status.signal == SIGKILL);
  CHECK(std::chrono::steady_clock::now() - begin < 5s);
  const pid_t child = std::stoi(result->out);
  CHECK(await([&] { return !exists(child); }));
}

TEST_CASE("run_process: a descendant that keeps the pipes open is not waited for", "[execute]") {
  const auto begin = std::chrono::steady_clock::now();
  const auto result = run_process(shell("sleep 3 & echo out"));
  REQUIRE(result);
  CHECK(result->out == "out\n");
  CHECK(std::chrono::steady_clock::now() - begin < 2s);
}

TEST_CASE("run_process: says what could not be started, and why", "[execute]") {
  const auto missing = run_process(
      {.call = {.argv = {"no-such-program"}, .environment = {}, .workdir = ""}, .input = ""});
  REQUIRE_FALSE(missing);
  CHECK(missing.error() == Error{ErrorKind::unavailable, "no-such-program: not found in PATH"});

  const auto nowhere = run_process(
      {.call = {.argv = {"true"}, .environment = {}, .workdir = "/no/such"}, .input = ""});
  REQUIRE_FALSE(nowhere);
  CHECK(nowhere.error().message ==
        "/no/such: cannot be entered to run true: No such file or directory");

  const TemporaryDirectory directory;
  const std::string file = directory.write_program("odd", "#!/no/such/interpreter\n");
  const auto odd =
      run_process({.call = {.argv = {file}, .environment = {}, .workdir = ""}, .input = ""});
  REQUIRE_FALSE(odd);
  CHECK(odd.error().message == file + ": cannot be run: No such file or directory");
}

TEST_CASE("spawn: no descriptor and no blocked signal is inherited", "[execute]") {
  const int leaked = ::open("/dev/null", O_RDONLY);  // without O_CLOEXEC, on purpose
  REQUIRE(leaked > 2);
  std::signal(SIGUSR1, SIG_IGN);
  sigset_t usr2;
  sigemptyset(&usr2);
  sigaddset(&usr2, SIGUSR2);
  ::pthread_sigmask(SIG_BLOCK, &usr2, nullptr);
  const auto result =
      run_process(shell("ls /proc/self/fd | wc -l; grep -E '^Sig(Blk|Ign)' /proc/self/status"));
  ::pthread_sigmask(SIG_UNBLOCK, &usr2, nullptr);
  std::signal(SIGUSR1, SIG_DFL);
  ::close(leaked);
  REQUIRE(result);
  // 0, 1, 2 and the one that ls opens
  CHECK(result->out == "4\nSigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
}

TEST_CASE("ChildProcess: appends its output to a file and ends with its object", "[execute]") {
  const TemporaryDirectory directory;
  const std::string out = directory.write("out", "before\n");
  pid_t pid = -1;
  {
    auto child = ChildProcess::start({.argv = {"sh", "-c", "echo one; echo two >&2; exec sleep 60"},
                                      .environment = {},
                                      .workdir = ""},
                                     {.out = out, .err = ""});
    REQUIRE(child);
    pid = child->pid();
    CHECK(await([&] { return directory.read("out") == "before\none\ntwo\n"; }));
    CHECK_FALSE(child->poll());
  }
  CHECK_FALSE(exists(pid));
}

TEST_CASE("ChildProcess: what it left in the background ends with it", "[execute]") {
  const TemporaryDirectory directory;
  auto child =
      ChildProcess::start({.argv = {"sh", "-c", "sleep 60 & echo $! > " + directory / "pid"},
                           .environment = {},
                           .workdir = ""},
                          {.out = "", .err = ""});
  REQUIRE(child);
  CHECK(await([&] { return child->poll().has_value(); }));
  CHECK(child->poll()->success());
  const pid_t background = std::stoi(directory.read("pid"));
  CHECK(await([&] { return !exists(background); }));
}

TEST_CASE("ChildProcess: signals reach descendants in other process groups", "[execute]") {
  const TemporaryDirectory directory;
  auto child = ChildProcess::start(
      {.argv = {"bash", "-c", "set -m; sleep 60 & echo $! > " + directory / "pid" + "; wait"},
       .environment = {},
       .workdir = ""},
      {.out = "", .err = ""});
  REQUIRE(child);
  REQUIRE(await([&] { return !directory.read("pid").empty(); }));
  const pid_t grandchild = std::stoi(directory.read("pid"));
  REQUIRE(::getpgid(grandchild) != child->pid());
  child->signal_all(SIGTERM);
  CHECK(await([&] { return child->poll().has_value(); }));
  CHECK(await([&] { return !exists(grandchild); }));
}

TEST_CASE("ChildProcess: a child ends when the process that started it is killed", "[execute]") {
  const TemporaryDirectory directory;
  const pid_t middle = ::fork();
  if (middle == 0) {
    const auto child = ChildProcess::start(
        {.argv = {"sh", "-c", "echo $$ > " + directory / "pid" + "; exec sleep 60"},
         .environment = {},
         .workdir = ""},
        {.out = "", .err = ""});
    ::pause();
    ::_exit(child ? 0 : 1);
  }
  REQUIRE(await([&] { return directory.read("pid").ends_with("\n"); }));
  const pid_t child = std::stoi(directory.read("pid"));
  ::kill(middle, SIGKILL);
  CHECK(await([&] { return !exists(child); }));
  CHECK(await([&] { return ::waitpid(middle, nullptr, WNOHANG) == middle; }));
}

TEST_CASE("set_variable: replaces a variable and no other", "[execute]") {
  std::vector<std::string> environment{"A=1", "AB=2", "A=3"};
  set_variable(environment, "A", "4");
  CHECK(environment == std::vector<std::string>{"AB=2", "A=4"});
}

TEST_CASE("find_program: looks in PATH in its order", "[execute]") {
  const TemporaryDirectory directory;
  directory.write("one/tool", "");
  const std::string tool = directory.write_program("two/tool", "");
  const ScopedVariable path("PATH", directory / "one" + ":" + directory / "two");
  CHECK(find_program("tool") == tool);
  CHECK_FALSE(find_program("other"));
  CHECK(find_program(tool) == tool);
}
