// SPDX-License-Identifier: MIT
#include "tests/unit/record/random_records.hpp"

#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>

namespace slurmtune {

std::int64_t RandomRecords::integer() {
  switch (random_.below(4)) {
    case 0: return std::bit_cast<std::int64_t>(random_.next());
    case 1: return std::numeric_limits<std::int64_t>::max();
    case 2: return std::numeric_limits<std::int64_t>::min();
    default: return static_cast<std::int64_t>(random_.below(100)) - 50;
  }
}

int RandomRecords::small_integer() {
  if (random_.below(8) == 0) return std::numeric_limits<int>::max();
  return static_cast<int>(random_.below(100));
}

double RandomRecords::real() {
  switch (random_.below(4)) {
    case 0: return random_.uniform();
    case 1: return static_cast<double>(random_.below(1'000'000));
    case 2: return random_.uniform() * 1e11;
    default: break;
  }
  for (;;) {  // ends: all but one in 2048 are finite
    const auto value = std::bit_cast<double>(random_.next());
    if (std::isfinite(value)) return value;
  }
}

std::string RandomRecords::text() {
  static const std::array<const char*, 12> pieces{
      "a",  "Z_9",  " ",    "\"",       "\\",           "\n",
      "\t", "\x01", "\x7f", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x9a\x80"};
  std::string text;
  for (auto i = random_.below(6); i > 0; --i) text += pieces.at(random_.below(pieces.size()));
  return text;
}

Instant RandomRecords::instant() {
  return Instant(std::chrono::milliseconds(random_.below(6'000'000'000'000)));
}

Outcome RandomRecords::outcome() {
  return outcome_rules()[random_.below(outcome_rules().size())].outcome;
}

Values RandomRecords::values() {
  Values values;
  for (int i = count(); i > 0; --i) {
    Value value;
    switch (random_.below(4)) {
      case 0: value = flip(); break;
      case 1: value = integer(); break;
      case 2: value = real(); break;
      default: value = text(); break;
    }
    values[text()] = value;
  }
  return values;
}

Experiment RandomRecords::experiment() {
  Experiment made;
  made.configuration.values = values();
  made.configuration_id = configuration_id(made.configuration);
  made.purpose = static_cast<Purpose>(random_.below(8));
  made.repeat = small_integer();
  made.attempt = small_integer();
  made.min_steps = small_integer();
  made.max_steps = small_integer();
  made.id = experiment_id(made.configuration_id, made.max_steps, made.repeat);
  made.label = text();
  made.limits = {1.0 + random_.uniform(), 1.0 + random_.uniform(), 1e4 * (1.0 - random_.uniform())};
  const auto a_real = [this] { return real(); };
  made.expected = {maybe(a_real), maybe(a_real), maybe(a_real)};
  made.needs_other_node_than = list([this] { return id<ExperimentId>(); });
  return made;
}

Manifest RandomRecords::manifest() {
  Manifest made;
  made.study = id<StudyId>();
  made.stage = id<StageName>();
  made.round = small_integer();
  made.inputs = text();
  made.lanes = 1 + count();
  made.nodes_per_lane = 1 + count();
  made.task_walltime_s = integer();
  std::int64_t first = 0;
  for (int i = count(); i > 0; --i) {
    const std::int64_t end = first + count();
    made.slices.push_back({first, end});
    for (; first < end; ++first) made.experiments.push_back(experiment());
  }
  made.incumbent = maybe([this] { return Incumbent{id<ConfigurationId>(), interval()}; });
  made.node_seconds_cap = maybe([this] { return integer(); });
  return made;
}

TaskStart RandomRecords::task_start() {
  TaskStart made;
  made.study = id<StudyId>();
  made.stage = id<StageName>();
  made.slice = integer();
  made.array_job = integer();
  made.task = integer();
  made.restart = small_integer();
  made.nodes = list([this] { return text(); });
  made.allocated_nodes = small_integer();
  made.gpus = small_integer();
  made.at = instant();
  made.ends_by = maybe([this] { return instant(); });
  made.runner = text();
  return made;
}

Verdict RandomRecords::verdict() {
  const auto a_real = [this] { return real(); };
  const auto an_int = [this] { return small_integer(); };
  const auto an_interval = [this] { return interval(); };
  Verdict made;
  made.experiment = id<ExperimentId>();
  made.configuration = id<ConfigurationId>();
  made.attempt = small_integer();
  made.outcome = outcome();
  made.reason = text();
  made.evidence = maybe([&] {
    return Evidence{maybe(an_int), text(), maybe(an_int), maybe(an_int), text(), text()};
  });
  made.lane = small_integer();
  made.nodes = list([this] { return text(); });
  made.started = instant();
  made.ended = instant();
  made.startup_s = real();
  made.wall_s = real();
  made.steps = {small_integer(), small_integer(), small_integer(), list(a_real)};
  Metrics& metrics = made.metrics;
  metrics.step_s = maybe(an_interval);
  metrics.throughput = maybe(an_interval);
  metrics.flops_per_gpu = maybe(a_real);
  metrics.peak_gpu_bytes = maybe(a_real);
  metrics.peak_host_bytes = maybe(a_real);
  metrics.global_batch = maybe([this] { return integer(); });
  metrics.params = maybe(a_real);
  for (int i = count(); i > 0; --i) metrics.user[text()] = real();
  made.hardware = {text(), maybe(a_real), text()};
  made.hardware.host_bytes = maybe(a_real);
  made.hardware.cores = maybe([this] { return integer(); });
  made.hardware.matrix_flops = maybe(a_real);
  made.hardware.memory_bytes_per_s = maybe(a_real);
  made.hardware.slow_nodes = list([this] { return text(); });
  made.source = text();
  made.note = text();
  return made;
}

NodeRecord RandomRecords::node() {
  const auto a_real = [this] { return real(); };
  const auto figure = [&] { return maybe(a_real); };
  NodeRecord made;
  NodeFacts& facts = made.facts;
  facts.node = text();
  facts.processor = text();
  facts.cores = small_integer();
  facts.cores_online = small_integer();
  facts.host_bytes = figure();
  facts.memory_limit_bytes = figure();
  facts.gpu = text();
  facts.gpus = small_integer();
  facts.gpu_bytes = figure();
  facts.driver = text();
  facts.no_gpu_because = text();
  facts.interfaces = list([&] { return NetworkInterface{text(), text(), figure()}; });
  made.figures = {figure(), figure(), figure(), figure(), figure(), figure(), figure(), text()};
  made.slow = text();
  return made;
}

ShardLine RandomRecords::later_line() {
  switch (random_.below(5)) {
    case 0: return Heartbeat{instant()};
    case 1: return TaskEnd{instant(), text(), integer()};
    case 2: return node();
    default: return verdict();
  }
}

Ranked RandomRecords::ranked() {
  Ranked made;
  made.configuration = id<ConfigurationId>();
  made.values = values();
  made.label = text();
  made.throughput = interval();
  made.step_s = maybe([this] { return interval(); });
  made.peak_gpu_bytes = maybe([this] { return real(); });
  made.repeats = small_integer();
  return made;
}

TuningResult RandomRecords::result() {
  TuningResult made;
  made.stop = static_cast<Stop>(random_.below(8));
  made.best = maybe([this] { return ranked(); });
  made.baseline = maybe([this] { return ranked(); });
  made.baseline_outcome = outcome();
  made.speedup = maybe([this] { return interval(); });
  made.probability_best = real();
  made.ranking = list([this] { return ranked(); });
  made.failures = list([this] {
    return Failure{id<ExperimentId>(), text(), outcome(), text(), text()};
  });
  made.experiments_run = integer();
  made.spent_node_seconds = integer();
  made.why = text();
  return made;
}

Decision RandomRecords::decision() {
  Decision made;
  made.study = id<StudyId>();
  made.stage = id<StageName>();
  made.round = small_integer();
  made.inputs = text();
  made.verdicts_read = integer();
  made.missing = list([this] { return id<ExperimentId>(); });
  made.spent_node_seconds = integer();
  made.best = maybe([this] { return BestSoFar{id<ConfigurationId>(), interval(), real()}; });
  made.baseline = maybe([this] {
    return BaselineSoFar{id<ConfigurationId>(), outcome(), maybe([this] { return interval(); })};
  });
  made.conclusions = list([this] {
    return Conclusion{text(), text(), list([this] { return text(); })};
  });
  made.dropped = list([this] { return Dropped{text(), text()}; });
  made.next.action = static_cast<NextAction>(random_.below(4));
  made.next.experiments = integer();
  made.next.slices = integer();
  made.next.walltime_s = integer();
  made.next.worst_node_seconds = integer();
  made.next.reserved_node_seconds = integer();
  if (made.next.action == NextAction::finish) {
    made.result = result();
    made.stop = made.result->stop;
  } else {
    made.next.stage = {"04-curve"};
    made.next.manifest_sha256 = text();
  }
  return made;
}

}  // namespace slurmtune
