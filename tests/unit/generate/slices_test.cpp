// SPDX-License-Identifier: MIT
#include "slurmtune/generate/slices.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/tuning_fixture.hpp"

using namespace slurmtune;
using namespace slurmtune::test;

namespace {

Manifest of(std::int64_t count) {
  Manifest manifest;
  for (std::int64_t i = 0; i < count; ++i) {
    manifest.experiments.push_back(experiment_of(zero(0, i + 1)));
  }
  return manifest;
}

Manifest repeats(int repeats, std::int64_t each) {
  Manifest manifest;
  for (int repeat = 1; repeat <= repeats; ++repeat) {
    for (std::int64_t i = 0; i < each; ++i) {
      manifest.experiments.push_back(experiment_of(zero(0, i + 1), Purpose::confirm, repeat));
    }
  }
  return manifest;
}

}  // namespace

TEST_CASE("cut_slices: every experiment is in one slice, slices are nearly equal", "[generate]") {
  for (std::int64_t count = 0; count <= 20; ++count) {
    for (std::int64_t per_task = 1; per_task <= 5; ++per_task) {
      Manifest manifest = of(count);
      cut_slices(manifest, {.tasks_max = 20, .per_task = per_task}, Dealing::evenly);
      std::int64_t next = 0;
      std::int64_t least = per_task;
      std::int64_t most = 0;
      for (const Slice& slice : manifest.slices) {
        CHECK(slice.first == next);
        next = slice.end;
        least = std::min(least, slice.end - slice.first);
        most = std::max(most, slice.end - slice.first);
      }
      CAPTURE(count, per_task);
      CHECK(next == count);
      CHECK(most <= per_task);
      CHECK((manifest.slices.empty() || most - least <= 1));
      CHECK(static_cast<std::int64_t>(manifest.slices.size()) == (count + per_task - 1) / per_task);
    }
  }
}

TEST_CASE("cut_slices: what exceeds the tasks or the budget is dropped from the end",
          "[generate]") {
  Manifest narrow = of(10);
  cut_slices(narrow, {.tasks_max = 2, .per_task = 3}, Dealing::evenly);
  CHECK(narrow.slices == std::vector<Slice>{{0, 3}, {3, 6}});
  CHECK(narrow.experiments.size() == 6);

  Manifest poor = of(10);
  cut_slices(poor,
             {.tasks_max = 5, .per_task = 2, .task_node_seconds = 1200, .node_seconds_cap = 3599},
             Dealing::evenly);
  CHECK(poor.slices == std::vector<Slice>{{0, 2}, {2, 4}});
  CHECK(poor.experiments.size() == 4);

  Manifest broke = of(10);
  cut_slices(broke,
             {.tasks_max = 5, .per_task = 2, .task_node_seconds = 1200, .node_seconds_cap = 1199},
             Dealing::evenly);
  CHECK(broke.slices.empty());
  CHECK(broke.experiments.empty());
}

TEST_CASE("cut_slices: repeats go to tasks of their own, the last go first when money is short",
          "[generate]") {
  Manifest manifest = repeats(3, 4);
  cut_slices(manifest, {.tasks_max = 3, .per_task = 4}, Dealing::by_repeat);
  CHECK(manifest.slices == std::vector<Slice>{{0, 4}, {4, 8}, {8, 12}});

  Manifest poor = repeats(3, 4);
  cut_slices(poor,
             {.tasks_max = 3, .per_task = 4, .task_node_seconds = 100, .node_seconds_cap = 250},
             Dealing::by_repeat);
  CHECK(poor.slices == std::vector<Slice>{{0, 4}, {4, 8}});
  CHECK(poor.experiments.back().repeat == 2);

  Manifest one_task = repeats(3, 2);
  cut_slices(one_task, {.tasks_max = 1, .per_task = 6}, Dealing::by_repeat);
  CHECK(one_task.slices == std::vector<Slice>{{0, 6}});
}
