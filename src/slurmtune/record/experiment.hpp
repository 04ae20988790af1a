// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "slurmtune/record/configuration.hpp"
#include "slurmtune/record/ids.hpp"

namespace slurmtune {

/// Why an experiment is run; also the kind of the stage that first wants it.
enum class Purpose { baseline, probe, profile, frontier, curve, knobs, grid, halving, confirm };

[[nodiscard]] std::string_view name_of(Purpose purpose);
[[nodiscard]] std::optional<Purpose> purpose_named(std::string_view name);

/// When the runner ends a trial by itself. Seconds of wall time; all positive.
struct TrialLimits {
  double startup_s = 900.0;  ///< from start to the first finished step
  double stall_s = 180.0;    ///< between two finished steps
  double total_s = 1200.0;   ///< from start to end

  bool operator==(const TrialLimits&) const = default;
};

/// What the models expected when the experiment was proposed; for reports only.
struct Expectation {
  std::optional<double> fit_probability;  ///< 0 to 1
  std::optional<double> peak_gpu_bytes;
  std::optional<double> step_s;

  bool operator==(const Expectation&) const = default;
};

/// A configuration, at a number of measured steps, as repeat number r. One line of a manifest.
struct Experiment {
  ExperimentId id;
  ConfigurationId configuration_id;
  Configuration configuration;
  std::string label;  ///< short and readable, unique in a study: `z1_gas2_tmbspg4`
  Purpose purpose = Purpose::profile;
  int repeat = 0;
  int attempt = 0;  ///< how many tries of it went before (requeue, resubmission, retry)
  int min_steps = 8;
  int max_steps = 40;  ///< measured steps, after warm-up
  TrialLimits limits;
  Expectation expected;
  std::vector<ExperimentId> needs_other_node_than;

  bool operator==(const Experiment&) const = default;
};

/// `<configuration>-s<max_steps>-r<repeat>`.
[[nodiscard]] ExperimentId experiment_id(const ConfigurationId& configuration, int max_steps,
                                         int repeat);

[[nodiscard]] Json to_json(const Experiment& experiment);
[[nodiscard]] Expected<Experiment> experiment_from_json(const Json& json, std::string_view where);

}  // namespace slurmtune
