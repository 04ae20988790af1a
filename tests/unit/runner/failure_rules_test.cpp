// SPDX-License-Identifier: MIT
#include "slurmtune/runner/judge/failure_rules.hpp"

#include <set>
#include <string>
#include <vector>

#include "slurmtune/runner/judge/launch_report.hpp"

#include "tests/support/catch.hpp"

namespace slurmtune {

namespace {

std::string rule_for(const std::string& line, FailureContext context = {}) {
  const std::vector<std::string> lines{"starting", line, "bye"};
  const auto match = match_failure(lines, context);
  if (!match) return "none";
  CHECK(match->line == 1);
  return std::string(name_of(match->rule->outcome));
}

}  // namespace

TEST_CASE("failure_rules: each has a name of its own and an outcome that is no success",
          "[runner]") {
  std::set<std::string_view> names;
  for (const FailureRule& rule : failure_rules()) {
    CHECK(names.insert(rule.name).second);
    CHECK(rule.outcome != Outcome::ok);
  }
  CHECK(names.size() > 50);
}

TEST_CASE("failure_rules: what trainers say last tells the outcome", "[runner]") {
  struct Sample {
    const char* line;
    const char* outcome;
  };
  const Sample samples[] = {
      {"torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB", "gpu_oom"},
      {"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB", "gpu_oom"},
      {"RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 15.90 GiB total",
       "gpu_oom"},
      {"RuntimeError: CUDA error: out of memory", "gpu_oom"},
      {"RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
       "gpu_oom"},
      {"minitrain.OutOfMemoryError: device out of memory. Tried to allocate 4 MiB (limit 8 MiB",
       "gpu_oom"},
      {"RuntimeError: [enforce fail at alloc_cpu.cpp:75] err == 0. DefaultCPUAllocator: can't "
       "allocate memory: you tried to allocate 16777216 bytes.",
       "host_oom"},
      {"terminate called after throwing an instance of 'std::bad_alloc'", "host_oom"},
      {"MemoryError", "host_oom"},
      {"numpy.core._exceptions._ArrayMemoryError: Unable to allocate 7.45 GiB", "host_oom"},
      {"OSError: [Errno 12] Cannot allocate memory", "host_oom"},
      {"slurmstepd: error: Detected 1 oom_kill event in StepId=12.0.", "host_oom"},
      {"AssertionError: Check batch related parameters. train_batch_size is not equal to "
       "micro_batch_per_gpu * gradient_acc_step * world_size 64 != 4 * 2 * 2",
       "config_error"},
      {"pydantic.error_wrappers.ValidationError: 1 validation error for DeepSpeedZeroConfig",
       "config_error"},
      {"deepspeed.runtime.config_utils.DeepSpeedConfigError: bad", "config_error"},
      {"json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)", "config_error"},
      {"ModuleNotFoundError: No module named 'deepspeed'", "launch_error"},
      {"./a.out: error while loading shared libraries: libfoo.so.1: cannot open", "launch_error"},
      {"RuntimeError: The server socket has failed to bind to 0.0.0.0:29500 (errno: 98 - Address "
       "already in use).",
       "launch_error"},
      {"python3: can't open file '/x/train.py': [Errno 2] No such file or directory",
       "launch_error"},
      {"bash: line 1: nothing: command not found", "launch_error"},
      {"OSError: [Errno 28] No space left on device", "storage_error"},
      {"cp: error writing 'x': Disk quota exceeded", "storage_error"},
      {"OSError: [Errno 116] Stale file handle: '/scratch/x'", "storage_error"},
      {"Exception: Current loss scale already at minimum - cannot decrease scale anymore. Exiting "
       "run.",
       "nan"},
      {"srun: error: *** STEP 12.1 ON n1 CANCELLED AT 2026-11-30T21:04:05 DUE TO TIME LIMIT ***",
       "preempted"},
      {"srun: error: *** JOB 12 ON n1 CANCELLED AT 2026-11-30T21:04:05 ***", "cancelled"},
      {"RuntimeError: [./gloo/transport/tcp/pair.cc:598] Connection closed by peer", "crashed"},
  };
  for (const Sample& sample : samples) {
    INFO(sample.line);
    CHECK(rule_for(sample.line) == sample.outcome);
  }
}

TEST_CASE("failure_rules: words in passing are no evidence", "[runner]") {
  for (const char* line :
       {"WARNING: if you see CUDA out of memory, lower the batch size",
        "loading out_of_memory_tests.py", "note that MemoryErrors are caught here",
        "INFO No space left for comments", "  torch.cuda.OutOfMemoryError is caught below",
        "hint: AssertionError: batch means a bad batch size"}) {
    INFO(line);
    CHECK(rule_for(line) == "none");
  }
}

TEST_CASE("failure_rules: launch problems count only before the first step", "[runner]") {
  const char* line = "ModuleNotFoundError: No module named 'wandb'";
  CHECK(rule_for(line, {.exit_code = 1}) == "launch_error");
  CHECK(rule_for(line, {.had_steps = true, .exit_code = 1}) == "none");
}

TEST_CASE("failure_rules: a program that refuses its arguments exits with 2", "[runner]") {
  const char* line = "train.py: error: unrecognized arguments: --fp17";
  CHECK(rule_for(line, {.exit_code = 2}) == "config_error");
  CHECK(rule_for(line, {.exit_code = 1}) == "none");
  CHECK(rule_for(line, {.had_steps = true, .exit_code = 2}) == "none");
}

TEST_CASE("failure_rules: what srun cancels because a rank failed was not cancelled", "[runner]") {
  const char* line =
      "slurmstepd-n1: error: *** STEP 2.1 ON n1 CANCELLED AT 2026-11-30T11:58:45 ***";
  CHECK(rule_for(line) == "cancelled");
  CHECK(rule_for(line, {.rank_failed = true, .exit_code = 3}) == "none");
}

TEST_CASE("failure_rules: the cause of the first rank wins over what it did to the others",
          "[runner]") {
  const std::vector<std::string> lines{
      "RuntimeError: [enforce fail] DefaultCPUAllocator: can't allocate memory: you tried",
      "RuntimeError: [./gloo/transport/tcp/pair.cc:598] Connection closed by peer",
      "ModuleNotFoundError: No module named 'x'"};
  const auto match = match_failure(lines, {});
  REQUIRE(match.has_value());
  CHECK(match->rule->outcome == Outcome::host_oom);
  CHECK(match->line == 0);
}

TEST_CASE("match_failure: a cause is looked for in the failing rank's lines first", "[runner]") {
  const std::vector<std::string> lines{"MemoryError", "ModuleNotFoundError: No module named 'x'",
                                       "torch.OutOfMemoryError: CUDA out of memory. Tried"};
  const std::vector<std::optional<int>> ranks{0, 1, std::nullopt};
  const auto outcome = [&](FailureContext context) {
    const auto match = match_failure(lines, ranks, context);
    return match ? std::string(name_of(match->rule->outcome)) : "none";
  };
  CHECK(outcome({.rank = 1}) == "launch_error");
  CHECK(outcome({.rank = 0}) == "host_oom");
  CHECK(outcome({.rank = 7}) == "gpu_oom");  // of nobody known, so it may be its own
  CHECK(outcome({}) == "gpu_oom");           // the weightiest
}

TEST_CASE("match_failure: another rank's words do not explain a fault of its own", "[runner]") {
  const std::vector<std::string> lines{"MemoryError"};
  const std::vector<std::optional<int>> ranks{0};
  CHECK_FALSE(match_failure(lines, ranks, {.signal = 11, .rank = 1}).has_value());
  CHECK(match_failure(lines, ranks, {.signal = 11, .rank = 0}).has_value());
  CHECK(match_failure(lines, ranks, {.signal = 15, .rank = 1}).has_value());
}

TEST_CASE("match_failure: a consequence decides only if there is nothing else", "[runner]") {
  const std::string gone =
      "RuntimeError: [../gloo/transport/tcp/pair.cc:534] Connection closed by "
      "peer [10.0.0.2]:34123";
  const std::vector<std::optional<int>> ranks{0, 1};
  const auto found = [&](const std::string& other, FailureContext context) {
    return match_failure(std::vector<std::string>{gone, other}, ranks, context).has_value();
  };
  CHECK(found("step 3", {.exit_code = 1, .rank = 0}));
  CHECK(found("step 3", {.exit_code = 1}));
  CHECK_FALSE(found("step 3", {.exit_code = 1, .rank = 1}));
  CHECK_FALSE(found("ValueError: odd", {.exit_code = 1}));
  CHECK_FALSE(found("step 3", {.signal = 9, .rank = 0}));
  CHECK(found("step 3", {.signal = 6, .rank = 0}));
}

TEST_CASE("parse_failure_rules: a file that is wrong is refused with its line", "[runner]") {
  const std::string good = "[[rule]]\nname = 'a'\noutcome = 'nan'\nexpression = 'x'\n";
  REQUIRE(parse_failure_rules(good, "f").has_value());
  CHECK(parse_failure_rules(good, "f")->front().kind == RuleKind::cause);
  const std::string rule = "[[rule]]\nname = 'a'\n";
  const std::vector<std::string> all_bad{
      "nonsense",
      "",
      good + good,
      good + "kind = 'reason'\n",
      good + "scope = 'any'\n",
      good + "when = 'never'\n",
      rule,
      rule + "outcome = 'ok'\nexpression = 'x'\n",
      rule + "outcome = 'nan'\nexpression = '('\n",
      "title = 'x'\n" + good,
  };
  for (const std::string& bad : all_bad) {
    INFO(bad);
    const auto rules = parse_failure_rules(bad, "f");
    REQUIRE_FALSE(rules.has_value());
    CHECK(rules.error().kind == ErrorKind::invalid_input);
    CHECK(rules.error().message.starts_with("f:"));
  }
}

TEST_CASE("strip_prefix: launchers' marks go, the rank stays", "[runner]") {
  CHECK(strip_prefix("[rank3]: ValueError: x").text == "ValueError: x");
  CHECK(strip_prefix("[rank3]: ValueError: x").rank == 3);
  CHECK(strip_prefix("[rank0]:[titan] step: 1").text == "[titan] step: 1");
  CHECK(strip_prefix("[rank0]:[titan] step: 1").rank == 0);
  CHECK(strip_prefix("[default1]:hello").text == "hello");
  CHECK_FALSE(strip_prefix("[default1]:hello").rank.has_value());
  CHECK(strip_prefix("[1,2]<stderr>:hello").text == "hello");
  CHECK(strip_prefix("[1,2]<stderr>:hello").rank == 2);
  CHECK(strip_prefix(" 7: hello").rank == 7);
  for (const char* plain : {"", "[", "[rank", "[rank]: x", "[1,", "12", "12:30:00 x", "hello",
                            "[2026-11-30 08:53:14,058] [INFO] x", "-3: x"}) {
    INFO(plain);
    CHECK(strip_prefix(plain).text == plain);
    CHECK_FALSE(strip_prefix(plain).rank.has_value());
  }
}

TEST_CASE("telling_line: the last error, not what the launcher says about it", "[runner]") {
  CHECK(telling_line(std::vector<std::string>{
            "Traceback (most recent call last):", "ValueError: first", "RuntimeError: second",
            "cleaning up", "-------", "Primary job  terminated normally, but 1 process returned",
            "mpirun detected that one or more processes exited"}) == "RuntimeError: second");
  CHECK(telling_line(std::vector<std::string>{"one", "two", "  "}) == "two");
  CHECK(telling_line(std::vector<std::string>{"srun: error: n1: task 0: Killed"}) ==
        "srun: error: n1: task 0: Killed");
  CHECK(telling_line(std::vector<std::string>{
            "ValueError: odd",
            "RuntimeError: [gloo/transport/tcp/pair.cc:5] Connection closed by "
            "peer"}) == "ValueError: odd");
  CHECK(telling_line({}).empty());
}

TEST_CASE("read_launch_report: mpirun and srun tell the first rank that failed", "[runner]") {
  CHECK(read_launch_report(std::vector<std::string>{
            "mpirun noticed that process rank 1 with PID 0 on node vm exited on signal 11 "
            "(Segmentation fault)."}) == RankFailure{1, "vm", std::nullopt, 11});
  CHECK(read_launch_report(
            std::vector<std::string>{"  Process name: [[25263,1],3]", "  Exit code:    7"}) ==
        RankFailure{3, "", 7, std::nullopt});
  CHECK(read_launch_report(std::vector<std::string>{
            "MPI_ABORT was invoked on rank 2 in communicator MPI_COMM_WORLD",
            "with errorcode 1."}) == RankFailure{2, "", 1, std::nullopt});
  CHECK(read_launch_report(std::vector<std::string>{
            "srun: error: n2: task 1: Exited with exit code 3",
            "srun: error: n1: task 0: Killed"}) == RankFailure{1, "n2", 3, std::nullopt});
  CHECK(read_launch_report(std::vector<std::string>{
            "srun: error: n2: tasks 2-3: Segmentation fault (core dumped)"}) ==
        RankFailure{2, "n2", std::nullopt, 11});
  CHECK(read_launch_report(std::vector<std::string>{"srun: job 12 queued", "hello"}) ==
        RankFailure{});
}

TEST_CASE("read_launch_report: torchrun and DeepSpeed's launcher tell it in words of their own",
          "[runner]") {
  std::vector<std::string> torchrun{
      "torch.distributed.elastic.multiprocessing.errors.ChildFailedError:",
      "train.py FAILED",
      "Failures:",
      "[1]:",
      "  time      : 2026-11-30_10:12:14",
      "  host      : n1",
      "  rank      : 0 (local_rank: 0)",
      "  exitcode  : 1 (pid: 4100)",
      "Root Cause (first observed failure):",
      "[0]:",
      "  time      : 2026-11-30_10:12:13",
      "  host      : n2",
      "  rank      : 5 (local_rank: 1)",
      "  exitcode  : -11 (pid: 4123)",
      "  error_file: <N/A>"};
  CHECK(read_launch_report(torchrun) == RankFailure{5, "n2", std::nullopt, 11});
  CHECK(
      read_launch_report(std::vector<std::string>{
          "[2026-11-30 10:12:13,001] [INFO] [launch.py:319:sigkill_handler] Killing subprocess 41",
          "[2026-11-30 10:12:13,002] [ERROR] [launch.py:325:sigkill_handler] ['/usr/bin/python3', "
          "'-u', 'train.py', '--local_rank=1'] exits with return code = -9"}) ==
      RankFailure{std::nullopt, "", std::nullopt, 9});
}

}  // namespace slurmtune
