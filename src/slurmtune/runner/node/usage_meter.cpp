// SPDX-License-Identifier: MIT
#include "slurmtune/runner/node/usage_meter.hpp"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "slurmtune/record/json.hpp"
#include "slurmtune/record/json_fields.hpp"

namespace slurmtune {

namespace {

/// A walk over page tables is worth it if memory grew by this much over the last peak.
constexpr double growth_worth_a_walk = 1.01;
/// After a walk, none for so many times as long as it took: at most 2 % of the time.
constexpr int rest_after_walk = 50;

void raise(std::optional<double>& peak, std::optional<double> value) {
  if (value && (!peak || *value > *peak)) peak = value;
}

std::optional<double> mean_of(double sum, int count) {
  return count > 0 ? std::optional(sum / count) : std::nullopt;
}

/// Bytes of the processes on a GPU; nothing if it runs none of them, or they are not told.
std::optional<double> bytes_of(const GpuState& state, std::span<const pid_t> processes) {
  std::optional<double> sum;
  for (const GpuProcess& process : state.processes) {
    const bool ours = std::find(processes.begin(), processes.end(), process.pid) != processes.end();
    if (ours && process.bytes) sum = sum.value_or(0.0) + *process.bytes;
  }
  return sum;
}

}  // namespace

UsageMeter UsageMeter::start(const Environment& environment, const KernelFiles& files,
                             const std::string& nvml) {
  UsageMeter meter;
  meter.files_ = files;
  auto loaded = Nvml::load(nvml);
  if (!loaded) {
    meter.usage_.no_gpu_because = loaded.error().message;
    return meter;
  }
  meter.nvml_ = *std::move(loaded);
  for (const std::size_t gpu : visible_gpus(meter.nvml_->gpus(), environment)) {
    meter.gpus_.push_back({gpu, meter.nvml_->state(gpu).used_bytes.value_or(0.0)});
  }
  if (meter.gpus_.empty()) meter.usage_.no_gpu_because = "the trial may use none of the GPUs";
  return meter;
}

void UsageMeter::sample(std::span<const pid_t> processes) {
  ++usage_.samples;
  sample_host(processes);
  sample_limit();
  sample_gpus(processes);
}

std::optional<double> UsageMeter::proportional_sum(std::span<const pid_t> processes) const {
  double sum = 0.0;
  for (const pid_t pid : processes) {
    const auto bytes = proportional_bytes(files_, pid);
    if (bytes) sum += *bytes;
  }
  return sum > 0.0 ? std::optional(sum) : std::nullopt;
}

void UsageMeter::sample_host(std::span<const pid_t> processes) {
  double resident = 0.0;
  for (const pid_t pid : processes) {
    const auto memory = process_memory(files_, pid);
    if (!memory) continue;
    resident += memory->resident_bytes;
    raise(usage_.peak_process_bytes, memory->peak_resident_bytes);
  }
  if (resident <= 0.0) return;
  const auto now = Clock::now();
  const bool grew = resident > growth_worth_a_walk * resident_peak_bytes_;
  if (processes.size() > 1 && grew && now >= next_walk_) {
    if (const auto shared = proportional_sum(processes)) {
      shared_factor_ = std::min(1.0, *shared / resident);
    }
    const auto after = Clock::now();
    next_walk_ = after + rest_after_walk * (after - now);
    resident_peak_bytes_ = resident;
  }
  // Between walks the sharing is taken to be as it was.
  raise(usage_.peak_host_bytes, shared_factor_ * resident);
}

void UsageMeter::sample_limit() {
  const auto limit = memory_limit(files_);
  if (!limit || limit->limit_bytes <= 0.0) return;
  usage_.memory_limit_bytes = limit->limit_bytes;
  raise(usage_.memory_limit_fraction, limit->used_bytes / limit->limit_bytes);
}

void UsageMeter::sample_gpus(std::span<const pid_t> processes) {
  for (const Watched& watched : gpus_) {
    const GpuState state = nvml_->state(watched.gpu);
    if (state.utilisation) {
      utilisation_sum_ += *state.utilisation;
      ++utilisations_;
    }
    if (state.sm_clock_hz) {
      clock_sum_hz_ += *state.sm_clock_hz;
      ++clocks_;
    }
    auto bytes = bytes_of(state, processes);
    // In a container the driver knows other process ids, or none: then what came since the start.
    if (!bytes && state.used_bytes) {
      bytes = std::max(0.0, *state.used_bytes - watched.used_before_bytes);
    }
    raise(usage_.peak_gpu_bytes, bytes);
  }
}

NodeUsage UsageMeter::usage() const {
  NodeUsage usage = usage_;
  usage.gpu_utilisation = mean_of(utilisation_sum_, utilisations_);
  usage.sm_clock_hz = mean_of(clock_sum_hz_, clocks_);
  return usage;
}

NodeUsage usage_over_nodes(std::span<const NodeUsage> nodes) {
  NodeUsage all;
  double utilisation = 0.0;
  double clock_hz = 0.0;
  int utilisations = 0;
  int clocks = 0;
  for (const NodeUsage& node : nodes) {
    raise(all.peak_host_bytes, node.peak_host_bytes);
    raise(all.peak_process_bytes, node.peak_process_bytes);
    raise(all.peak_gpu_bytes, node.peak_gpu_bytes);
    const double nearest = all.memory_limit_fraction.value_or(-1.0);
    if (node.memory_limit_bytes && node.memory_limit_fraction.value_or(0.0) > nearest) {
      all.memory_limit_bytes = node.memory_limit_bytes;
      all.memory_limit_fraction = node.memory_limit_fraction;
    }
    if (node.gpu_utilisation) {
      utilisation += *node.gpu_utilisation;
      ++utilisations;
    }
    if (node.sm_clock_hz) {
      clock_hz += *node.sm_clock_hz;
      ++clocks;
    }
    all.samples += node.samples;
    if (all.no_gpu_because.empty()) all.no_gpu_because = node.no_gpu_because;
  }
  all.gpu_utilisation = mean_of(utilisation, utilisations);
  all.sm_clock_hz = mean_of(clock_hz, clocks);
  return all;
}

Expected<std::string> render_usage(const NodeUsage& usage) {
  Json json = {{"samples", usage.samples}};
  put(json, "peak_host_bytes", usage.peak_host_bytes);
  put(json, "peak_process_bytes", usage.peak_process_bytes);
  put(json, "peak_gpu_bytes", usage.peak_gpu_bytes);
  put(json, "gpu_utilisation", usage.gpu_utilisation);
  put(json, "sm_clock_hz", usage.sm_clock_hz);
  put(json, "memory_limit_bytes", usage.memory_limit_bytes);
  put(json, "memory_limit_fraction", usage.memory_limit_fraction);
  if (!usage.no_gpu_because.empty()) json["no_gpu_because"] = usage.no_gpu_because;
  return canonical_json(json);
}

Expected<NodeUsage> parse_usage(std::string_view text) {
  constexpr std::string_view where = "usage of a node";
  SLURMTUNE_TRY(const Json json, parse_json(text, where));
  NodeUsage usage;
  JsonFields fields(json, where);
  fields.required("samples", usage.samples);
  fields.optional("peak_host_bytes", usage.peak_host_bytes);
  fields.optional("peak_process_bytes", usage.peak_process_bytes);
  fields.optional("peak_gpu_bytes", usage.peak_gpu_bytes);
  fields.optional("gpu_utilisation", usage.gpu_utilisation);
  fields.optional("sm_clock_hz", usage.sm_clock_hz);
  fields.optional("memory_limit_bytes", usage.memory_limit_bytes);
  fields.optional("memory_limit_fraction", usage.memory_limit_fraction);
  fields.optional("no_gpu_because", usage.no_gpu_because);
  return fields.into(std::move(usage));
}

}  // namespace slurmtune
