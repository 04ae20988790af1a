// SPDX-License-Identifier: MIT
#include "slurmtune/base/error.hpp"

#include <csignal>
#include <memory>
#include <string>

#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/catch.hpp"

using namespace slurmtune;

namespace {

Expected<int> half_of(int value) {
  if (value % 2 != 0) return invalid_input("must be even");
  return value / 2;
}

Expected<int> quarter_of(int value) {
  SLURMTUNE_TRY(const int half, half_of(value));
  SLURMTUNE_TRY(const int quarter, half_of(half));
  return quarter;
}

Expected<void> check_even(int value) {
  SLURMTUNE_CHECK(half_of(value));
  return {};
}

Expected<std::unique_ptr<int>> owned() { return std::make_unique<int>(7); }

Expected<int> read_owned() {
  SLURMTUNE_TRY(const std::unique_ptr<int> value, owned());
  return *value;
}

struct Ending {
  int status = 0;
  std::string said;
};

// Runs an assertion in a child, because a failed one ends the process.
Ending ending_of_assertion(bool holds) {
  int pipe_ends[2] = {-1, -1};
  REQUIRE(pipe(pipe_ends) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    std::signal(SIGABRT, SIG_DFL);  // the test framework handles it otherwise
    dup2(pipe_ends[1], STDERR_FILENO);
    close(pipe_ends[0]);
    SLURMTUNE_ASSERT(holds);
    _exit(0);
  }
  close(pipe_ends[1]);
  Ending ending;
  char buffer[512];
  for (ssize_t got = 0; (got = read(pipe_ends[0], buffer, sizeof buffer)) > 0;) {
    ending.said.append(buffer, static_cast<std::size_t>(got));
  }
  close(pipe_ends[0]);
  REQUIRE(waitpid(child, &ending.status, 0) == child);
  return ending;
}

}  // namespace

TEST_CASE("SLURMTUNE_TRY: gives the value, or returns the first error", "[base]") {
  CHECK(quarter_of(12) == Expected<int>(3));
  CHECK(quarter_of(3).error() == Error{ErrorKind::invalid_input, "must be even"});
  CHECK(quarter_of(6).error() == Error{ErrorKind::invalid_input, "must be even"});
  CHECK(read_owned() == Expected<int>(7));
}

TEST_CASE("SLURMTUNE_CHECK: returns the error of an Expected whose value is not needed", "[base]") {
  CHECK(check_even(4).has_value());
  CHECK(check_even(5).error().message == "must be even");
}

TEST_CASE("in_context: puts the context first and keeps the kind", "[base]") {
  const Expected<int> error = in_context("study.toml:4", Error{ErrorKind::corrupt_data, "torn"});
  CHECK(error.error() == Error{ErrorKind::corrupt_data, "study.toml:4: torn"});
}

TEST_CASE("Error: each maker has its kind", "[base]") {
  CHECK(invalid_input("").value().kind == ErrorKind::invalid_input);
  CHECK(unavailable("").value().kind == ErrorKind::unavailable);
  CHECK(corrupt_data("").value().kind == ErrorKind::corrupt_data);
  CHECK(no_result("").value().kind == ErrorKind::no_result);
}

TEST_CASE("SLURMTUNE_ASSERT: aborts and says where, only if the condition fails", "[base]") {
  const Ending held = ending_of_assertion(true);
  CHECK(WIFEXITED(held.status));
  CHECK(held.said.empty());
  const Ending failed = ending_of_assertion(false);
  REQUIRE(WIFSIGNALED(failed.status));
  CHECK(WTERMSIG(failed.status) == SIGABRT);
  CHECK(failed.said.find("error_test.cpp:") != std::string::npos);
  CHECK(failed.said.find("holds does not hold") != std::string::npos);
}
