// SPDX-License-Identifier: MIT
#include "slurmtune/tune/clean.hpp"

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/unit/study/view_builder.hpp"

using namespace slurmtune;

namespace {

namespace fs = std::filesystem;

/// A finished study of one stage: e0 won, e1 worked, e2 failed.
struct OverStudy {
  OverStudy() : directory(home.path()), builder(1) {
    builder.manifest(0, 1, 3);
    builder.shard(0, 0, 3, ViewBuilder::End::done);
    builder.decide(0, NextAction::finish, 0);
    StudyView& view = builder.view;
    view.state.created.submit = "graph";
    for (std::size_t i = 0; i < 3; ++i) {
      const ConfigurationId configuration{std::string(1, static_cast<char>('a' + i))};
      view.stages[0].manifest->experiments[i].configuration_id = configuration;
      view.stages[0].shards[0].verdicts[i].configuration = configuration;
    }
    view.stages[0].shards[0].verdicts[2].outcome = Outcome::crashed;
    view.state.finished = Finished{Stop::gain, ConfigurationId{"a"}};
    for (const std::string name : {"e0", "e1", "e2"}) {
      write("work/" + experiment(name) + "/ds_config.json");
      write("logs/" + experiment(name) + ".log");
    }
    write("work/" + experiment("e1") + ".a1/ds_config.json");
    for (const char* name : {"logs/reduce-7.out", "verdicts/4711_0.0.jsonl", "decision.json",
                             "manifest.jsonl", "proposed-0123.jsonl"}) {
      write(name);
    }
  }

  [[nodiscard]] std::string experiment(const std::string& name) const {
    return builder.name(0).text + "-" + name;
  }
  void write(const std::string& name) const {
    const fs::path path = directory.stage(builder.name(0)) / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << "something\n";
  }
  [[nodiscard]] std::vector<std::string> planned(CleanScope scope = CleanScope::leftovers) const {
    std::vector<std::string> names;
    for (const Removal& removal : plan_clean(directory, builder.view, scope)) {
      names.push_back(removal.path.lexically_relative(directory.stage(builder.name(0))).string());
    }
    return names;
  }

  TemporaryDirectory home;
  StudyDirectory directory;
  ViewBuilder builder;
};

}  // namespace

TEST_CASE("clean: work but the winner's, logs of what worked and proposals may go", "[tune]") {
  const OverStudy study;
  const auto names = study.planned();
  CHECK(names == std::vector<std::string>{
                     "work/" + study.experiment("e1"), "work/" + study.experiment("e1") + ".a1",
                     "work/" + study.experiment("e2"), "logs/" + study.experiment("e1") + ".log",
                     "proposed-0123.jsonl"});
  REQUIRE(remove_planned(plan_clean(study.directory, study.builder.view, CleanScope::leftovers)));
  CHECK(study.planned().empty());
  const fs::path stage = study.directory.stage(study.builder.name(0));
  for (const char* kept :
       {"decision.json", "manifest.jsonl", "verdicts/4711_0.0.jsonl", "logs/reduce-7.out"}) {
    CHECK(fs::exists(stage / kept));
  }
  CHECK(fs::exists(stage / "work" / study.experiment("e0")));
}

TEST_CASE("clean: planning removes nothing, and tells what is on disk", "[tune]") {
  const OverStudy study;
  const auto removals = plan_clean(study.directory, study.builder.view, CleanScope::leftovers);
  REQUIRE_FALSE(removals.empty());
  for (const Removal& removal : removals) {
    CHECK(fs::exists(removal.path));
    CHECK(removal.bytes > 0);
  }
}

TEST_CASE("clean: links are removed, what they point to is not", "[tune]") {
  const OverStudy study;
  const TemporaryDirectory elsewhere;
  std::ofstream(elsewhere / "data") << "dear\n";
  const fs::path stage = study.directory.stage(study.builder.name(0));
  fs::create_directory_symlink(elsewhere.path(), stage / "work" / "st-link");
  REQUIRE(remove_planned(plan_clean(study.directory, study.builder.view, CleanScope::leftovers)));
  CHECK_FALSE(fs::exists(fs::symlink_status(stage / "work" / "st-link")));
  CHECK(fs::exists(elsewhere / "data"));
  // A `work` that is a link itself was not made by us.
  fs::remove_all(stage / "work");
  fs::create_directory_symlink(elsewhere.path(), stage / "work");
  REQUIRE(remove_planned(plan_clean(study.directory, study.builder.view, CleanScope::leftovers)));
  CHECK(fs::exists(elsewhere / "data"));
}

TEST_CASE("clean: all of it is the directory", "[tune]") {
  const OverStudy study;
  const auto removals = plan_clean(study.directory, study.builder.view, CleanScope::all);
  REQUIRE(removals.size() == 1);
  CHECK(removals[0].path == study.directory.root());
}

TEST_CASE("clean: a link to a study is not taken for the study", "[tune]") {
  const OverStudy study;
  CHECK(check_removable(study.directory));
  const TemporaryDirectory elsewhere;
  const StudyDirectory link(elsewhere.path() / "link");
  fs::create_directory_symlink(study.directory.root(), link.root());
  const auto refused = check_removable(link);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == ErrorKind::invalid_input);
  CHECK(refused.error().message.find(fs::canonical(study.directory.root()).string()) !=
        std::string::npos);
}

TEST_CASE("clean: drafts of the study go with what else goes", "[tune]") {
  const OverStudy study;
  const TemporaryDirectory beside;
  const std::vector<fs::path> drafts{beside.path() / ".s.draft.login1.7"};
  fs::create_directories(drafts[0] / "inputs");
  for (const CleanScope scope : {CleanScope::leftovers, CleanScope::all}) {
    const auto removals = plan_clean(study.directory, study.builder.view, scope, drafts);
    REQUIRE(removals.size() > 1);
    CHECK(removals[0].path == drafts[0]);
    CHECK(removals[0].what == "drafts that were never completed");
  }
}

TEST_CASE("clean: a study that runs, or of which that is not known, is left alone", "[tune]") {
  OverStudy study;
  StudyView& view = study.builder.view;
  CHECK(check_over(view, "/s"));
  study.builder.job(study.builder.name(0), JobKind::array, 4711, ViewBuilder::Life::live);
  auto refused = check_over(view, "/s");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message.find("job 4711") != std::string::npos);
  view.live_jobs.reset();
  CHECK_FALSE(check_over(view, "/s"));
  view.live_jobs.emplace();
  CHECK(check_over(view, "/s"));
  view.state.training = TrainingRecord{.job = 5, .started = {}, .ended = {}, .exit_code = 0};
  CHECK_FALSE(check_over(view, "/s"));
  view.state.training.reset();
  view.state.finished.reset();
  refused = check_over(view, "/s");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == ErrorKind::unavailable);
}
