// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "slurmtune/record/experiment.hpp"
#include "slurmtune/record/interval.hpp"

namespace slurmtune {

/// The best configuration at the time a manifest was written, for ending hopeless trials early.
struct Incumbent {
  ConfigurationId configuration;
  Interval throughput;  ///< the objective, larger is better (samples/s for throughput)

  bool operator==(const Incumbent&) const = default;
};

/// Experiments [first, end) of a manifest: the work of one array task.
struct Slice {
  std::int64_t first = 0;
  std::int64_t end = 0;

  bool operator==(const Slice&) const = default;
};

/// The experiments of a stage, in order, and how they are cut into array tasks.
/// Every experiment is in exactly one slice; slices are consecutive.
struct Manifest {
  StudyId study;
  StageName stage;
  int round = 0;
  std::string inputs;  ///< `sha256:…` over the frozen input
  int lanes = 1;
  int nodes_per_lane = 1;
  std::int64_t task_walltime_s = 0;
  std::vector<Slice> slices;
  std::optional<Incumbent> incumbent;
  std::optional<std::int64_t> node_seconds_cap;
  std::vector<Experiment> experiments;

  bool operator==(const Manifest&) const = default;
};

/// manifest.jsonl: a header line, then one line an experiment; canonical JSON.
[[nodiscard]] Expected<std::string> render_manifest(const Manifest& manifest);
/// Errors: corrupt_data with `where:line: `; a newer version is refused.
[[nodiscard]] Expected<Manifest> parse_manifest(std::string_view text, std::string_view where);

}  // namespace slurmtune
