// SPDX-License-Identifier: MIT
#pragma once

// What a study knows when a strategy is asked: built step by step, without a generator.

#include <string>
#include <vector>

#include "slurmtune/search/strategies.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/tuning_fixture.hpp"

namespace slurmtune::test {

class Past {
 public:
  explicit Past(StudyInput study, Machine made_up = usual_machine())
      : input(std::move(study)), machine(std::move(made_up)) {
    auto made = make_space(input.spec);
    INFO((made ? std::string() : made.error().message));
    REQUIRE(made);
    space_ = *std::move(made);
    machine.noise = 0.0;
  }

  /// Runs configurations on the machine.
  Past& ran(const std::vector<Configuration>& configurations) {
    for (const Configuration& configuration : configurations) {
      const Experiment experiment = experiment_of(configuration);
      Random chance(Seed{1});
      experiments_.push_back(experiment);
      verdicts_.push_back(machine.run(experiment, chance));
    }
    return *this;
  }
  /// Lets one end in another way.
  Past& ended(const Configuration& configuration, Outcome outcome, int tries = 1,
              const std::string& line = "") {
    Experiment experiment = experiment_of(configuration);
    experiments_.push_back(experiment);
    for (; experiment.attempt < tries; ++experiment.attempt) {
      verdicts_.push_back(failed(experiment, outcome, line));
    }
    return *this;
  }
  /// A repeat of confirm.
  Past& repeated(const Configuration& configuration, int repeat, double throughput) {
    const Experiment experiment = experiment_of(configuration, Purpose::confirm, repeat);
    experiments_.push_back(experiment);
    if (throughput > 0.0) verdicts_.push_back(ok(experiment, throughput));
    if (throughput == 0.0) {
      Experiment again = experiment;
      for (; again.attempt < 2; ++again.attempt) {
        verdicts_.push_back(failed(again, Outcome::crashed));
      }
    }
    return *this;
  }
  /// A repeat of confirm that runs out of memory.
  Past& exhausted(const Configuration& configuration, int repeat) {
    experiments_.push_back(experiment_of(configuration, Purpose::confirm, repeat));
    verdicts_.push_back(failed(experiments_.back(), Outcome::gpu_oom));
    return *this;
  }

  /// An experiment of the knobs stage; 0 = out of memory.
  Past& tried(const Configuration& configuration, int steps, double throughput) {
    const Experiment experiment = experiment_of(configuration, Purpose::knobs, 0, steps);
    experiments_.push_back(experiment);
    verdicts_.push_back(throughput > 0.0 ? ok(experiment, throughput)
                                         : failed(experiment, Outcome::gpu_oom));
    return *this;
  }

  [[nodiscard]] SearchContext context() {
    history_ = History();
    history_.add(manifest_of("01-profile", experiments_), verdicts_);
    return {input, *space_, history_, *objective()};
  }
  [[nodiscard]] StageFacts facts(int zero_stage) {
    for (StageFacts& facts : stage_facts(context())) {
      if (facts.zero_stage == zero_stage) return std::move(facts);
    }
    FAIL("no facts of ZeRO stage " << zero_stage);
    return {};
  }

  StudyInput input;
  Machine machine;

 private:
  const Objective* objective() {
    auto compiled = Objective::compile(input);
    REQUIRE(compiled);
    objective_ = *std::move(compiled);
    return &*objective_;
  }

  std::optional<Space> space_;
  std::optional<Objective> objective_;
  std::vector<Experiment> experiments_;
  std::vector<Verdict> verdicts_;
  History history_;
};

/// `z1:4 z2:6`, in order, with `r<repeat>` behind where it is not 0.
inline std::string shown(const std::vector<Proposal>& proposals) {
  std::string text;
  for (const Proposal& proposal : proposals) {
    if (!text.empty()) text += ' ';
    text += "z" + std::to_string(*proposal.configuration.integer(zero_stage_parameter)) + ":" +
            std::to_string(*proposal.configuration.integer(micro_batch_parameter));
    if (proposal.repeat > 0) text += "r" + std::to_string(proposal.repeat);
  }
  return text;
}

}  // namespace slurmtune::test
