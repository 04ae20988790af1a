// SPDX-License-Identifier: MIT
#include "slurmtune/cli/follow.hpp"

#include <chrono>
#include <cstdlib>
#include <thread>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "slurmtune/analyze/result_analyzer.hpp"
#include "slurmtune/cli/interrupt.hpp"
#include "slurmtune/cli/output.hpp"
#include "slurmtune/execute/allocation_end.hpp"

namespace slurmtune {

namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr milliseconds local_look_interval{500};
constexpr milliseconds cluster_look_interval{3000};
constexpr milliseconds queue_interval{30'000};

/// Before an allocation's end: for ending a trial and writing the result.
constexpr std::chrono::seconds end_margin{120};

/// True once in every interval.
class Every {
 public:
  explicit Every(milliseconds interval) : interval_(interval) {}
  bool due() {
    const auto now = Clock::now();
    if (now < next_) return false;
    next_ = now + interval_;
    return true;
  }

 private:
  milliseconds interval_;
  Clock::time_point next_ = Clock::time_point::min();
};

tl::unexpected<Error> left_unfinished(const OpenStudy& study, std::string_view why) {
  return unavailable(
      fmt::format("{}; nothing that was measured is lost, go on with: slurmtune "
                  "resume {}",
                  why, study.autotuner->directory().root().string()));
}

/// When the allocation that holds the study ends, if one does. Its jobs are told as well.
Expected<std::optional<Instant>> end_of_allocation(const OpenStudy& study) {
  if (study.state.created.submit == "local") return std::nullopt;
  if (!held_nodes()) {
    return invalid_input(
        fmt::format("{}: its jobs run inside an allocation, and there is none here; go on inside "
                    "one: salloc -N NODES slurmtune resume {}",
                    study.autotuner->directory().root().string(),
                    study.autotuner->directory().root().string()));
  }
  const auto end = allocation_end(real_world().now());
  if (end) {
    const auto seconds = std::chrono::floor<std::chrono::seconds>(end->time_since_epoch());
    ::setenv("SLURM_JOB_END_TIME", std::to_string(seconds.count()).c_str(), 0);
  }
  return end;
}

/// Whether another job goes on after this one. Asked again at its end: at its start there may have
/// been no room in the queue for one.
bool goes_on_elsewhere(const OpenStudy& study) {
  return study.is_one_job() && prepare_successor(study.autotuner->directory()).has_value();
}

ExitCode left_to_next_job() {
  print(std::string("the time of this job is over; the next job of the study goes on\n"));
  return ExitCode::done;
}

/// The job that would go on has nothing left to do, unless it is to have the training.
Expected<void> end_chain(const OpenStudy& study, const StudyView& view) {
  if (wants_training(view.plan, view.state) && !view.state.training) return {};
  SLURMTUNE_TRY(const auto slurm, open_slurm());
  return cancel_whole_jobs(study.autotuner->directory(), *slurm, real_world().own_job);
}

}  // namespace

Expected<ExitCode> run_local_study(OpenStudy& study) {
  SLURMTUNE_CHECK(check_alone(study));
  SLURMTUNE_TRY(const auto ends_by, end_of_allocation(study));
  Autotuner& autotuner = *study.autotuner;
  SLURMTUNE_CHECK(autotuner.advance({Role::resume, 0}));
  const InterruptGuard guard;
  ProgressLine progress;
  Every look(local_look_interval);
  std::size_t decided = 0;
  std::optional<Error> error;
  const auto keep_going = [&] {
    if (InterruptGuard::interrupted() || InterruptGuard::time_is_up() || error) return false;
    if (!look.due()) return true;
    if (ends_by && real_world().now() > *ends_by - end_margin) InterruptGuard::set_time_is_up();
    auto view = autotuner.look(Autotuner::Queue::skip);
    if (!view) {
      error = view.error();
      return false;
    }
    progress.show(progress_line(autotuner.input(), *view));
    // Cancelled from elsewhere.
    if (view->state.finished && view->state.cancelled) return false;
    // A decision was made by one of the jobs: what it drops is cancelled here, where jobs are
    // known.
    if (view->state.decided.size() != decided) {
      decided = view->state.decided.size();
      if (const auto advanced = autotuner.advance({Role::submit, 0}); !advanced) {
        error = advanced.error();
      }
    }
    return !error;
  };
  const bool all_ran = study.local->run_until_idle(keep_going);
  progress.end();
  if (error) return tl::unexpected<Error>(*error);
  if (InterruptGuard::time_is_up()) {
    SLURMTUNE_TRY(const StudyView cut, autotuner.look(Autotuner::Queue::skip));
    if (!cut.state.finished && goes_on_elsewhere(study)) return left_to_next_job();
    SLURMTUNE_CHECK(autotuner.advance({Role::guard, 0}));
  }
  SLURMTUNE_TRY(const StudyView view, autotuner.look(Autotuner::Queue::skip));
  if (!view.state.finished && all_ran && view.time_follows) return left_to_next_job();
  if (view.state.finished && view.time_follows) SLURMTUNE_CHECK(end_chain(study, view));
  if (!all_ran && !view.state.finished) return left_unfinished(study, "interrupted");
  if (!view.state.finished) {
    return left_unfinished(
        study,
        fmt::format("all jobs have ended without a result; their output is in {}/stages/*/logs",
                    autotuner.directory().root().string()));
  }
  return print_report(study, false);
}

Expected<ExitCode> watch_study(OpenStudy& study) {
  Autotuner& autotuner = *study.autotuner;
  const InterruptGuard guard;
  ProgressLine progress;
  Every ask(queue_interval);
  bool idle_before = false;
  for (;;) {  // ends with the study, its jobs or Ctrl-C
    const bool asked = ask.due();
    SLURMTUNE_TRY(const StudyView view,
                  autotuner.look(asked ? Autotuner::Queue::ask : Autotuner::Queue::skip));
    progress.show(progress_line(autotuner.input(), view));
    if (view.state.finished) break;
    if (InterruptGuard::interrupted()) {
      progress.end();
      print(
          fmt::format("the study goes on without this process; look at it with: slurmtune status "
                      "{}\n",
                      autotuner.directory().root().string()));
      return ExitCode::failed;
    }
    if (asked && view.live_jobs) {
      // Twice in a row, so that the last job's files have had time to show.
      if (view.live_jobs->empty() && idle_before) {
        progress.end();
        return left_unfinished(study, "no job of the study is left, and it is not finished");
      }
      idle_before = view.live_jobs->empty();
    }
    std::this_thread::sleep_for(cluster_look_interval);
  }
  progress.end();
  return print_report(study, false);
}

Expected<ExitCode> print_report(OpenStudy& study, bool as_json) {
  Autotuner& autotuner = *study.autotuner;
  SLURMTUNE_TRY(const StudyView view, autotuner.look(Autotuner::Queue::skip));
  TuningResult result;
  const StageView* last = nullptr;
  for (const StageView& stage : view.stages) {
    if (stage.decision && stage.decision->result) last = &stage;
  }
  if (last != nullptr) {
    result = *last->decision->result;
  } else {
    const Stop stop = view.state.finished ? view.state.finished->stop : Stop::nothing_worked;
    const auto history = history_of(view, view.stages.size() - 1);
    result = ResultAnalyzer(autotuner.input(), autotuner.plan())
                 .result(history, {.node_seconds = spent_node_seconds(view)}, stop);
  }
  const ReportInput report{autotuner.directory(), autotuner.input(), view, result};
  if (as_json) {
    print(report_json(report));
  } else {
    print(report_text(report, colour_of_output()));
  }
  if (result.stop == Stop::storage_error) return ExitCode::failed;
  const auto& training = view.state.training;
  if (training && training->ended && training->exit_code != 0) return ExitCode::no_result;
  return result.best ? ExitCode::done : ExitCode::no_result;
}

}  // namespace slurmtune
