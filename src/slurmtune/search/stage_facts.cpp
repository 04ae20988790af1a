// SPDX-License-Identifier: MIT
#include "slurmtune/search/stage_facts.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "slurmtune/base/units.hpp"
#include "slurmtune/model/memory_model.hpp"
#include "slurmtune/search/forecast.hpp"
#include "slurmtune/space/stage_template.hpp"

namespace slurmtune {

namespace {

// A micro-batch that is less likely to fit than this is left alone.
constexpr double fits_hardly_ever = 0.01;
// With less than this chance to fit, the chance is counted in.
constexpr double fits_perhaps = 0.1;
// A best reading this many times above the next is not believed.
constexpr double stands_alone = 1.15;

/// The trials of a stage, and what they say one by one.
struct Evidence {
  std::map<std::int64_t, ExperimentId> fits;
  std::map<std::int64_t, ExperimentId> exceeds_gpu;
  std::map<std::int64_t, ExperimentId> exceeds_host;
  std::vector<Point> peaks;
  std::vector<StepPoint> steps;
  int failed_otherwise = 0;
  int unfinished = 0;
  std::string words;  ///< of the first that failed otherwise
};

void take(Evidence& evidence, const Trial& trial, std::int64_t micro_batch) {
  if (trial.wants_another_try()) {
    ++evidence.unfinished;
    return;
  }
  const ExperimentId& id = trial.experiment.id;
  switch (rule_of(trial.outcome()).memory) {
    case MemoryEvidence::fits: evidence.fits.emplace(micro_batch, id); break;
    case MemoryEvidence::exceeds_gpu: evidence.exceeds_gpu.emplace(micro_batch, id); return;
    case MemoryEvidence::exceeds_host: evidence.exceeds_host.emplace(micro_batch, id); return;
    case MemoryEvidence::none:
      if (!trial.verdict || !rule_of(trial.outcome()).counts_as_tried) return;
      if (evidence.failed_otherwise++ == 0) {
        evidence.words = std::string(name_of(trial.outcome()));
        if (trial.verdict->evidence) evidence.words += ": " + trial.verdict->evidence->line;
      }
      return;
  }
  const Metrics& metrics = trial.verdict->metrics;
  // A figure that no machine could have measured would spoil the models of all.
  if (metrics.peak_gpu_bytes && is_comparable(*metrics.peak_gpu_bytes)) {
    evidence.peaks.push_back({static_cast<double>(micro_batch), *metrics.peak_gpu_bytes});
  }
  if (metrics.step_s && is_comparable(metrics.step_s->mid) && trial.worked()) {
    const auto accumulation = trial.experiment.configuration.integer(accumulation_parameter);
    const Interval& step = *metrics.step_s;
    const double within = deviation_of(step) / step.mid;
    evidence.steps.push_back({.micro_batch = micro_batch,
                              .accumulation = accumulation.value_or(1),
                              .step_s = step.mid,
                              .deviation = std::hypot(run_to_run_deviation, within)});
  }
}

Evidence evidence_of(const SearchContext& context, int zero_stage) {
  Evidence evidence;
  for (const Trial& trial : context.history.trials()) {
    const Configuration& configuration = trial.experiment.configuration;
    const auto micro_batch = configuration.integer(micro_batch_parameter);
    if (configuration.integer(zero_stage_parameter) != zero_stage || !micro_batch) continue;
    if (!is_plain(context, configuration)) continue;
    take(evidence, trial, *micro_batch);
  }
  return evidence;
}

/// Takes over the bounds. That something fitted is believed more than that something smaller did
/// not: another process, or a fragmented heap, can make a small one fail.
void set_bounds(StageFacts& facts, const Evidence& evidence) {
  if (!evidence.fits.empty()) {
    facts.fits = evidence.fits.rbegin()->first;
    facts.why.push_back(evidence.fits.rbegin()->second);
  }
  const auto above = [&](const std::map<std::int64_t, ExperimentId>& found) {
    return facts.fits ? found.upper_bound(*facts.fits) : found.begin();
  };
  if (const auto at = above(evidence.exceeds_gpu); at != evidence.exceeds_gpu.end()) {
    facts.fails = at->first;
    facts.why.push_back(at->second);
  }
  if (const auto at = above(evidence.exceeds_host); at != evidence.exceeds_host.end()) {
    facts.fails_host = at->first;
    facts.why.push_back(at->second);
  }
}

/// Whether what is left is worth probing, against the bar: by what it may reach, and by what a
/// probe may gain given that it fits.
void weigh(const SearchContext& context, StageFacts& facts, const std::optional<Bar>& bar) {
  if (!bar) return;
  const Boundary boundary = facts.boundary();
  double optimistic = 0.0;
  double gain = 0.0;
  std::int64_t at = 0;
  for (const std::int64_t micro_batch : facts.between()) {
    const auto promise = promise_of(context, facts, *bar, micro_batch);
    if (!promise) return;  // nothing can be said
    const double fits = boundary.survival(micro_batch);
    gain = std::max(gain, fits >= fits_perhaps ? promise->gain : fits * promise->gain);
    if (promise->optimistic <= optimistic) continue;
    optimistic = promise->optimistic;
    at = micro_batch;
  }
  const double best = bar->score.mid;
  const std::string_view unit = context.objective.score_unit();
  // Where the best itself is, nothing is dropped.
  if (optimistic < best && bar->zero_stage != facts.zero_stage) {
    facts.standing = Standing::cannot_win;
    facts.because = fmt::format("cannot win: optimistic {:.4g} < {:.4g} {} (micro_batch {})",
                                optimistic, best, unit, at);
  } else if (gain <= context.input.spec.search.stop_gain) {
    facts.standing = Standing::little_gain;
    facts.because = fmt::format(
        "larger micro_batches gain too little: {:.2g} % may be expected, optimistic {:.4g}, best "
        "{:.4g} {} (micro_batch {})",
        100.0 * gain, optimistic, best, unit, at);
  }
}

void judge(const SearchContext& context, StageFacts& facts, const Evidence& evidence,
           const std::optional<Bar>& bar) {
  const std::string model_says =
      cannot_fit(context.input.spec, context.input.site, context.history, facts.zero_stage);
  if (facts.admissible.empty()) {
    facts.standing = Standing::cannot_fit;
    facts.because = "no micro_batch is admitted by the batch rule and the constraints";
  } else if (!facts.fits && !model_says.empty()) {
    facts.standing = Standing::cannot_fit;
    facts.because = "cannot fit: " + model_says;
  } else if (!facts.fits && (facts.fails == facts.admissible.front() ||
                             facts.fails_host == facts.admissible.front())) {
    facts.standing = Standing::cannot_fit;
    facts.because = fmt::format("does not fit: micro_batch {} exceeds the memory of a {}",
                                facts.admissible.front(),
                                facts.fails == facts.admissible.front() ? "GPU" : "node");
  } else if (facts.why.empty() && evidence.unfinished > 0) {
    facts.standing = Standing::waiting;
  } else if (facts.why.empty() && evidence.failed_otherwise > 0) {
    facts.standing = Standing::broken;
    facts.because = fmt::format("does not run: {}", evidence.words);
  } else if (facts.between().empty()) {
    facts.standing = Standing::settled;
  } else {
    weigh(context, facts, bar);
  }
}

/// What is left of a stage is weighed against the best, or against the second best if the best is
/// far above it: such a reading is more likely a fault (skipped steps, a clock) than a find, and
/// must not end the search of everything else. Nothing if nothing was measured.
std::optional<Bar> bar_of(const SearchContext& context) {
  std::optional<Estimate> best;
  std::optional<Estimate> second;
  for (Estimate& estimate : estimate_all(context.history, context.objective,
                                         configuration_id(context.space.baseline()))) {
    if (!is_plain(context, estimate.configuration)) continue;
    if (!best || estimate.score.mid > best->score.mid) {
      second = std::exchange(best, std::move(estimate));
    } else if (!second || estimate.score.mid > second->score.mid) {
      second = std::move(estimate);
    }
  }
  if (!best) return std::nullopt;
  const bool is_alone = second && best->score.mid > stands_alone * second->score.mid;
  const Estimate& believed = is_alone ? *second : *best;
  const Configuration& at = believed.configuration;
  return Bar{.score = believed.score,
             .zero_stage = at.integer(zero_stage_parameter),
             .micro_batch = at.integer(micro_batch_parameter).value_or(0)};
}

StageFacts facts_of(const SearchContext& context, int zero_stage, const std::optional<Bar>& bar) {
  StageFacts facts;
  facts.zero_stage = zero_stage;
  facts.admissible = context.space.micro_batches(zero_stage);
  const Evidence evidence = evidence_of(context, zero_stage);
  set_bounds(facts, evidence);
  facts.capacity = gpu_capacity(context.input.site, context.history);
  if (!facts.admissible.empty()) {
    facts.memory = memory_line(context.input, context.history, zero_stage, evidence.peaks,
                               static_cast<double>(facts.admissible.front()),
                               static_cast<double>(facts.admissible.back()));
  }
  facts.step_points = evidence.steps;
  std::stable_sort(facts.step_points.begin(), facts.step_points.end(),
                   [](const auto& a, const auto& b) { return a.micro_batch < b.micro_batch; });
  facts.steps = StepModel::fit(facts.step_points);
  for (const std::int64_t micro_batch : facts.admissible) {
    const auto configuration = configuration_of(context.space, zero_stage, micro_batch);
    if (!configuration || context.history.has_asked(configuration_id(*configuration))) continue;
    facts.unasked.push_back(micro_batch);
  }
  judge(context, facts, evidence, bar);
  return facts;
}

}  // namespace

bool is_plain(const SearchContext& context, const Configuration& configuration) {
  if (std::ranges::any_of(configuration.values,
                          [](const auto& entry) { return is_knob_name(entry.first); })) {
    return false;
  }
  const StudySpec& spec = context.input.spec;
  const bool has_knobs = spec.deepspeed && !spec.deepspeed->fast;
  const bool walks_all =
      spec.search.strategy == StrategyKind::grid || spec.search.strategy == StrategyKind::halving;
  if (!has_knobs || walks_all || spec.parameters.empty()) return true;
  if (configuration == context.space.baseline()) return true;
  const auto plain = configuration_of(
      context.space, static_cast<int>(configuration.integer(zero_stage_parameter).value_or(0)),
      configuration.integer(micro_batch_parameter).value_or(1));
  return !plain || *plain == configuration;
}

bool is_out(Standing standing) {
  return standing == Standing::cannot_win || standing == Standing::cannot_fit ||
         standing == Standing::broken;
}

std::vector<std::int64_t> StageFacts::between() const {
  std::vector<std::int64_t> found;
  for (const std::int64_t micro_batch : unasked) {
    if (fits && micro_batch <= *fits) continue;
    if (fails && micro_batch >= *fails) break;
    if (fails_host && micro_batch >= *fails_host) break;
    if (memory && capacity && memory->slope > 0.0 &&
        fit_probability(*memory, static_cast<double>(micro_batch), *capacity) < fits_hardly_ever) {
      break;
    }
    found.push_back(micro_batch);
  }
  return found;
}

Boundary StageFacts::boundary() const {
  Boundary::FitModel model;
  if (memory && capacity && memory->slope > 0.0) {
    model = [fit = *memory, bytes = *capacity](std::int64_t micro_batch) {
      return fit_probability(fit, static_cast<double>(micro_batch), bytes);
    };
  }
  const std::int64_t smallest = admissible.empty() ? 1 : admissible.front();
  // Where the node's memory ends first, it is that boundary which is searched for.
  std::optional<std::int64_t> first_failure = fails;
  if (fails_host) first_failure = std::min(fails.value_or(*fails_host), *fails_host);
  return Boundary({.smallest = smallest, .fits = fits, .fails = first_failure}, std::move(model));
}

Expectation StageFacts::expect(std::int64_t micro_batch, std::int64_t accumulation) const {
  Expectation expected;
  expected.fit_probability = std::round(1000.0 * boundary().survival(micro_batch)) / 1000.0;
  if (memory) expected.peak_gpu_bytes = std::round(memory->at(static_cast<double>(micro_batch)));
  if (steps) expected.step_s = steps->step_s(micro_batch, accumulation);
  return expected;
}

std::vector<StageFacts> stage_facts(const SearchContext& context) {
  const auto bar = bar_of(context);
  std::vector<StageFacts> facts;
  for (const int zero_stage : context.space.zero_stages()) {
    facts.push_back(facts_of(context, zero_stage, bar));
  }
  return facts;
}

std::optional<Configuration> configuration_of(const Space& space, int zero_stage,
                                              std::int64_t micro_batch) {
  auto configuration =
      space.complete({{std::string(zero_stage_parameter), std::int64_t{zero_stage}},
                      {std::string(micro_batch_parameter), micro_batch}});
  if (!configuration || !space.contains(*configuration)) return std::nullopt;
  return *std::move(configuration);
}

std::optional<Estimate> leader_of(const SearchContext& context) {
  auto estimates =
      estimate_all(context.history, context.objective, configuration_id(context.space.baseline()));
  if (estimates.empty()) return std::nullopt;
  return std::move(estimates.front());
}

}  // namespace slurmtune
