// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "slurmtune/model/estimates.hpp"
#include "slurmtune/model/memory_model.hpp"
#include "slurmtune/search/rungs.hpp"
#include "slurmtune/search/strategies.hpp"
#include "slurmtune/space/knob_space.hpp"

namespace slurmtune {

namespace {

using Settings = std::map<std::string, Choice>;

constexpr std::size_t leading_stages_max = 2;
// Of the first rung a quarter is left for combinations: knobs need not act one by one.
constexpr std::size_t combinations_share = 4;
constexpr std::size_t larger_micro_batches = 2;
constexpr int draws_a_combination = 20;

/// Collects proposals: each configuration once, none that was measured for as many steps.
class Collector {
 public:
  Collector(const SearchContext& context, std::size_t width, int steps)
      : context_(context), width_(width), steps_(steps) {}

  [[nodiscard]] std::size_t room() const { return width_ - proposals_.size(); }

  /// Whether it was taken.
  bool take(const Configuration& configuration) {
    if (room() == 0 || !context_.space.contains(configuration)) return false;
    const ConfigurationId id = configuration_id(configuration);
    const Trial* known = context_.history.of(id);
    if (known != nullptr && known->worked() && known->experiment.max_steps >= steps_) return false;
    if (context_.history.find(experiment_id(id, steps_, 0)) != nullptr) return false;
    if (!seen_.insert(id).second) return false;
    proposals_.push_back({.configuration = configuration,
                          .purpose = Purpose::knobs,
                          .repeat = 0,
                          .expected = {},
                          .steps = steps_});
    return true;
  }

  [[nodiscard]] std::vector<Proposal> proposals() && { return std::move(proposals_); }

 private:
  const SearchContext& context_;
  std::size_t width_;
  int steps_;
  std::vector<Proposal> proposals_;
  std::set<ConfigurationId> seen_;
};

int stage_of(const Configuration& configuration) {
  return static_cast<int>(configuration.integer(zero_stage_parameter).value_or(0));
}

/// The next larger admissible micro-batches that nothing plain was seen to fit.
std::vector<std::int64_t> next_larger(const SearchContext& context,
                                      const Configuration& configuration) {
  const auto micro_batch = configuration.integer(micro_batch_parameter).value_or(1);
  std::vector<std::int64_t> larger;
  for (const std::int64_t one : context.space.micro_batches(stage_of(configuration))) {
    if (one <= micro_batch || larger.size() == larger_micro_batches) continue;
    const auto plain = configuration_of(context.space, stage_of(configuration), one);
    const Trial* known = plain ? context.history.of(configuration_id(*plain)) : nullptr;
    if (known == nullptr || !known->worked()) larger.push_back(one);
  }
  return larger;
}

/// The configuration at another micro-batch, its knobs kept.
Configuration at_micro_batch(const Configuration& configuration, std::int64_t micro_batch) {
  Configuration other = configuration;
  other.values.insert_or_assign(std::string(micro_batch_parameter), micro_batch);
  return other;
}

/// Single changes of an origin: the first alternative of each knob, then the second of each, …;
/// what eases memory also at the micro-batches that it may make fit.
std::vector<Configuration> single_changes(const SearchContext& context, const KnobSpace& space,
                                          const Configuration& origin) {
  std::vector<Configuration> changes;
  const std::vector<Knob>& knobs = space.knobs(stage_of(origin));
  const std::vector<std::int64_t> larger = next_larger(context, origin);
  std::size_t choices_max = 0;
  for (const Knob& knob : knobs) choices_max = std::max(choices_max, knob.choices.size());
  const auto change = [&](const Configuration& from, const Knob& knob, const Choice& choice) {
    auto changed = space.build(from, {{knob.name, choice}});
    if (changed && *changed != origin) changes.push_back(*std::move(changed));
  };
  for (std::size_t i = 1; i < choices_max; ++i) {
    for (const Knob& knob : knobs) {
      if (i >= knob.choices.size()) continue;
      change(origin, knob, knob.choices[i]);
      if (!knob.eases_memory) continue;
      for (const std::int64_t micro_batch : larger) {
        change(at_micro_batch(origin, micro_batch), knob, knob.choices[i]);
      }
    }
  }
  return changes;
}

void add_combinations(Collector& collector, const KnobSpace& space, const Configuration& origin,
                      Random random) {
  const std::vector<Knob>& knobs = space.knobs(stage_of(origin));
  const std::size_t draws = collector.room() * draws_a_combination;
  for (std::size_t i = 0; i < draws && collector.room() > 0; ++i) {
    Settings settings;
    for (const Knob& knob : knobs) {
      // Half of the knobs stay: what is far from the origin in everything is seldom good.
      if (random.below(2) == 0) continue;
      settings[knob.name] = knob.choices[random.below(knob.choices.size())];
    }
    const auto built = space.build(origin, settings);
    if (built && *built != origin) collector.take(*built);
  }
}

/// The first rung: single changes, two of the leader for one of the other origin, and random
/// combinations of the leader.
void screen(Collector& collector, const SearchContext& context, const KnobSpace& space,
            const std::vector<Estimate>& origins) {
  const std::size_t reserved = collector.room() / combinations_share;
  std::vector<std::vector<Configuration>> changes;
  std::size_t longest = 0;
  for (const Estimate& origin : origins) {
    changes.push_back(single_changes(context, space, origin.configuration));
    longest = std::max(longest, changes.back().size());
  }
  const auto take = [&](std::size_t origin, std::size_t at) {
    const std::vector<Configuration>& own = changes[origin];
    if (at < own.size() && collector.room() > reserved) collector.take(own[at]);
  };
  for (std::size_t i = 0; i < longest; ++i) {
    take(0, 2 * i);
    take(0, 2 * i + 1);
    for (std::size_t other = 1; other < changes.size(); ++other) take(other, i);
  }
  add_combinations(collector, space, origins.front().configuration,
                   Random(Seed{context.input.spec.seed}));
}

/// What is known so far, sorted out.
struct Standings {
  std::vector<Estimate> origins;     ///< the best plain one of each leading ZeRO stage, best first
  std::vector<Estimate> candidates;  ///< what the stage has measured, best first
  std::vector<Estimate> all;
};

bool may_beat(const Estimate& estimate, const Estimate& leader) {
  return estimate.score.high * (1.0 + run_to_run_deviation) >=
         leader.score.low * (1.0 - run_to_run_deviation);
}

Standings standings_of(const SearchContext& context) {
  Standings standings;
  standings.all =
      estimate_all(context.history, context.objective, configuration_id(context.space.baseline()));
  std::set<int> stages;
  for (const Estimate& estimate : standings.all) {
    if (!is_plain(context, estimate.configuration)) {
      standings.candidates.push_back(estimate);
      continue;
    }
    const bool leads = standings.origins.empty() || may_beat(estimate, standings.origins.front());
    const bool is_new = !stages.contains(stage_of(estimate.configuration));
    if (!leads || !is_new || standings.origins.size() == leading_stages_max) continue;
    stages.insert(stage_of(estimate.configuration));
    standings.origins.push_back(estimate);
  }
  return standings;
}

/// The best value of each knob that gained by itself; `clear` asks for a gain beyond the noise.
Settings gains(const KnobSpace& space, const Estimate& origin,
               const std::vector<Estimate>& candidates, bool clear) {
  Settings best;
  for (const Knob& knob : space.knobs(stage_of(origin.configuration))) {
    std::optional<double> score;
    for (std::size_t i = 1; i < knob.choices.size(); ++i) {
      const auto single = space.build(origin.configuration, {{knob.name, knob.choices[i]}});
      if (!single) continue;
      const auto found = std::ranges::find(candidates, *single, &Estimate::configuration);
      if (found == candidates.end()) continue;
      const double bar = clear ? origin.score.high : origin.score.mid;
      const double reached = clear ? found->score.low : found->score.mid;
      if (reached <= bar || reached <= score.value_or(reached - 1.0)) continue;
      score = reached;
      best[knob.name] = knob.choices[i];
    }
  }
  return best;
}

/// Later rungs: the gains together, then what may still be the best, for more steps.
void promote(Collector& collector, const KnobSpace& space, const Standings& standings) {
  const auto combine = [&](const Configuration& from, const Settings& settings) {
    if (settings.empty()) return;
    if (const auto built = space.build(from, settings)) collector.take(*built);
  };
  for (const Estimate& origin : standings.origins) {
    combine(origin.configuration, gains(space, origin, standings.candidates, false));
  }
  const Estimate& best = standings.candidates.front();
  for (const Estimate& origin : standings.origins) {
    if (stage_of(origin.configuration) != stage_of(best.configuration)) continue;
    Settings settings = gains(space, origin, standings.candidates, true);
    // Over the best as it is: its own values win.
    for (const auto& [name, value] : best.configuration.values) settings.erase(name);
    combine(best.configuration, settings);
  }
  for (const Estimate& candidate : standings.candidates) {
    if (may_beat(candidate, standings.all.front())) collector.take(candidate.configuration);
  }
}

bool memory_was_short(const SearchContext& context) {
  for (const StageFacts& facts : stage_facts(context)) {
    if (facts.standing == Standing::cannot_fit) return true;
  }
  return std::ranges::any_of(context.history.trials(), [](const Trial& trial) {
    const MemoryEvidence evidence = rule_of(trial.outcome()).memory;
    return evidence == MemoryEvidence::exceeds_gpu || evidence == MemoryEvidence::exceeds_host;
  });
}

/// Where nothing fits: what eases memory, one on top of the other, at the smallest micro-batch, the
/// highest ZeRO stage first; once one works, larger micro-batches and its neighbours.
void rescue(Collector& collector, const SearchContext& context, const KnobSpace& space,
            const Standings& standings) {
  if (!standings.candidates.empty()) {
    const Estimate& best = standings.candidates.front();
    for (const std::int64_t larger : next_larger(context, best.configuration)) {
      if (const auto built = space.build(at_micro_batch(best.configuration, larger), {})) {
        collector.take(*built);
      }
    }
    for (const Configuration& change : single_changes(context, space, best.configuration)) {
      collector.take(change);
    }
    return;
  }
  std::vector<int> stages = context.space.zero_stages();
  std::ranges::reverse(stages);
  for (const int stage : stages) {
    const auto micro_batches = context.space.micro_batches(stage);
    if (micro_batches.empty()) continue;
    const auto plain = configuration_of(context.space, stage, micro_batches.front());
    if (!plain) continue;
    Settings eased;
    for (const Knob& knob : space.knobs(stage)) {
      if (!knob.eases_memory) continue;
      eased[knob.name] = knob.choices.at(1);
      if (const auto built = space.build(*plain, eased)) collector.take(*built);
    }
  }
}

/// Experiments of the stage so far, and how many of them since the last that was a new best.
struct Effort {
  std::int64_t asked = 0;
  std::int64_t since_best = 0;
};

Effort effort_of(const SearchContext& context) {
  Effort effort;
  double best = 0.0;
  for (const Trial& trial : context.history.trials()) {
    const auto score = context.objective.score(trial);
    const bool is_best = score && score->mid > best;
    if (is_best) best = score->mid;
    if (trial.asked_by != Purpose::knobs) continue;
    ++effort.asked;
    effort.since_best = is_best ? 0 : effort.since_best + 1;
  }
  return effort;
}

KnobEvidence evidence_of(const SearchContext& context) {
  KnobEvidence evidence;
  evidence.params = model_params(context.input.spec, context.history);
  bool ran = false;
  bool told = context.input.site.gpus_per_node.has_value();
  for (const Trial& trial : context.history.trials()) {
    if (!trial.worked()) continue;
    ran = true;
    told = told || !trial.verdict->hardware.gpu.empty() || trial.verdict->metrics.peak_gpu_bytes;
  }
  evidence.no_gpu = ran && !told;
  return evidence;
}

}  // namespace

Expected<std::vector<Proposal>> propose_knobs(const SearchContext& context, int round,
                                              std::size_t width) {
  const StudySpec& spec = context.input.spec;
  if (!spec.deepspeed || spec.deepspeed->fast) return std::vector<Proposal>();
  const Effort effort = effort_of(context);
  std::int64_t room =
      std::min(static_cast<std::int64_t>(width), spec.search.knob_experiments - effort.asked);
  if (spec.search.knob_patience > 0) {
    room = std::min(room, spec.search.knob_patience - effort.since_best);
  }
  if (room <= 0) return std::vector<Proposal>();
  SLURMTUNE_TRY(const KnobSpace space,
                make_knob_space(context.input, context.space, evidence_of(context)));
  const Standings standings = standings_of(context);
  const std::vector<int> steps = rung_steps(spec.measure);
  const auto rung = std::min(static_cast<std::size_t>(round), steps.size() - 1);
  const bool is_rescue = standings.origins.empty();
  Collector collector(context, static_cast<std::size_t>(room),
                      is_rescue ? spec.measure.max_steps : steps[rung]);
  if (is_rescue) {
    if (memory_was_short(context)) rescue(collector, context, space, standings);
  } else if (standings.candidates.empty()) {
    screen(collector, context, space, standings.origins);
  } else {
    promote(collector, space, standings);
  }
  return std::move(collector).proposals();
}

}  // namespace slurmtune
