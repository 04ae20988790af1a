// SPDX-License-Identifier: MIT
#include "slurmtune/model/point_prior.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "slurmtune/model/layout/layout_memory.hpp"
#include "slurmtune/model/layout/step_time.hpp"
#include "slurmtune/model/linear_belief.hpp"
#include "slurmtune/model/order_knowledge.hpp"
#include "slurmtune/model/point_features.hpp"

namespace slurmtune {

namespace {

/// How far beliefs go, by what is known of the model.
struct Doubt {
  double memory;        ///< deviation of log bytes
  double value;         ///< of a doubling, in log value
  double value_at_all;  ///< of a point's log value before trials, apart from its level
  double fit;           ///< of a doubling, in log-odds
  double fit_at_all;    ///< of the log-odds' level
};

constexpr Doubt known_shape{layout_memory_deviation, 0.1, 0.25, 0.5, 1.0};
constexpr Doubt nominal_shape{0.8, 0.2, 0.5, 1.0, 1.5};
constexpr double most_log_odds = 3.0;
constexpr double settled = 0.97;
/// Of a single measurement: runs differ by two, equal-looking points by more.
constexpr double noise_of_values = 0.05;

/// What stays the same whatever trials say.
struct Ground {
  Ground(std::span<const LevelParameter> parameters, const LayoutFacts& facts,
         std::span<const Levels> sample, RoleSource source)
      : reader(parameters, facts, sample, source),
        order(parameters, source),
        informed(reader.is_layout()),
        doubt(facts.shape_is_known ? known_shape : nominal_shape),
        value_features(PointFeatures::of_value(parameters, reader.parameters(), doubt.value)),
        fit_features(PointFeatures::of_fit(parameters, reader.parameters(), doubt.fit)) {
    if (!informed) return;
    std::vector<double> bytes;
    std::vector<double> values;
    for (const Levels& levels : sample) {
      const TrainingLayout layout = reader.of(levels);
      bytes.push_back(layout_memory(reader.facts(), layout).total());
      values.push_back(log_throughput(layout));
    }
    if (values.empty()) return;
    const auto middle = [](std::vector<double>& all) {
      const auto half = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
      std::nth_element(all.begin(), half, all.end());
      return *half;
    };
    middle_value = middle(values);
    // Without a size of memory: so that somewhat less than half of the points fit.
    constexpr double below_half = 0.2;
    if (!facts.shape_is_known || !facts.gpu_bytes) {
      capacity = middle(bytes) * std::exp(-below_half * doubt.memory) / 0.95;
    } else {
      capacity = *facts.gpu_bytes;
    }
  }

  [[nodiscard]] double log_throughput(const TrainingLayout& layout) const {
    double done = layout.samples();
    const ThroughputUnit unit = reader.facts().unit;
    if (unit != ThroughputUnit::samples) done *= layout.sequence_length;
    if (unit == ThroughputUnit::tokens_per_gpu) done /= layout.gpus();
    return std::log(done / step_time(reader.facts(), layout).total());
  }

  /// Log throughput and log-odds of fitting by the formulas.
  [[nodiscard]] std::pair<double, double> formulas(std::span<const std::int32_t> levels) const {
    if (!informed) return {0.0, 0.5};
    const TrainingLayout layout = reader.of(levels);
    const double bytes = layout_memory(reader.facts(), layout).total();
    const double fits = std::clamp(layout_fits(bytes, capacity, doubt.memory), 1e-9, 1.0 - 1e-9);
    const double odds = std::log(fits / (1.0 - fits));
    return {log_throughput(layout), std::clamp(odds, -most_log_odds, most_log_odds)};
  }

  [[nodiscard]] std::vector<double> value_row(std::span<const std::int32_t> levels,
                                              double log_value) const {
    std::vector<double> row{1.0, log_value - middle_value};
    value_features.append(levels, row);
    return row;
  }

  [[nodiscard]] std::vector<double> fit_row(std::span<const std::int32_t> levels,
                                            double log_odds) const {
    std::vector<double> row{1.0, log_odds};
    fit_features.append(levels, row);
    return row;
  }

  [[nodiscard]] RidgeBelief value_belief() const {
    WeightPrior level{0.0, 10.0};
    level.is_level = true;
    std::vector<WeightPrior> priors{level, {0.0, informed ? 0.3 : 1e-6}};
    const auto& own = value_features.priors();
    priors.insert(priors.end(), own.begin(), own.end());
    return {std::move(priors), noise_of_values};
  }

  [[nodiscard]] LogisticBelief fit_belief() const {
    std::vector<WeightPrior> priors{{0.0, doubt.fit_at_all}, {1.0, 0.5, 0.0}};
    const auto& own = fit_features.priors();
    priors.insert(priors.end(), own.begin(), own.end());
    return LogisticBelief(std::move(priors));
  }

  LayoutReader reader;
  MemoryOrder order;
  bool informed;
  Doubt doubt;
  PointFeatures value_features;
  PointFeatures fit_features;
  double middle_value = 0.0;
  double capacity = 0.0;
};

/// 1 or -1 if all measured values have that sign, else 0.
double sign_of_values(std::span<const PriorTrial> trials) {
  bool positive = false;
  bool negative = false;
  for (const PriorTrial& trial : trials) {
    if (trial.outcome != PriorOutcome::measured) continue;
    (trial.value > 0.0 && std::isfinite(trial.value) ? positive : negative) = true;
    if (!(trial.value < 0.0) && !(trial.value > 0.0)) return 0.0;
  }
  if (positive == negative) return 0.0;
  return positive ? 1.0 : -1.0;
}

class LayoutPrior final : public PointPrior {
 public:
  explicit LayoutPrior(std::shared_ptr<const Ground> ground) : ground_(std::move(ground)) {}

  [[nodiscard]] PriorOfPoint of(std::span<const std::int32_t> levels) const override {
    const auto [log_value, log_odds] = ground_->formulas(levels);
    PriorOfPoint prior;
    prior.log_value = log_value;
    prior.log_value_sd = ground_->doubt.value_at_all;
    prior.fits = 1.0 / (1.0 + std::exp(-log_odds));
    if (values_) {
      const Belief belief = values_->at(ground_->value_row(levels, log_value));
      prior.log_value += belief.mean;
      prior.log_value_sd = belief.deviation;
    }
    if (fits_) {
      prior.fits = fits_->at(ground_->fit_row(levels, log_odds));
      const Settled known = knowledge_.of(ground_->order.of(levels));
      if (known == Settled::fits) prior.fits = std::max(prior.fits, settled);
      if (known == Settled::does_not_fit) prior.fits = std::min(prior.fits, 1.0 - settled);
    }
    return prior;
  }

  [[nodiscard]] std::unique_ptr<PointPrior> calibrated(
      std::span<const PriorTrial> trials) const override {
    auto made = std::make_unique<LayoutPrior>(ground_);
    made->learn(trials);
    return made;
  }

  [[nodiscard]] bool is_informed() const override { return ground_->informed; }

 private:
  /// Sums of many trials depend on their order in the last digits: they are taken in one.
  static std::vector<PriorTrial> in_order(std::span<const PriorTrial> trials) {
    std::vector<PriorTrial> sorted(trials.begin(), trials.end());
    std::ranges::sort(sorted, [](const PriorTrial& one, const PriorTrial& other) {
      if (!std::ranges::equal(one.levels, other.levels)) {
        return std::ranges::lexicographical_compare(one.levels, other.levels);
      }
      if (one.outcome != other.outcome) return one.outcome < other.outcome;
      return one.value < other.value;
    });
    return sorted;
  }

  void learn(std::span<const PriorTrial> unsorted) {
    const std::vector<PriorTrial> trials = in_order(unsorted);
    if (trials.empty()) return;
    const double sign = sign_of_values(trials);
    FeatureRows value_rows{2 + ground_->value_features.priors().size(), {}};
    FeatureRows fit_rows{2 + ground_->fit_features.priors().size(), {}};
    std::vector<double> left;
    std::vector<double> fitted;
    for (const PriorTrial& trial : trials) {
      const auto [log_value, log_odds] = ground_->formulas(trial.levels);
      const bool measured = trial.outcome == PriorOutcome::measured;
      const auto fit_row = ground_->fit_row(trial.levels, log_odds);
      fit_rows.values.insert(fit_rows.values.end(), fit_row.begin(), fit_row.end());
      fitted.push_back(measured ? 1.0 : 0.0);
      knowledge_.add(ground_->order.of(trial.levels),
                     measured ? Settled::fits : Settled::does_not_fit);
      if (!measured || sign == 0.0) continue;
      const auto value_row = ground_->value_row(trial.levels, log_value);
      value_rows.values.insert(value_rows.values.end(), value_row.begin(), value_row.end());
      left.push_back(sign * std::log(sign * trial.value) - log_value);
    }
    fits_ = ground_->fit_belief();
    fits_->fit(fit_rows, fitted);
    if (left.empty()) return;
    values_ = ground_->value_belief();
    values_->fit(value_rows, left);
  }

  std::shared_ptr<const Ground> ground_;
  std::optional<RidgeBelief> values_;
  std::optional<LogisticBelief> fits_;
  OrderKnowledge knowledge_;
};

}  // namespace

std::unique_ptr<PointPrior> make_point_prior(std::span<const LevelParameter> parameters,
                                             const LayoutFacts& facts,
                                             std::span<const Levels> sample, RoleSource source) {
  return std::make_unique<LayoutPrior>(
      std::make_shared<const Ground>(parameters, facts, sample, source));
}

}  // namespace slurmtune
