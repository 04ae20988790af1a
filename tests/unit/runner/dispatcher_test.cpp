// SPDX-License-Identifier: MIT
#include "slurmtune/runner/lane/dispatcher.hpp"

#include <chrono>
#include <vector>

#include "slurmtune/runner/wall_clock.hpp"
#include "slurmtune/study/files.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/temporary_directory.hpp"

namespace slurmtune {

namespace {

/// Keeps what is sent.
class KeepingLink final : public PacketLink {
 public:
  explicit KeepingLink(int size) : size_(size) {}
  void send(int to, const Words& words) override { sent.emplace_back(to, words); }
  std::optional<Packet> receive() override { return std::nullopt; }
  std::size_t backlog_bytes() const override { return 0; }
  int rank() const override { return 0; }
  int size() const override { return size_; }

  std::vector<std::pair<int, Words>> sent;

 private:
  int size_;
};

/// Two lanes of two nodes each, on four ranks, and four experiments.
struct Task {
  explicit Task(std::optional<Instant> ends_by = std::nullopt) {
    for (const char* name : {"a", "b", "c", "d"}) {
      Experiment experiment;
      experiment.id.text = name;
      experiment.limits.total_s = 100;
      experiments.push_back(experiment);
    }
    setting.started = wall_clock();
    setting.ends_by = ends_by;
    setting.allocated_nodes = 4;
    TaskStart start;
    start.stage.text = "01-grid";
    shard.emplace(ShardWriter::create(directory.path(), start).value());
    dispatcher.emplace(frame, experiments, lay_out_lanes(2, 2, 4), *shard, link);
  }

  void report(int rank, const std::string& problem = "") {
    NodeReport report;
    report.record.facts.node = "n" + std::to_string(rank + 1);
    report.problem = problem;
    const Words words = to_words(report);
    WordReader reader(words);
    dispatcher->node(rank, reader);
  }
  void report_all() {
    for (int rank = 0; rank < 4; ++rank) report(rank);
  }
  void verdict(const std::string& experiment, Outcome outcome) {
    Verdict made;
    made.experiment.text = experiment;
    made.outcome = outcome;
    const Words words{std::to_string(static_cast<int>(outcome)), "1.5", experiment, "its line",
                      render_shard_line(made).value()};
    WordReader reader(words);
    dispatcher->verdict(reader);
  }
  /// What was given out: rank and experiment.
  [[nodiscard]] std::vector<std::pair<int, std::string>> given() const {
    std::vector<std::pair<int, std::string>> all;
    for (const auto& [to, words] : link.sent) {
      if (words.front() == "run") all.emplace_back(to, words.at(2));
    }
    return all;
  }
  [[nodiscard]] Shard written() const {
    const auto path = directory.path() / "0_0.0.jsonl";
    return parse_shard(read_file(path).value(), path.string()).value();
  }

  TemporaryDirectory directory;
  StudyFiles files;
  TaskSetting setting;
  std::unique_ptr<RankLauncher> launcher = make_launcher(Launcher::torch, {}, {});
  Environment environment;
  TrialFrame frame{files, setting, *launcher, environment, environment, 0, {}, {}, {}, {}};
  KeepingLink link{4};
  std::vector<Experiment> experiments;
  std::optional<ShardWriter> shard;
  std::optional<Dispatcher> dispatcher;
};

using Given = std::vector<std::pair<int, std::string>>;

}  // namespace

TEST_CASE("Dispatcher: lanes pull, once every node has told of itself", "[runner]") {
  Task task;
  task.dispatcher->next(1);
  task.report(0);
  task.report(1);
  task.report(3);
  CHECK(task.given().empty());
  task.report(2);
  CHECK(task.given() == Given{{2, "a"}});
  task.dispatcher->next(0);
  task.verdict("b", Outcome::ok);
  task.dispatcher->next(0);
  CHECK(task.given() == Given{{2, "a"}, {0, "b"}, {0, "c"}});
  CHECK_FALSE(task.dispatcher->is_done());
  for (const int lane : {0, 0, 1}) task.dispatcher->next(lane);
  CHECK(task.given().size() == 4);
  CHECK(task.dispatcher->is_done());
  CHECK(task.dispatcher->end().has_value());
  CHECK(task.written().nodes.size() == 4);
  CHECK(task.written().end->reason == "done");
}

TEST_CASE("Dispatcher: a lane on a node that does not fit leaves the work to the others",
          "[runner]") {
  Task task;
  for (const int rank : {0, 1, 2}) task.report(rank);
  task.report(3, "node n4: no GPUs");
  task.dispatcher->next(1);
  CHECK(task.written().verdicts.empty());
  for (int i = 0; i < 4; ++i) task.dispatcher->next(0);
  CHECK(task.given().size() == 4);
  CHECK_FALSE(task.dispatcher->is_done());
  task.dispatcher->next(0);
  CHECK(task.dispatcher->is_done());
}

TEST_CASE("Dispatcher: what failed on a node is run on another while there is one", "[runner]") {
  Task task;
  task.dispatcher->avoid({{{"a"}, {"n2"}}, {{"b"}, {"n1"}}, {{"c"}, {"n1", "n3"}}});
  task.report_all();  // n1 and n2 are lane 0's, n3 and n4 lane 1's
  task.dispatcher->next(0);
  CHECK(task.given() == Given{{0, "d"}});
  task.dispatcher->next(1);
  task.dispatcher->next(0);  // "c" failed on both lanes' nodes, and runs all the same
  CHECK(task.given() == Given{{0, "d"}, {2, "a"}, {0, "c"}});
  task.dispatcher->next(0);  // "b" is left to the other lane
  CHECK(task.given().size() == 3);
  CHECK_FALSE(task.dispatcher->is_done());
  task.dispatcher->next(1);
  CHECK(task.given().back() == std::pair<int, std::string>{2, "b"});
  task.dispatcher->next(1);
  CHECK(task.dispatcher->is_done());
}

TEST_CASE("Dispatcher: where no lane fits every experiment is a launch error that says why",
          "[runner]") {
  Task task;
  for (const int rank : {0, 2}) task.report(rank);
  for (const int rank : {1, 3}) task.report(rank, "node n4: no GPUs");
  task.dispatcher->next(0);
  task.dispatcher->next(1);
  CHECK(task.given().empty());
  CHECK(task.dispatcher->is_done());
  const Shard shard = task.written();
  REQUIRE(shard.verdicts.size() == 4);
  for (const Verdict& verdict : shard.verdicts) {
    CHECK(verdict.outcome == Outcome::launch_error);
    CHECK(verdict.evidence->line == "node n4: no GPUs");
  }
}

TEST_CASE("Dispatcher: without time for another experiment the rest is not started", "[runner]") {
  using namespace std::chrono_literals;
  Task task(wall_clock() + 50s);
  task.report_all();
  task.dispatcher->next(0);
  CHECK(task.given().empty());
  task.dispatcher->next(1);
  CHECK(task.dispatcher->is_done());
  CHECK(task.dispatcher->end().has_value());
  CHECK(task.written().verdicts.size() == 4);
  CHECK(task.written().verdicts.front().reason == "no_time");
  CHECK(task.written().end->reason == "no_time");
}

TEST_CASE("Dispatcher: a preempted trial, or a word to stop, is the end of the rest", "[runner]") {
  for (const bool told : {true, false}) {
    Task task;
    task.report_all();
    task.dispatcher->next(0);
    task.dispatcher->next(1);
    if (told) task.dispatcher->go_on(EndReason::preempted);
    task.verdict("a", Outcome::preempted);
    task.dispatcher->next(0);
    CHECK_FALSE(task.dispatcher->is_done());  // the other lane still runs
    task.verdict("b", Outcome::preempted);
    task.dispatcher->next(1);
    CHECK(task.dispatcher->is_done());
    CHECK(task.given().size() == 2);
    CHECK(task.dispatcher->end().has_value());
    CHECK(task.written().end->reason == "preempted");
  }
}

TEST_CASE("Dispatcher: a full disk or a lane that failed ends the task with its reason",
          "[runner]") {
  Task full;
  full.report_all();
  full.dispatcher->next(0);
  full.dispatcher->next(1);
  full.verdict("a", Outcome::storage_error);
  full.dispatcher->next(0);
  full.verdict("b", Outcome::ok);
  full.dispatcher->next(1);
  CHECK(full.given().size() == 2);
  CHECK(full.dispatcher->is_done());
  const auto end = full.dispatcher->end();
  REQUIRE_FALSE(end.has_value());
  CHECK(end.error().message.find("its line") != std::string::npos);
  CHECK(full.written().end->reason == "storage_error");

  Task failed;
  failed.report_all();
  failed.dispatcher->next(0);
  failed.dispatcher->next(1);
  const Words words{std::to_string(static_cast<int>(ErrorKind::corrupt_data)), "no manifest"};
  WordReader reader(words);
  failed.dispatcher->error(reader);
  failed.verdict("b", Outcome::ok);
  failed.dispatcher->next(1);
  CHECK(failed.dispatcher->is_done());
  CHECK(failed.dispatcher->end().error().kind == ErrorKind::corrupt_data);
}

}  // namespace slurmtune
