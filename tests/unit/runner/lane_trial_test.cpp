// SPDX-License-Identifier: MIT
#include "slurmtune/runner/lane/lane_trial.hpp"

#include <chrono>
#include <csignal>
#include <fstream>
#include <thread>
#include <vector>

#include "slurmtune/study/files.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/temporary_directory.hpp"

namespace slurmtune {

namespace {

using Kind = NodeEvent::Kind;

NodeEvent event(Kind kind, int index = 0, std::string text = "") {
  NodeEvent made;
  made.kind = kind;
  made.index = index;
  made.text = std::move(text);
  return made;
}

NodeEvent ended(int index, std::optional<int> code, std::optional<int> signal = std::nullopt) {
  NodeEvent made = event(Kind::ended, index);
  made.end = {code, signal, 0};
  return made;
}

/// A trial of two ranks on two nodes, whose hosts are played by the test.
class Play {
 public:
  explicit Play(Launcher launcher = Launcher::torch,
                MeasureSource source = MeasureSource::metrics_file) {
    TrialRun run;
    run.rules.source = source;
    run.launch =
        make_launcher(launcher, {}, {true, false, "/runner"})->plan({{"train"}, {"n1", "n2"}, 2});
    run.nodes = {"n1", "n2"};
    run.workdir = "/";
    run.rules.min_steps = 3;
    run.rules.limits = {100, 100, 100};
    run.log = directory_.path() / "trial.log";
    run.metrics = directory_.path() / "metrics.jsonl";
    trial_.emplace(LaneTrial::begin(std::move(run), [this](std::size_t node, const Words& words) {
                     told_.emplace_back(node, words.size() > 1 && words[0] != "start"
                                                  ? words[0] + " " + words[1]
                                                  : words[0]);
                   }).value());
  }

  void happens(std::size_t node, const NodeEvent& event) {
    CHECK(trial_->on_event(node, event).has_value());
    go_on();
  }
  /// What the trial appends to SLURMTUNE_METRICS.
  void report_steps(int count) {
    std::ofstream file(directory_.path() / "metrics.jsonl", std::ios::app);
    for (int step = 1; step <= count; ++step) file << R"({"step_s":0.1,"step":)" << step << "}\n";
  }
  void go_on(std::optional<EndReason> stop = std::nullopt) {
    CHECK(trial_->go_on(stop).has_value());
  }
  /// Until the trial has told something more, or is done.
  void wait(std::optional<EndReason> stop = std::nullopt) {
    const std::size_t before = told_.size();
    for (int i = 0; i < 2000 && told_.size() == before && !trial_->is_done(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      go_on(stop);
    }
  }
  void all_gone() {
    happens(0, event(Kind::gone));
    happens(1, event(Kind::gone));
  }
  [[nodiscard]] TrialResult result() {
    REQUIRE(trial_->is_done());
    return trial_->result().value();
  }
  /// The commands since the last call.
  std::vector<std::pair<std::size_t, std::string>> told() { return std::exchange(told_, {}); }
  [[nodiscard]] std::string log() const {
    return read_file(directory_.path() / "trial.log").value();
  }

 private:
  TemporaryDirectory directory_;
  std::vector<std::pair<std::size_t, std::string>> told_;
  std::optional<LaneTrial> trial_;
};

using Told = std::vector<std::pair<std::size_t, std::string>>;
const std::string terminate = "signal " + std::to_string(SIGTERM);

}  // namespace

TEST_CASE("LaneTrial: a rank that fails ends the trial on all nodes and is named", "[runner]") {
  Play play;
  CHECK(play.told() == Told{{0, "begin"}, {1, "begin"}, {0, "start"}, {1, "start"}});
  play.happens(0, event(Kind::output, 0, "waiting for rank 1\n"));
  play.happens(1, event(Kind::output, 0, "ValueError: no such"));
  play.happens(1, event(Kind::output, 0, " thing\n"));
  play.happens(1, ended(0, 3));
  CHECK(play.told().empty());  // the others may have something to say
  play.happens(0, event(Kind::output, 0, "RuntimeError: Connection closed by peer\n"));
  play.wait();
  CHECK(play.told() == Told{{0, terminate}, {1, terminate}});
  play.happens(0, ended(0, std::nullopt, SIGTERM));
  CHECK(play.told() == Told{{0, "kill"}, {1, "kill"}});
  play.all_gone();
  const TrialResult result = play.result();
  CHECK(result.verdict.outcome == Outcome::crashed);
  CHECK(result.verdict.evidence->rank == 1);
  CHECK(result.verdict.evidence->node == "n2");
  CHECK(result.verdict.evidence->exit_code == 3);
  CHECK(result.verdict.evidence->line == "ValueError: no such thing");
  CHECK(play.log().find("1: ValueError: no such thing\n") != std::string::npos);
}

TEST_CASE("LaneTrial: once all have ended what is left of the output is waited for", "[runner]") {
  Play play;
  play.told();
  play.happens(0, ended(0, 0));
  play.happens(1, ended(0, 0));
  CHECK(play.told().empty());
  play.happens(0, event(Kind::output, 0, "the end without a new line"));
  play.happens(0, event(Kind::output_ended, 0));
  CHECK(play.told().empty());
  play.happens(1, event(Kind::output_ended, 0));
  CHECK(play.told() == Told{{0, "kill"}, {1, "kill"}});
  play.all_gone();
  CHECK(play.result().verdict.outcome == Outcome::config_error);  // no step was seen
  CHECK(play.log().find("0: the end without a new line\n") != std::string::npos);
}

TEST_CASE("LaneTrial: what cannot be started is ended everywhere and says why", "[runner]") {
  Play play;
  play.told();
  play.happens(1, event(Kind::start_failed, 0, "cannot start 'train': no such program"));
  CHECK(play.told() == Told{{0, "kill"}, {1, "kill"}});
  play.all_gone();
  const TrialResult result = play.result();
  CHECK(result.verdict.outcome == Outcome::launch_error);
  CHECK(result.verdict.evidence->line == "cannot start 'train': no such program");
}

TEST_CASE("LaneTrial: a trial that heard of the task's end before the runner did is preempted",
          "[runner]") {
  Play play;
  play.happens(0, ended(0, std::nullopt, SIGTERM));
  play.happens(1, ended(0, std::nullopt, SIGTERM));
  play.happens(0, event(Kind::output_ended, 0));
  play.happens(1, event(Kind::output_ended, 0));
  play.happens(0, event(Kind::gone));
  CHECK(play.told().back().second == "kill");
  CHECK(play.told().empty());
  play.happens(1, event(Kind::gone));
  play.go_on(EndReason::preempted);
  CHECK(play.result().verdict.outcome == Outcome::preempted);
}

TEST_CASE("LaneTrial: what a trial does after it was told to end is not measured", "[runner]") {
  Play play(Launcher::torch, MeasureSource::deepspeed);
  const auto step = [](int number) {
    return event(Kind::output, 0,
                 "[2026-11-30 10:00:00,000] [INFO] [logging.py:96:log_dist] [Rank 0] step=" +
                     std::to_string(number) + ", skipped=0, lr=[0.001], mom=[(0.9, 0.999)]\n");
  };
  for (int number = 1; number <= 3; ++number) play.happens(0, step(number));
  play.go_on(EndReason::preempted);
  for (int number = 4; number <= 50; ++number) play.happens(0, step(number));
  play.happens(0, ended(0, 0));
  play.happens(1, ended(0, 0));
  play.all_gone();
  CHECK(play.result().meter.steps_seen() <= 3);
}

TEST_CASE("LaneTrial: the last words of a rank stay, whatever steps are told around them",
          "[runner]") {
  for (const bool before : {true, false}) {
    Play play;
    if (before) play.report_steps(3);
    play.happens(1, event(Kind::output, 0, "OSError: [Errno 28] No space left on device\n"));
    if (!before) play.report_steps(4);
    play.happens(0, event(Kind::output, 0, "waiting for rank 1\n"));
    play.happens(1, ended(0, 1));
    play.wait();
    play.happens(0, ended(0, std::nullopt, SIGTERM));
    play.all_gone();
    INFO(before);
    CHECK(play.result().verdict.outcome == Outcome::storage_error);
  }
}

TEST_CASE("LaneTrial: ranks of srun that do not go are interrupted, then killed", "[runner]") {
  Play play(Launcher::srun);
  CHECK(play.told() == Told{{0, "begin"}, {1, "begin"}, {0, "start"}});
  play.go_on(EndReason::cancelled);
  CHECK(play.told() == Told{{0, terminate}, {1, terminate}});
  play.wait();
  CHECK(play.told() == Told{{0, "signal-leaders " + std::to_string(SIGINT)},
                            {1, "signal-leaders " + std::to_string(SIGINT)}});
  play.happens(0, ended(0, 130));
  CHECK(play.told() == Told{{0, "kill"}, {1, "kill"}});
  play.all_gone();
  CHECK(play.result().verdict.outcome == Outcome::cancelled);
}

TEST_CASE("LaneTrial: a node whose keeper was killed counts as a rank that was", "[runner]") {
  Play play;
  play.told();
  play.happens(1, event(Kind::gone));
  play.wait();
  CHECK(play.told() == Told{{0, terminate}});
  play.happens(0, ended(0, std::nullopt, SIGTERM));
  CHECK(play.told() == Told{{0, "kill"}});
  play.happens(0, event(Kind::gone));
  const TrialResult result = play.result();
  CHECK(result.verdict.outcome == Outcome::crashed);
  CHECK(result.verdict.evidence->signal == SIGKILL);
  CHECK(result.verdict.evidence->node == "n2");
}

}  // namespace slurmtune
