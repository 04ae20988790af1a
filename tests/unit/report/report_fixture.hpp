// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "slurmtune/analyze/result_analyzer.hpp"
#include "slurmtune/generate/label.hpp"
#include "slurmtune/report/text.hpp"

#include "tests/support/temporary_directory.hpp"
#include "tests/support/tuning_fixture.hpp"

namespace slurmtune::test {

/// A DeepSpeed study of two stages whose directory is there, with verdicts as they are added.
struct ReportedStudy {
  explicit ReportedStudy(StudyInput asked = deepspeed_input()) : input(std::move(asked)) {
    view.plan.study = {"6b1f3c52-7c1e-4f0a-9d55-0a3b8e2f4c61"};
    view.plan.study_name = input.spec.name;
    for (const std::string name : {"01-profile", "02-confirm"}) {
      PlannedStage stage;
      stage.name = {name};
      stage.experiments_max = 8;
      view.plan.stages.push_back(stage);
    }
    view.stages.resize(2);
    view.state.created.study = view.plan.study;
    view.state.created.origin = "/home/user/it's here";
    view.state.created.submit = "graph";
  }

  static Experiment labelled(const Configuration& configuration, Purpose purpose, int repeat = 0) {
    Experiment experiment = experiment_of(configuration, purpose, repeat);
    experiment.label = label_of(configuration);
    return experiment;
  }

  void manifest(std::size_t stage, std::vector<Experiment> experiments) {
    view.stages[stage].manifest =
        manifest_of(view.plan.stages[stage].name.text, std::move(experiments));
  }

  /// One shard with these verdicts, by a task of two nodes that ended after 100 s.
  void shard(std::size_t stage, std::vector<Verdict> verdicts) {
    Shard shard;
    shard.start.at = instant(0);
    shard.start.allocated_nodes = 2;
    for (std::size_t i = 0; i < verdicts.size(); ++i) {
      verdicts[i].started = instant(static_cast<int>(i));
      verdicts[i].ended = instant(static_cast<int>(i) + 1);
      verdicts[i].nodes = {"n1", "n2"};
    }
    shard.verdicts = std::move(verdicts);
    shard.end = TaskEnd{.at = instant(100), .reason = "done", .node_seconds = 200};
    view.stages[stage].shards.push_back(std::move(shard));
  }

  static Instant instant(int seconds) {
    return *parse_instant("2026-11-30T21:00:00Z") + std::chrono::seconds(seconds);
  }

  [[nodiscard]] TuningResult result(Stop stop = Stop::gain) const {
    return ResultAnalyzer(input, view.plan)
        .result(history_of(view, 1), {.node_seconds = spent_node_seconds(view)}, stop);
  }

  /// The baseline at 100 samples/s, z1 at 140, z3 out of memory; confirmed in three repeats.
  static ReportedStudy confirmed() {
    ReportedStudy study;
    const Experiment baseline = labelled(zero(0, 1), Purpose::baseline);
    const Experiment better = labelled(zero(1, 4), Purpose::profile);
    const Experiment fails = labelled(zero(3, 32), Purpose::profile);
    study.manifest(0, {baseline, better, fails});
    Verdict oom = failed(fails, Outcome::gpu_oom, "CUDA out of memory. Tried to allocate 2.00 GiB");
    oom.evidence->log = "logs/z3.log";
    study.shard(0, {ok(baseline, 100.0), ok(better, 139.0), oom});
    std::vector<Experiment> repeats;
    std::vector<Verdict> verdicts;
    for (int repeat = 1; repeat <= 3; ++repeat) {
      for (const auto& [configuration, throughput] :
           {std::pair{zero(0, 1), 100.0}, std::pair{zero(1, 4), 140.0}}) {
        repeats.push_back(labelled(configuration, Purpose::confirm, repeat));
        verdicts.push_back(ok(repeats.back(), throughput + 0.1 * repeat));
      }
    }
    study.manifest(1, repeats);
    study.shard(1, verdicts);
    return study;
  }

  /// Nothing worked, not even the baseline.
  static ReportedStudy hopeless() {
    ReportedStudy study;
    const Experiment baseline = labelled(zero(0, 1), Purpose::baseline);
    study.manifest(0, {baseline});
    Verdict refused = failed(baseline, Outcome::config_error, "KeyError: 'optimizer'");
    refused.evidence->log = "logs/baseline.log";
    study.shard(0, {refused});
    return study;
  }

  [[nodiscard]] std::string text(const TuningResult& result, Colour colour = Colour::never) const {
    return report_text({place(), input, view, result}, colour);
  }
  [[nodiscard]] const StudyDirectory& place() const { return place_; }
  /// The text of a file in the study's directory, "" if it is not there.
  [[nodiscard]] std::string file(const std::string& name) const {
    return directory_->read("study/" + name);
  }
  [[nodiscard]] const TemporaryDirectory& directory() const { return *directory_; }

  StudyInput input;
  StudyView view;

 private:
  // Behind a pointer, so that a study can be returned.
  std::shared_ptr<TemporaryDirectory> directory_ = std::make_shared<TemporaryDirectory>();
  StudyDirectory place_{directory_->path() / "study"};
};

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace slurmtune::test
