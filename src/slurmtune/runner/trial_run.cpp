// SPDX-License-Identifier: MIT
#include "slurmtune/runner/trial_run.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <optional>
#include <string>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "slurmtune/runner/judge/failure_rules.hpp"
#include "slurmtune/runner/judge/kernel_oom.hpp"
#include "slurmtune/runner/judge/launch_report.hpp"
#include "slurmtune/runner/judge/recent_lines.hpp"
#include "slurmtune/runner/line_splitter.hpp"

namespace slurmtune {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int poll_ms = 50;
constexpr std::size_t pipe_bytes = 65'536;  ///< what a pipe of Linux holds
constexpr double grace_s = 5.0;
constexpr double remote_grace_s = 5.0;  ///< for srun to kill its ranks on other nodes
/// A rank failed while others run: when its last words have surely come.
constexpr double last_words_s = 0.5;
constexpr double last_words_max_s = 3.0;
constexpr double drain_s = 1.0;  ///< for output that is still in the pipes
constexpr double flush_every_s = 2.0;

/// The parts of one running trial, and the loop over them.
class RunningTrial {
 public:
  RunningTrial(const TrialRun& trial, StopSignals& stop, TrialProcess process, TrialLog log,
               Descriptor metrics)
      : stop_(stop),
        watch_(trial.rules),
        process_(std::move(process)),
        log_(std::move(log)),
        metrics_(std::move(metrics)),
        killed_before_(kernel_oom_kills()) {}

  Expected<TrialResult> run(const std::function<Expected<void>()>& tick);

 private:
  [[nodiscard]] double now_s() const {
    return std::chrono::duration<double>(Clock::now() - began_).count();
  }
  Expected<void> look(int wait_ms);
  Expected<void> read_pipe(int fd, LineSplitter& splitter, bool& open);
  Expected<void> read_metrics();
  Expected<void> follow(const std::function<Expected<void>()>& tick);
  void take_line(std::string_view raw, double arrival_s);
  [[nodiscard]] bool has_failed_rank(double now) const;
  Expected<void> end_all();
  Expected<bool> wait_for_end(double seconds);
  Expected<void> hear_of_stop();
  TrialResult result();

  StopSignals& stop_;
  TrialWatch watch_;
  TrialProcess process_;
  TrialLog log_;
  Descriptor metrics_;
  std::int64_t killed_before_;
  Clock::time_point began_ = Clock::now();
  RecentLines recent_;
  LineSplitter out_lines_;
  LineSplitter err_lines_;
  LineSplitter metrics_lines_;
  bool out_open_ = true;
  bool err_open_ = true;
  double flushed_s_ = 0;
  double last_line_s_ = 0;
  std::optional<double> rank_failed_s_;
  std::optional<ProcessEnd> end_;
  std::optional<EndReason> ended_by_us_;
};

void RunningTrial::take_line(std::string_view raw, double arrival_s) {
  const OutputLine line = strip_prefix(raw);
  watch_.output_line(line.text, arrival_s);
  recent_.add(line.text, line.rank, watch_.meter().steps_seen());
  last_line_s_ = arrival_s;
  if (rank_failed_s_ || !is_launcher_line(line.text)) return;
  const std::array<std::string, 1> alone{std::string(line.text)};
  const RankFailure failure = read_launch_report(alone);
  if (failure.rank && (failure.exit_code || failure.signal)) rank_failed_s_ = arrival_s;
}

/// Whether a rank failed so long ago that nothing more will come from it.
bool RunningTrial::has_failed_rank(double now) const {
  if (!rank_failed_s_) return false;
  const bool is_quiet = now - *rank_failed_s_ >= last_words_s && now - last_line_s_ >= last_words_s;
  return is_quiet || now - *rank_failed_s_ >= last_words_max_s;
}

Expected<void> RunningTrial::read_pipe(int fd, LineSplitter& splitter, bool& open) {
  std::array<char, pipe_bytes> buffer;
  const ssize_t count = ::read(fd, buffer.data(), buffer.size());
  if (count < 0) return {};  // nothing there after all
  const double arrival_s = now_s();
  const auto on_line = [&](std::string_view raw) { take_line(raw, arrival_s); };
  if (count == 0) {
    open = false;
    splitter.finish(on_line);
    return {};
  }
  const std::string_view bytes(buffer.data(), static_cast<std::size_t>(count));
  splitter.add(bytes, on_line);
  return log_.add(bytes);
}

Expected<void> RunningTrial::read_metrics() {
  constexpr int reads_max = 64;
  std::array<char, pipe_bytes> buffer;
  for (int i = 0; i < reads_max; ++i) {
    const ssize_t count = ::read(metrics_.get(), buffer.data(), buffer.size());
    if (count <= 0) break;
    const double arrival_s = now_s();
    metrics_lines_.add(std::string_view(buffer.data(), static_cast<std::size_t>(count)),
                       [&](std::string_view line) { watch_.metrics_line(line, arrival_s); });
  }
  return {};
}

/// Waits for something to happen, and takes it in.
Expected<void> RunningTrial::look(int wait_ms) {
  // A negative descriptor is passed over by poll(2).
  std::array<pollfd, 3> watched{{{out_open_ ? process_.out_fd() : -1, POLLIN, 0},
                                 {err_open_ ? process_.err_fd() : -1, POLLIN, 0},
                                 {stop_.wake_fd(), POLLIN, 0}}};
  const int ready = ::poll(watched.data(), watched.size(), wait_ms);
  if (ready > 0) {
    if (watched[0].revents != 0) {
      SLURMTUNE_CHECK(read_pipe(process_.out_fd(), out_lines_, out_open_));
    }
    if (watched[1].revents != 0) {
      SLURMTUNE_CHECK(read_pipe(process_.err_fd(), err_lines_, err_open_));
    }
    if (watched[2].revents != 0) stop_.drain();
  }
  SLURMTUNE_CHECK(read_metrics());
  end_ = process_.poll();
  return {};
}

/// Until the trial ends by itself or has to end.
Expected<void> RunningTrial::follow(const std::function<Expected<void>()>& tick) {
  while (!end_) {
    SLURMTUNE_CHECK(look(poll_ms));
    SLURMTUNE_CHECK(tick());
    const double now = now_s();
    if (now - flushed_s_ > flush_every_s) {
      SLURMTUNE_CHECK(log_.flush());
      flushed_s_ = now;
    }
    if (end_ || has_failed_rank(now)) return {};
    ended_by_us_ = stop_.requested();
    if (!ended_by_us_ && !rank_failed_s_) ended_by_us_ = watch_.due(now);
    if (ended_by_us_) return {};
  }
  return {};
}

/// True once the leader has ended; output goes on being read.
Expected<bool> RunningTrial::wait_for_end(double seconds) {
  const double until = now_s() + seconds;
  while (!end_ && now_s() < until) SLURMTUNE_CHECK(look(poll_ms / 5));
  return end_.has_value();
}

Expected<void> RunningTrial::end_all() {
  if (!end_) {
    process_.signal_all(SIGTERM);
    SLURMTUNE_TRY(bool ended, wait_for_end(grace_s));
    if (!ended && process_.remote() == RemoteEnding::interrupt) {
      process_.signal_leader(SIGINT);
      SLURMTUNE_TRY(ended, wait_for_end(remote_grace_s));
    }
  } else {
    // The leader is gone; give what it left a moment to see that, then read the pipes' rest.
    const double until = now_s() + drain_s;
    while ((out_open_ || err_open_) && now_s() < until && !descendants(::getpid()).empty()) {
      SLURMTUNE_CHECK(look(poll_ms / 5));
    }
  }
  process_.kill_rest();
  const double until = now_s() + drain_s;
  while ((out_open_ || err_open_) && now_s() < until) SLURMTUNE_CHECK(look(poll_ms / 5));
  SLURMTUNE_CHECK(read_metrics());
  end_ = process_.poll();
  return {};
}

/// Slurm tells all processes of a task at once: the trial may hear of its end before we do.
Expected<void> RunningTrial::hear_of_stop() {
  constexpr double settle_s = 0.5;
  constexpr int exit_terminated = 128 + SIGTERM;
  const bool terminated = end_->signal == SIGTERM || end_->exit_code == exit_terminated;
  const double until = now_s() + (terminated ? settle_s : 0.0);
  while (!stop_.requested() && now_s() < until) SLURMTUNE_CHECK(look(poll_ms / 5));
  ended_by_us_ = stop_.requested();
  return {};
}

TrialResult RunningTrial::result() {
  const StepMeter& meter = watch_.meter();
  const StepSummary summary = meter.summary();
  TrialEnd end;
  end.ended_by_us = ended_by_us_;
  if (end_) {
    end.exit_code = end_->exit_code;
    end.signal = end_->signal;
  }
  end.rank_failed = rank_failed_s_.has_value();
  end.out_of_memory_kill = kernel_oom_kills() > killed_before_;
  end.steps_seen = meter.steps_seen();
  end.measured_steps = summary.times.measured;
  end.has_interval = summary.step_s.has_value();
  end.last_loss_is_bad = meter.last_loss_is_bad();
  end.min_steps = watch_.rules().min_steps;
  end.lines = recent_.texts();
  end.line_ranks = recent_.ranks();

  TrialResult result;
  result.verdict = classify(end);
  result.meter = meter;
  result.wall_s = now_s();
  result.startup_s = meter.first_step_at().value_or(result.wall_s);
  if (end_) result.peak_host_bytes = end_->peak_bytes;
  return result;
}

Expected<TrialResult> RunningTrial::run(const std::function<Expected<void>()>& tick) {
  SLURMTUNE_CHECK(follow(tick));
  const bool by_itself = end_.has_value();
  SLURMTUNE_CHECK(end_all());
  if (by_itself && end_ && end_->exit_code != 0) SLURMTUNE_CHECK(hear_of_stop());
  TrialResult ended = result();
  const bool failed = ended.verdict.outcome != Outcome::ok;
  SLURMTUNE_CHECK(log_.close(failed ? KeepLog::whole : KeepLog::tail));
  return ended;
}

TrialResult not_started(const Error& error) {
  TrialEnd end;
  end.not_started = error.message;
  TrialResult result;
  result.verdict = classify(end);
  return result;
}

}  // namespace

Expected<TrialResult> run_trial(const TrialRun& trial, StopSignals& stop,
                                const std::function<Expected<void>()>& tick) {
  SLURMTUNE_TRY(TrialLog log, TrialLog::create(trial.log));
  SLURMTUNE_TRY(Descriptor metrics,
                open_file(trial.metrics.string(), O_RDONLY | O_CREAT | O_TRUNC));
  auto process = TrialProcess::start(trial.process);
  if (!process) {
    SLURMTUNE_CHECK(log.add(process.error().message + "\n"));
    SLURMTUNE_CHECK(log.close(KeepLog::whole));
    return not_started(process.error());
  }
  RunningTrial running(trial, stop, std::move(*process), std::move(log), std::move(metrics));
  return running.run(tick);
}

}  // namespace slurmtune
