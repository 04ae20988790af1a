// SPDX-License-Identifier: MIT
#include "slurmtune/tune/training.hpp"

#include <chrono>
#include <csignal>
#include <utility>

#include <fmt/core.h>

#include "slurmtune/study/journal.hpp"
#include "slurmtune/study/state.hpp"

namespace slurmtune {

namespace {

constexpr std::chrono::milliseconds look_interval{200};

std::string begun_before(const TrainingRecord& training) {
  return fmt::format(
      "the training was begun before, {} at {}; it is launched once: to run it again, sbatch "
      "best/train_optimal.sbatch",
      training.job == 0 ? std::string("by hand") : fmt::format("by job {}", training.job),
      format_instant(training.started));
}

Expected<void> check_launchable(const StudyState& state) {
  if (state.cancelled) return unavailable("the study was cancelled: its training is not launched");
  if (!state.finished) return unavailable("the study is not finished: there is no winner yet");
  if (!state.finished->best) {
    return unavailable("the study found no configuration that works: nothing is launched");
  }
  if (state.training) return unavailable(begun_before(*state.training));
  return {};
}

/// Journals an event behind whatever is there; `still_wanted` sees the state before.
template <class Check>
Expected<void> append(const Journal& journal, const World& world, const EventBody& body,
                      const Check& still_wanted) {
  for (;;) {  // each loss means that another event came to be
    SLURMTUNE_TRY(const auto events, journal.read());
    SLURMTUNE_TRY(const StudyState state, fold(events));
    SLURMTUNE_CHECK(still_wanted(state));
    SLURMTUNE_TRY(const auto appended, journal.append(state.last_event + 1, world.now(), body));
    if (appended == Journal::Append::won) return {};
  }
}

ExitStatus wait_for(ChildProcess& training, const World& world,
                    const std::function<bool()>& told_to_end) {
  bool told = false;
  for (;;) {  // ends with the training
    if (const auto status = training.poll()) return *status;
    if (!told && told_to_end()) {
      told = true;
      training.signal_all(SIGTERM);
    }
    world.sleep(look_interval);
  }
}

}  // namespace

Expected<ExitStatus> run_training(const StudyDirectory& directory, const World& world,
                                  const std::function<bool()>& told_to_end) {
  SLURMTUNE_TRY(const Plan plan, directory.read_plan());
  if (!plan.launch) {
    return invalid_input(
        fmt::format("{}: mode = \"tune\" launches no training; use: sbatch {}/train_optimal.sbatch",
                    directory.study_toml().string(), directory.best().string()));
  }
  const Journal journal(directory.journal(), world.after_event);
  SLURMTUNE_CHECK(append(journal, world, TrainingStarted{world.own_job.value_or(0)},
                         [](const StudyState& state) { return check_launchable(state); }));
  const std::string script = (directory.best() / "cmd_optimal.sh").string();
  ExitStatus status{.code = 127, .signal = 0};  // as a shell says of what it cannot start
  auto training = ChildProcess::start({.argv = {"bash", script}, .environment = {}, .workdir = ""},
                                      {.out = "/dev/stdout", .err = "/dev/stderr"});
  if (training) {
    status = wait_for(*training, world, told_to_end);
  } else if (world.say) {
    world.say(training.error().message);
  }
  SLURMTUNE_CHECK(append(journal, world, TrainingEnded{status.code},
                         [](const StudyState&) { return Expected<void>(); }));
  return status;
}

}  // namespace slurmtune
