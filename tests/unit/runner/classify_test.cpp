// SPDX-License-Identifier: MIT
#include "slurmtune/runner/judge/classify.hpp"

#include <csignal>

#include "slurmtune/base/random.hpp"

#include "tests/support/catch.hpp"

namespace slurmtune {

namespace {

TrialEnd exited(int code, std::vector<std::string> lines = {}) {
  TrialEnd end;
  end.exit_code = code;
  end.lines = std::move(lines);
  return end;
}

TrialEnd measured(int steps) {
  TrialEnd end = exited(0);
  end.steps_seen = steps + 2;
  end.measured_steps = steps;
  end.has_interval = steps >= 2;
  end.min_steps = 8;
  return end;
}

const char* const cuda_oom = "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate";

}  // namespace

TEST_CASE("classify: exit 0 with measured steps is ok, whatever the words", "[runner]") {
  TrialEnd end = measured(8);
  end.lines = {cuda_oom};
  CHECK(classify(end).outcome == Outcome::ok);
  CHECK(classify(end).reason == "completed");
  CHECK_FALSE(classify(end).evidence.has_value());
  CHECK(classify(measured(3)).outcome == Outcome::ok);
  CHECK(classify(measured(3)).reason == "ended_early");
}

TEST_CASE("classify: exit 0 without steps is a configuration that cannot be measured", "[runner]") {
  CHECK(classify(exited(0)).outcome == Outcome::config_error);
  CHECK(classify(exited(0)).reason == "no_steps");
  CHECK(classify(measured(1)).outcome == Outcome::config_error);
  CHECK(classify(measured(1)).reason == "too_few_steps");
  CHECK_FALSE(classify(exited(0)).evidence->line.empty());
}

TEST_CASE("classify: a trial that ends on a loss that is no number is nan", "[runner]") {
  TrialEnd end = measured(8);
  end.last_loss_is_bad = true;
  CHECK(classify(end).outcome == Outcome::nan);
  end.ended_by_us = EndReason::max_steps;
  CHECK(classify(end).outcome == Outcome::nan);
}

TEST_CASE("classify: what the runner ended is named by why it did", "[runner]") {
  struct Sample {
    EndReason reason;
    Outcome outcome;
  };
  for (const auto& [reason, outcome] :
       {Sample{EndReason::interval_reached, Outcome::ok}, Sample{EndReason::max_steps, Outcome::ok},
        Sample{EndReason::cannot_win, Outcome::ok}, Sample{EndReason::nan, Outcome::nan},
        Sample{EndReason::no_step_in_startup, Outcome::hang},
        Sample{EndReason::no_step_in_stall, Outcome::hang},
        Sample{EndReason::total, Outcome::timeout},
        Sample{EndReason::preempted, Outcome::preempted},
        Sample{EndReason::cancelled, Outcome::cancelled}}) {
    TrialEnd end = exited(143, {cuda_oom});
    end.signal = SIGTERM;
    end.exit_code.reset();
    end.ended_by_us = reason;
    CHECK(classify(end).outcome == outcome);
    CHECK(classify(end).reason == name_of(reason));
  }
}

TEST_CASE("classify: a failed trial is known by its own last error", "[runner]") {
  const Classified oom = classify(exited(1, {"step 3", cuda_oom, "Primary job  terminated"}));
  CHECK(oom.outcome == Outcome::gpu_oom);
  CHECK(oom.reason == "rule:torch-cuda-oom");
  CHECK(oom.evidence->line == cuda_oom);
  CHECK(oom.evidence->exit_code == 1);
}

TEST_CASE("classify: without a rule it is a crash, by exit code or signal", "[runner]") {
  const Classified exit = classify(exited(3, {"ValueError: odd"}));
  CHECK(exit.outcome == Outcome::crashed);
  CHECK(exit.reason == "exit 3");
  CHECK(exit.evidence->line == "ValueError: odd");
  const Classified shell = classify(exited(139));
  CHECK(shell.outcome == Outcome::crashed);
  CHECK(shell.evidence->signal == 11);
  CHECK_FALSE(shell.evidence->exit_code.has_value());
  CHECK(shell.reason == "signal 11");
}

TEST_CASE("classify: SIGKILL is out of memory only if the kernel says so", "[runner]") {
  TrialEnd end = exited(137);
  CHECK(classify(end).outcome == Outcome::crashed);
  end.out_of_memory_kill = true;
  CHECK(classify(end).outcome == Outcome::host_oom);
  CHECK(classify(end).reason == "rule:kernel-oom-kill");
  end.exit_code = 1;
  CHECK(classify(end).outcome == Outcome::crashed);
}

TEST_CASE("classify: exit 127 before a step is a program that is not there", "[runner]") {
  CHECK(classify(exited(127)).outcome == Outcome::launch_error);
  TrialEnd later = measured(8);
  later.exit_code = 127;
  CHECK(classify(later).outcome == Outcome::crashed);
  TrialEnd never;
  never.not_started = "cannot start 'x': no such program";
  CHECK(classify(never).outcome == Outcome::launch_error);
  CHECK(classify(never).evidence->line == "cannot start 'x': no such program");
}

TEST_CASE("classify: SIGKILL with memory near its limit is out of memory, too", "[runner]") {
  TrialEnd end = exited(137);
  end.peak_host_fraction = 0.96;
  CHECK(classify(end).outcome == Outcome::host_oom);
  CHECK(classify(end).reason == "memory-curve");
  end.peak_host_fraction = 0.7;
  CHECK(classify(end).outcome == Outcome::crashed);
  end.peak_host_fraction = 0.96;
  end.exit_code = 139;
  CHECK(classify(end).outcome == Outcome::crashed);
  end.exit_code = 137;
  end.ended_by_us = EndReason::total;
  CHECK(classify(end).outcome == Outcome::timeout);
}

TEST_CASE("classify: the rank comes from the launcher, else from the line's mark", "[runner]") {
  TrialEnd end = exited(1, {cuda_oom});
  end.line_ranks = {5};
  CHECK(classify(end).evidence->rank == 5);
  end.lines = {"ValueError: odd", "srun: error: n2: task 3: Exited with exit code 1"};
  CHECK(classify(end).evidence->rank == 3);
  CHECK(classify(end).evidence->node == "n2");
}

TEST_CASE("classify: a rank that only noticed another's failure is not the one to blame",
          "[runner]") {
  TrialEnd end = exited(1, {cuda_oom, "srun: error: n2: task 3: Exited with exit code 1"});
  end.line_ranks = {5};
  CHECK(classify(end).outcome == Outcome::gpu_oom);
  CHECK(classify(end).evidence->rank == 5);
  CHECK(classify(end).evidence->node.empty());
}

TEST_CASE("classify: what the runner saw of the first failure wins over its launcher's words",
          "[runner]") {
  TrialEnd end = exited(1, {"ValueError: of rank 2", "KeyError: of rank 3",
                            "srun: error: n2: task 3: Exited with exit code 1"});
  end.line_ranks = {2, 3, std::nullopt};
  end.first_failure = RankFailure{2, "n1", 7, std::nullopt};
  const Classified classified = classify(end);
  CHECK(classified.reason == "exit 7");
  CHECK(classified.evidence->rank == 2);
  CHECK(classified.evidence->node == "n1");
  CHECK(classified.evidence->line == "ValueError: of rank 2");
  end.first_failure = RankFailure{2, "n1", std::nullopt, 9};
  CHECK(classify(end).reason == "signal 9");
  end.out_of_memory_kill = true;
  CHECK(classify(end).reason == "rule:kernel-oom-kill");
}

TEST_CASE("classify: a rank that failed is a failure, whatever the launcher's own exit code",
          "[runner]") {
  TrialEnd end = measured(8);
  end.rank_failed = true;
  end.lines = {"srun: error: n2: task 1: Exited with exit code 5"};
  CHECK(classify(end).outcome == Outcome::crashed);
  CHECK(classify(end).reason == "exit 5");
}

TEST_CASE("classify: the outcome is never ok unless a trial exited well or was ended for good",
          "[runner]") {
  Random random(Seed{11});
  for (int round = 0; round < 3000; ++round) {
    TrialEnd end = measured(static_cast<int>(random.below(12)));
    end.exit_code = static_cast<int>(random.below(4));
    if (random.below(3) == 0) {
      end.exit_code.reset();
      end.signal = 1 + static_cast<int>(random.below(15));
    }
    if (random.below(4) == 0) end.ended_by_us = static_cast<EndReason>(random.below(9));
    const Classified classified = classify(end);
    const bool well = end.exit_code == 0 && end.has_interval;
    const bool ended_for_good = end.ended_by_us && *end.ended_by_us <= EndReason::cannot_win;
    if (classified.outcome == Outcome::ok) CHECK((well || ended_for_good));
    CHECK_FALSE(classified.reason.empty());
    CHECK(classified.evidence.has_value() == (classified.outcome != Outcome::ok));
  }
}

}  // namespace slurmtune
