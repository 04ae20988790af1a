// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "slurmtune/base/error.hpp"
#include "slurmtune/runner/node/host_memory.hpp"
#include "slurmtune/runner/node/nvml.hpp"
#include "slurmtune/runner/start/environment.hpp"

namespace slurmtune {

/// What one trial used on one node. Absent = not measured.
struct NodeUsage {
  /// Largest sum over the trial's processes, pages that they share counted once.
  std::optional<double> peak_host_bytes;
  std::optional<double> peak_process_bytes;     ///< largest resident set of one process
  std::optional<double> peak_gpu_bytes;         ///< of the trial, on the GPU where it is largest
  std::optional<double> gpu_utilisation;        ///< mean over samples and GPUs, 0 to 1
  std::optional<double> sm_clock_hz;            ///< mean over samples and GPUs
  std::optional<double> memory_limit_bytes;     ///< tightest of our control groups
  std::optional<double> memory_limit_fraction;  ///< largest part of it in use, 0 to 1
  int samples = 0;
  std::string no_gpu_because;  ///< why nothing is known of GPUs; "" if something is

  bool operator==(const NodeUsage&) const = default;
};

/// One line of canonical JSON, for its way to another rank.
[[nodiscard]] Expected<std::string> render_usage(const NodeUsage& usage);
/// Errors: corrupt_data.
[[nodiscard]] Expected<NodeUsage> parse_usage(std::string_view text);

/// The usage of a trial from that of its nodes: the largest peaks and fraction, the mean of the
/// means, and the limit of the node that came nearest to its own.
[[nodiscard]] NodeUsage usage_over_nodes(std::span<const NodeUsage> nodes);

/// Watches what a trial uses on this node. Cheap: a sample reads one small file a process; page
/// tables are walked only while memory grows, and for at most 2 % of the time.
class UsageMeter {
 public:
  /// `environment` is the trial's: which GPUs are its own. `nvml` as in Nvml::load.
  [[nodiscard]] static UsageMeter start(const Environment& environment,
                                        const KernelFiles& files = {},
                                        const std::string& nvml = "");

  /// Once a second or so, with all processes of the trial on this node. Those that have ended are
  /// left out.
  void sample(std::span<const pid_t> processes);
  [[nodiscard]] NodeUsage usage() const;

 private:
  using Clock = std::chrono::steady_clock;

  UsageMeter() = default;
  void sample_host(std::span<const pid_t> processes);
  void sample_limit();
  void sample_gpus(std::span<const pid_t> processes);
  [[nodiscard]] std::optional<double> proportional_sum(std::span<const pid_t> processes) const;

  /// A GPU of the trial.
  struct Watched {
    std::size_t gpu = 0;
    double used_before_bytes = 0.0;
  };

  KernelFiles files_;
  std::optional<Nvml> nvml_;
  std::vector<Watched> gpus_;
  NodeUsage usage_;
  double resident_peak_bytes_ = 0.0;
  double shared_factor_ = 1.0;  ///< proportional over resident, as last read
  Clock::time_point next_walk_;
  double utilisation_sum_ = 0.0;
  double clock_sum_hz_ = 0.0;
  int utilisations_ = 0;
  int clocks_ = 0;
};

}  // namespace slurmtune
