// SPDX-License-Identifier: MIT
#include "slurmtune/model/order_knowledge.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "slurmtune/base/random.hpp"

#include "tests/support/catch.hpp"

namespace slurmtune {

namespace {

LevelParameter numbers(std::string role, std::vector<std::int64_t> values) {
  LevelParameter made;
  made.name = role;
  made.role = std::move(role);
  for (const auto value : values) made.levels.emplace_back(value);
  return made;
}

LevelParameter words(std::string name, std::string role, std::vector<std::string> values) {
  LevelParameter made;
  made.name = std::move(name);
  made.role = std::move(role);
  for (auto& value : values) made.levels.emplace_back(std::move(value));
  return made;
}

MemoryDemand at(const MemoryOrder& order, Levels levels) { return order.of(levels); }

/// micro_batch 1 2 4, checkpointing none selective full, a kernel that no role knows.
std::vector<LevelParameter> small_space() {
  return {numbers("micro_batch", {1, 2, 4}),
          words("ac", "activation_checkpointing", {"none", "selective", "full"}),
          words("kernel", "", {"a", "b"})};
}

}  // namespace

TEST_CASE("MemoryOrder: more of what fills memory, less of what saves it", "[model]") {
  const auto space = small_space();
  const MemoryOrder order(space);
  CHECK(order.is_known());
  CHECK(compare(at(order, {0, 2, 0}), at(order, {1, 0, 0})) == MemoryComparison::less);
  CHECK(compare(at(order, {1, 0, 0}), at(order, {0, 2, 0})) == MemoryComparison::more);
  CHECK(compare(at(order, {0, 0, 0}), at(order, {1, 1, 0})) == MemoryComparison::unrelated);
  CHECK(compare(at(order, {0, 0, 0}), at(order, {2, 0, 1})) == MemoryComparison::unrelated);
  CHECK(compare(at(order, {1, 1, 1}), at(order, {1, 1, 1})) == MemoryComparison::equal);
  CHECK(compare(at(order, {1, -1, 1}), at(order, {2, 1, 1})) == MemoryComparison::unrelated);
}

TEST_CASE("MemoryOrder: without roles nothing is ordered", "[model]") {
  const std::vector<LevelParameter> space{words("x", "", {"1", "2"}), words("y", "odd", {"1"})};
  const MemoryOrder order(space);
  CHECK_FALSE(order.is_known());
  CHECK(compare(at(order, {0, 0}), at(order, {1, 0})) == MemoryComparison::unrelated);
}

TEST_CASE("MemoryOrder: ranks that are traded for data parallelism divide all that it does",
          "[model]") {
  const std::vector<LevelParameter> space{
      numbers("data_parallel", {2, 4, 8}), numbers("tensor_parallel", {1, 2, 4}),
      numbers("pipeline_parallel", {1, 2}), numbers("gradient_accumulation", {1, 8})};
  const MemoryOrder order(space);
  // dp 4 x tp 2 against dp 8 x tp 1; accumulation does not count.
  CHECK(compare(at(order, {1, 1, 0, 1}), at(order, {2, 0, 0, 0})) == MemoryComparison::less);
  CHECK(compare(at(order, {1, 0, 1, 0}), at(order, {2, 0, 0, 0})) == MemoryComparison::less);
  // dp 2 x tp 2: half of the GPUs.
  CHECK(compare(at(order, {0, 1, 0, 0}), at(order, {2, 0, 0, 0})) == MemoryComparison::unrelated);
}

TEST_CASE("MemoryOrder: at stage 3 a pipeline does not make up for data parallelism", "[model]") {
  const std::vector<LevelParameter> space{numbers("data_parallel", {4, 8}),
                                          numbers("pipeline_parallel", {1, 2}),
                                          numbers("zero_stage", {1, 3})};
  const MemoryOrder order(space);
  CHECK(compare(at(order, {0, 1, 0}), at(order, {1, 0, 0})) == MemoryComparison::less);
  CHECK(compare(at(order, {0, 1, 1}), at(order, {1, 0, 1})) == MemoryComparison::unrelated);
  CHECK(compare(at(order, {1, 1, 1}), at(order, {1, 0, 1})) == MemoryComparison::less);
}

// 181B on 384 A100 of 80 GB, ZeRO 1, checkpointing: bigscience-workshop/bigscience,
// train/tr11-176B-ml/chronicles-prequel.md, lines 786 and 798 (Apache-2.0).
TEST_CASE("OrderKnowledge: BigScience's failures are above all that ran", "[model]") {
  const std::vector<LevelParameter> space{numbers("data_parallel", {4, 6, 8, 12, 16, 24, 32, 48}),
                                          numbers("tensor_parallel", {2, 4, 8}),
                                          numbers("pipeline_parallel", {1, 2, 4, 6, 8, 12, 24}),
                                          numbers("micro_batch", {1, 2, 4, 6})};
  const MemoryOrder order(space);
  OrderKnowledge knowledge;
  knowledge.add(at(order, {6, 0, 3, 0}), Settled::does_not_fit);  // dp 32 tp 2 pp 6 mbs 1
  knowledge.add(at(order, {4, 1, 3, 2}), Settled::fits);          // dp 16 tp 4 pp 6 mbs 4, 75 GB
  CHECK(knowledge.of(at(order, {6, 0, 3, 1})) == Settled::does_not_fit);  // mbs 2: it was so
  CHECK(knowledge.of(at(order, {4, 1, 3, 1})) == Settled::fits);          // 57 GB
  CHECK(knowledge.of(at(order, {2, 1, 5, 2})) == Settled::fits);          // dp 8 pp 12, 60 GB
  CHECK(knowledge.of(at(order, {2, 2, 3, 2})) == Settled::fits);          // tp 8, 55 GB
  CHECK(knowledge.of(at(order, {4, 0, 5, 1})) == Settled::open);          // tp 2 pp 12, 63 GB
  CHECK(knowledge.refuted() == 0);
}

TEST_CASE("OrderKnowledge: a failure below what fits settles nothing, in any order", "[model]") {
  const auto space = small_space();
  const MemoryOrder order(space);
  struct Outcome {
    Levels levels;
    Settled outcome;
  };
  std::vector<Outcome> outcomes{{{1, 1, 0}, Settled::does_not_fit},
                                {{2, 1, 0}, Settled::does_not_fit},
                                {{1, 1, 0}, Settled::fits},
                                {{0, 1, 0}, Settled::does_not_fit},
                                {{0, 2, 0}, Settled::fits}};
  std::vector<std::size_t> sequence{0, 1, 2, 3, 4};
  do {
    OrderKnowledge knowledge;
    for (const auto i : sequence) knowledge.add(at(order, outcomes[i].levels), outcomes[i].outcome);
    CHECK(knowledge.of(at(order, {1, 1, 0})) == Settled::fits);
    CHECK(knowledge.of(at(order, {0, 1, 0})) == Settled::fits);
    CHECK(knowledge.of(at(order, {2, 1, 0})) == Settled::does_not_fit);
    CHECK(knowledge.of(at(order, {2, 0, 0})) == Settled::does_not_fit);
    CHECK(knowledge.of(at(order, {1, 0, 0})) == Settled::open);
    CHECK(knowledge.of(at(order, {2, 0, 1})) == Settled::open);
    CHECK(knowledge.refuted() == 2);
  } while (std::next_permutation(sequence.begin(), sequence.end()));
}

TEST_CASE("OrderKnowledge: agrees with all pairs compared one by one", "[model]") {
  const std::vector<LevelParameter> space{
      numbers("micro_batch", {1, 2, 4, 8}), numbers("tensor_parallel", {1, 2, 4}),
      numbers("zero_stage", {0, 1, 2, 3}), words("kernel", "", {"a", "b"})};
  const MemoryOrder order(space);
  Random random(Seed{7});
  for (int study = 0; study < 20; ++study) {
    OrderKnowledge knowledge;
    std::vector<std::pair<MemoryDemand, Settled>> trials;
    const auto draw = [&] {
      return at(
          order,
          {static_cast<std::int32_t>(random.below(4)), static_cast<std::int32_t>(random.below(3)),
           static_cast<std::int32_t>(random.below(4)), static_cast<std::int32_t>(random.below(2))});
    };
    for (int trial = 0; trial < 12; ++trial) {
      const auto outcome = random.below(2) == 0 ? Settled::fits : Settled::does_not_fit;
      trials.emplace_back(draw(), outcome);
      knowledge.add(trials.back().first, outcome);
    }
    const auto fitted_above = [&](const MemoryDemand& point) {
      return std::ranges::any_of(trials, [&](const auto& trial) {
        const auto relation = compare(point, trial.first);
        return trial.second == Settled::fits &&
               (relation == MemoryComparison::less || relation == MemoryComparison::equal);
      });
    };
    for (int query = 0; query < 50; ++query) {
      const MemoryDemand point = draw();
      const bool fails = std::ranges::any_of(trials, [&](const auto& trial) {
        const auto relation = compare(trial.first, point);
        return trial.second == Settled::does_not_fit && !fitted_above(trial.first) &&
               (relation == MemoryComparison::less || relation == MemoryComparison::equal);
      });
      const Settled expected = fitted_above(point) ? Settled::fits
                               : fails             ? Settled::does_not_fit
                                                   : Settled::open;
      REQUIRE(knowledge.of(point) == expected);
    }
  }
}

TEST_CASE("settling_scores: the middle of a chain settles most", "[model]") {
  const std::vector<LevelParameter> space{numbers("micro_batch", {1, 2, 4, 8, 16})};
  const MemoryOrder order(space);
  std::vector<SettlingPoint> points;
  for (std::int32_t level = 0; level < 5; ++level) points.push_back({at(order, {level})});
  const auto even = settling_scores(points, points);
  // Half of those below and half of those above, and itself.
  for (const double score : even) CHECK(score == Approx(3.0));
  // It fits with less and less probability: the smallest settles itself, the largest too; where
  // the outcome is open most of the others are at stake.
  const std::array<double, 5> fits{0.98, 0.9, 0.5, 0.1, 0.02};
  for (std::size_t i = 0; i < points.size(); ++i) points[i].fits = fits[i];
  const auto scores = settling_scores(points, points);
  CHECK(scores[0] == Approx(0.98 * 1 + 0.02 * 5));
  CHECK(scores[2] == Approx(3.0));
  CHECK(scores[4] == Approx(0.02 * 5 + 0.98 * 1));
  CHECK(std::ranges::max_element(scores) - scores.begin() == 2);
}

}  // namespace slurmtune
