// SPDX-License-Identifier: MIT
#include "slurmtune/plan/stage_table.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "slurmtune/model/memory_model.hpp"
#include "slurmtune/search/rungs.hpp"
#include "slurmtune/search/strategies.hpp"
#include "slurmtune/space/knob_space.hpp"
#include "slurmtune/space/space_sample.hpp"

namespace slurmtune {

namespace {

/// Adds the rounds of confirm for a study that can compare so many configurations.
void add_confirm(StageTable& table, const Site& site, std::int64_t configurations) {
  const std::int64_t compared = std::min<std::int64_t>(confirm_leaders_max, configurations) + 1;
  const int repeats = repeats_a_round(site);
  const std::int64_t experiments = compared * repeats;
  const int rounds = site.no_queue ? confirm_rounds_without_queue : confirm_rounds;
  for (int round = 0; round < rounds; ++round) {
    table.stages.push_back({.kind = Purpose::confirm,
                            .round = round,
                            .mandatory = round == 0,
                            .experiments = experiments,
                            .likely_experiments = round == 0 ? experiments : experiments / 4,
                            .tasks = repeats});
  }
}

/// The ZeRO stages that are worth running; those that cannot fit go to `pruned`, with figures.
Expected<std::vector<int>> open_stages(const StudyInput& input, const Space& space,
                                       std::vector<Dropped>& pruned) {
  std::vector<int> open;
  bool memory_forbids = false;
  for (const int stage : space.zero_stages()) {
    std::string because = cannot_fit(input.spec, input.site, History{}, stage);
    memory_forbids = memory_forbids || !because.empty();
    if (because.empty() && space.micro_batches(stage).empty()) {
      because = "no micro-batch satisfies the batch rule and the constraints";
    }
    if (because.empty()) {
      open.push_back(stage);
    } else {
      pruned.push_back({fmt::format("zero_stage={}", stage), std::move(because)});
    }
  }
  const bool may_be_rescued = memory_forbids && !input.spec.deepspeed->fast;
  if (!open.empty() || may_be_rescued) return open;
  // Then the space itself is empty, and knows which line of study.toml empties it.
  if (!memory_forbids) SLURMTUNE_CHECK(space.enumerate(1));
  std::string reasons;
  for (const Dropped& dropped : pruned) {
    reasons += fmt::format("; {}: {}", dropped.what, dropped.because);
  }
  return invalid_input(fmt::format(
      "{}: no ZeRO stage can be run{}; use more nodes, another batch, fast = false (it tries "
      "offload), or correct model.params or gpu_bytes of the site",
      input.spec.path, reasons));
}

/// Counts the space. A space that is empty is an error, one that cannot be counted is not: the
/// caller has seen already that there are configurations.
std::int64_t countable_size(const Space& space) {
  const auto all = space.enumerate(grid_size_max);
  return all ? static_cast<std::int64_t>(all->size()) : 0;
}

/// Adds the rounds of the knobs, if there are any worth trying. What is not goes to `pruned`.
/// Returns how many configurations with knobs there may be.
Expected<std::int64_t> add_knobs(const StudyInput& input, const Space& space,
                                 const std::vector<int>& open, StageTable& table) {
  if (input.spec.deepspeed->fast) return 0;
  SLURMTUNE_TRY(const KnobSpace knobs,
                make_knob_space(input, space, {.params = input.spec.model.params}));
  for (const Dropped& dropped : knobs.pruned()) table.pruned.push_back(dropped);
  std::int64_t alternatives = 0;
  for (const int stage : open.empty() ? space.zero_stages() : open) {
    alternatives += static_cast<std::int64_t>(knobs.alternatives(stage));
  }
  if (alternatives == 0) return 0;
  const std::vector<int> steps = rung_steps(input.spec.measure);
  // Each alternative by itself, at three micro-batches at most, and as many combinations.
  const std::int64_t total = std::min(input.spec.search.knob_experiments, 6 * alternatives);
  const std::int64_t first = first_rung_within(total, steps.size());
  if (first == 0) return 0;
  const std::vector<std::int64_t> widths = rung_widths(first, steps.size());
  for (std::size_t round = 0; round < widths.size(); ++round) {
    table.stages.push_back({.kind = Purpose::knobs,
                            .round = static_cast<int>(round),
                            .mandatory = false,
                            .experiments = widths[round],
                            .likely_experiments = widths[round],
                            .tasks = std::nullopt});
  }
  return total;
}

Expected<StageTable> deepspeed_table(const StudyInput& input, const Space& space) {
  StageTable table;
  SLURMTUNE_TRY(const std::vector<int> open, open_stages(input, space, table.pruned));
  std::int64_t candidates = 0;  // pairs of ZeRO stage and micro-batch
  std::int64_t profiled = 0;
  for (const int stage : open) {
    const auto sizes = static_cast<std::int64_t>(space.micro_batches(stage).size());
    candidates += sizes;
    profiled += std::min<std::int64_t>(2, sizes);
  }
  table.grid_size = countable_size(space);
  table.stages.push_back({.kind = Purpose::profile,
                          .round = 0,
                          .mandatory = true,
                          .experiments = profiled + 1,
                          .likely_experiments = profiled + 1,
                          .tasks = std::nullopt});
  const std::int64_t width = input.spec.search.width;
  std::int64_t remaining = candidates - profiled;
  for (int round = 0; round < std::max(1, input.spec.search.rounds); ++round) {
    // The first round is there in any case: it also holds what profile must try again.
    if (round > 0 && remaining <= 0) break;
    table.stages.push_back({.kind = Purpose::frontier,
                            .round = round,
                            .mandatory = round == 0,
                            .experiments = width,
                            .likely_experiments = std::min(remaining, width >> std::min(round, 30)),
                            .tasks = std::nullopt});
    remaining = std::max<std::int64_t>(0, remaining - width);
  }
  if (candidates > profiled) {
    table.stages.push_back({.kind = Purpose::curve,
                            .round = 0,
                            .mandatory = false,
                            .experiments = width,
                            .likely_experiments = width / 2,
                            .tasks = std::nullopt});
  }
  SLURMTUNE_TRY(const std::int64_t with_knobs, add_knobs(input, space, open, table));
  add_confirm(table, input.site, candidates + with_knobs);
  return table;
}

Expected<StageTable> grid_table(const StudyInput& input, const Space& space) {
  StageTable table;
  SLURMTUNE_TRY(const auto all, space.enumerate(grid_size_max));
  table.grid_size = static_cast<std::int64_t>(all.size());
  const bool holds_baseline = std::find(all.begin(), all.end(), space.baseline()) != all.end();
  const std::int64_t experiments = table.grid_size + (holds_baseline ? 0 : 1);
  table.stages.push_back({.kind = Purpose::grid,
                          .round = 0,
                          .mandatory = true,
                          .experiments = experiments,
                          .likely_experiments = experiments,
                          .tasks = std::nullopt});
  add_confirm(table, input.site, table.grid_size);
  return table;
}

Expected<StageTable> halving_table(const StudyInput& input, const Space& space) {
  StageTable table;
  table.grid_size = countable_size(space);
  // A space that is empty says why; one that is only too large to list is what this is for.
  if (sample_space(space, 1, Seed{input.spec.seed}).empty()) SLURMTUNE_CHECK(space.enumerate(1));
  const SearchSpec& search = input.spec.search;
  std::int64_t first = std::int64_t{std::max(1, search.width)} * std::max(1, search.rounds);
  if (table.grid_size > 0) first = std::min(first, table.grid_size);
  const std::vector<std::int64_t> widths =
      rung_widths(first, rung_steps(input.spec.measure).size());
  for (std::size_t round = 0; round < widths.size(); ++round) {
    const std::int64_t experiments = widths[round] + (round == 0 ? 1 : 0);  // and the baseline
    table.stages.push_back({.kind = Purpose::halving,
                            .round = static_cast<int>(round),
                            .mandatory = round == 0,
                            .experiments = experiments,
                            .likely_experiments = experiments,
                            .tasks = std::nullopt});
  }
  add_confirm(table, input.site, first);
  return table;
}

/// One row a strategy: how its stages are drafted.
struct StrategyRow {
  StrategyKind strategy;
  Expected<StageTable> (*draft)(const StudyInput& input, const Space& space);
};

constexpr std::array strategies{StrategyRow{StrategyKind::deepspeed, deepspeed_table},
                                StrategyRow{StrategyKind::grid, grid_table},
                                StrategyRow{StrategyKind::halving, halving_table}};

}  // namespace

StrategyKind resolved_strategy(const StudySpec& spec) {
  if (spec.search.strategy != StrategyKind::automatic) return spec.search.strategy;
  return spec.deepspeed ? StrategyKind::deepspeed : StrategyKind::grid;
}

Expected<StageTable> stage_table(const StudyInput& input, const Space& space) {
  const StrategyKind wanted = resolved_strategy(input.spec);
  if (wanted == StrategyKind::deepspeed && !input.spec.deepspeed) {
    return invalid_input(
        fmt::format("{}: search.strategy = \"deepspeed\" needs a [deepspeed] "
                    "section; write \"grid\"",
                    input.spec.path));
  }
  const auto row = std::find_if(strategies.begin(), strategies.end(),
                                [&](const StrategyRow& r) { return r.strategy == wanted; });
  if (row == strategies.end()) {
    return invalid_input(
        fmt::format("{}: this search.strategy is not supported by this version "
                    "yet; write \"auto\", \"deepspeed\", \"grid\" or \"halving\"",
                    input.spec.path));
  }
  return row->draft(input, space);
}

}  // namespace slurmtune
