// SPDX-License-Identifier: MIT
#include "slurmtune/simulate/performance_surface.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "slurmtune/base/error.hpp"
#include "slurmtune/base/hash.hpp"
#include "slurmtune/base/units.hpp"
#include "slurmtune/model/statistics.hpp"

namespace slurmtune {

namespace {

constexpr int warmup_steps = 5;

/// A seed of its own for each try of each experiment.
Seed seed_of(Seed study, const Experiment& experiment) {
  const std::string digits =
      sha256_hex(fmt::format("{}/{}/{}", study.value, experiment.id.text, experiment.attempt));
  std::uint64_t value = 0;
  std::from_chars(digits.data(), digits.data() + 16, value, 16);
  return {value};
}

/// The steps of one run, first the warm-up.
std::vector<double> draw_steps(const SurfacePoint& point, const SurfaceNoise& noise, int count,
                               const std::vector<std::string>& nodes, Random& random) {
  double slowest = 1.0;
  for (const std::string& node : nodes) {
    const auto factor = noise.slow_nodes.find(node);
    if (factor != noise.slow_nodes.end()) slowest = std::max(slowest, factor->second);
  }
  const double run = point.step_s * slowest * std::exp(noise.run_to_run * draw_normal(random));
  std::vector<double> steps;
  for (int i = 0; i < count; ++i) {
    steps.push_back(run * std::exp(noise.step_to_step * draw_normal(random)));
  }
  return steps;
}

Metrics measured(const SurfacePoint& point, const std::vector<double>& steps) {
  Metrics metrics;
  metrics.step_s = steps.size() > 1 ? mean_interval(steps)
                                    : Interval{steps.front(), steps.front(), steps.front()};
  const auto samples = static_cast<double>(point.global_batch);
  metrics.throughput = Interval{samples / metrics.step_s->high, samples / metrics.step_s->mid,
                                samples / metrics.step_s->low};
  metrics.global_batch = point.global_batch;
  return metrics;
}

/// A trial that failed by itself, or was ended at a limit.
void fail(Verdict& verdict, Outcome outcome, std::string reason, const std::string& line) {
  verdict.outcome = outcome;
  verdict.reason = std::move(reason);
  Evidence evidence;
  evidence.rank = 0;
  evidence.node = verdict.nodes.empty() ? "" : verdict.nodes.front();
  evidence.exit_code = 1;
  evidence.log = fmt::format("logs/{}.r0.tail", verdict.experiment.text);
  evidence.line = line;
  verdict.evidence = std::move(evidence);
}

}  // namespace

Verdict PerformanceSurface::run(const Experiment& experiment, const RunPlace& place) const {
  const SurfacePoint point = surface_(experiment.configuration);
  Verdict verdict;
  verdict.experiment = experiment.id;
  verdict.configuration = experiment.configuration_id;
  verdict.attempt = experiment.attempt;
  verdict.lane = place.lane;
  verdict.nodes = place.nodes;
  verdict.started = place.started;
  verdict.source = "metrics_file";
  if (point.gpu_bytes > 0.0) verdict.hardware = {"simulated", point.gpu_bytes, ""};
  if (point.peak_gpu_bytes > 0.0) verdict.metrics.peak_gpu_bytes = point.peak_gpu_bytes;

  Random random(seed_of(seed_, experiment));
  const int count = warmup_steps + std::max(1, experiment.max_steps);
  const auto steps = draw_steps(point, noise_, count, place.nodes, random);
  double needed_s = point.startup_s;
  for (const double step : steps) needed_s += step;

  verdict.startup_s = point.startup_s;
  if (point.outcome != Outcome::ok) {
    fail(verdict, point.outcome, fmt::format("simulated {}", name_of(point.outcome)), point.line);
    verdict.startup_s = 0.0;
    verdict.wall_s = point.fails_after_s;
  } else if (point.startup_s > experiment.limits.startup_s) {
    fail(verdict, Outcome::hang, "no step within startup_s", "");
    verdict.wall_s = experiment.limits.startup_s;
  } else if (*std::max_element(steps.begin(), steps.end()) > experiment.limits.stall_s) {
    fail(verdict, Outcome::hang, "no step within stall_s", "");
    verdict.wall_s = point.startup_s + experiment.limits.stall_s;
  } else if (needed_s > experiment.limits.total_s) {
    fail(verdict, Outcome::timeout, "longer than total_s", "");
    verdict.wall_s = experiment.limits.total_s;
  } else {
    verdict.outcome = Outcome::ok;
    verdict.reason = "max_steps";
    verdict.wall_s = needed_s;
    verdict.steps.warmup = warmup_steps;
    verdict.steps.step_s.assign(steps.begin() + warmup_steps, steps.end());
    verdict.steps.measured = static_cast<int>(verdict.steps.step_s.size());
    const auto peak = verdict.metrics.peak_gpu_bytes;
    verdict.metrics = measured(point, verdict.steps.step_s);
    verdict.metrics.peak_gpu_bytes = peak;
  }
  verdict.ended = place.started + std::chrono::milliseconds(std::llround(verdict.wall_s * 1000.0));
  return verdict;
}

Surface table_surface(std::map<Configuration, SurfacePoint> table, SurfacePoint otherwise) {
  return [table = std::move(table), otherwise = std::move(otherwise)](const Configuration& at) {
    const auto found = table.find(at);
    return found == table.end() ? otherwise : found->second;
  };
}

Surface training_surface(TrainingFacts facts) {
  SLURMTUNE_ASSERT(facts.stage_factor.size() == 4);
  return [facts = std::move(facts)](const Configuration& configuration) {
    const std::int64_t stage = configuration.integer(zero_stage_parameter).value_or(0);
    const std::int64_t micro = configuration.integer(micro_batch_parameter).value_or(1);
    const std::int64_t steps = configuration.integer(accumulation_parameter).value_or(1);
    SLURMTUNE_ASSERT(stage >= 0 && stage <= 3);
    SurfacePoint point;
    point.startup_s = facts.startup_s;
    point.fails_after_s = facts.startup_s;
    point.gpu_bytes = facts.gpu_bytes;
    point.global_batch = micro * steps * facts.data_parallel;
    point.peak_gpu_bytes =
        model_state_bytes(facts.params, static_cast<int>(stage), facts.data_parallel, facts.setup) +
        facts.fixed_bytes + facts.activation_bytes * static_cast<double>(micro);
    const double micro_step = facts.fixed_s + facts.per_sample_s * static_cast<double>(micro);
    point.step_s = (static_cast<double>(steps) * micro_step + facts.step_overhead_s) *
                   facts.stage_factor[static_cast<std::size_t>(stage)];
    for (const auto& [name, value] : configuration.values) {
      const auto effect = facts.knobs.find({name, format_value(value)});
      if (effect == facts.knobs.end()) continue;
      point.step_s *= effect->second.time_factor;
      point.peak_gpu_bytes += effect->second.more_bytes;
    }
    if (point.peak_gpu_bytes > facts.gpu_bytes) {
      point.outcome = Outcome::gpu_oom;
      point.line = fmt::format("out of memory: tried to use {} of {}",
                               format_bytes(point.peak_gpu_bytes), format_bytes(facts.gpu_bytes));
      point.peak_gpu_bytes = facts.gpu_bytes;  // what there was, was used
    }
    return point;
  };
}

}  // namespace slurmtune
