// SPDX-License-Identifier: MIT
#include "slurmtune/runner/node/gpu_probe.hpp"

#include <array>
#include <optional>
#include <string>
#include <vector>

#include <dlfcn.h>
#include <fmt/format.h>

namespace slurmtune {

namespace fs = std::filesystem;

namespace {

constexpr const char* plugin_name = "slurmtune-gpu-probe.so";

Expected<void*> open_plugin(const fs::path& plugin) {
  std::vector<fs::path> paths{plugin};
  std::error_code error;
  if (plugin.empty()) {
    const fs::path program = fs::read_symlink("/proc/self/exe", error);
    paths = {program.parent_path() / plugin_name,
             program.parent_path() / "../lib/slurmtune" / plugin_name};
  }
  for (const fs::path& path : paths) {
    if (!fs::exists(path, error)) continue;
    // Never closed: what CUDA has started may still run.
    void* handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle != nullptr) return handle;
    return unavailable(fmt::format("the GPU probe cannot be loaded: {}", ::dlerror()));
  }
  return unavailable(
      fmt::format("the GPU probe ({}) is not installed: it is built where nvcc is", plugin_name));
}

std::optional<double> measured(double value) {
  return value > 0.0 ? std::optional(value) : std::nullopt;
}

}  // namespace

Expected<GpuProbe> GpuProbe::load(const fs::path& plugin) {
  SLURMTUNE_TRY(void* handle, open_plugin(plugin));
  GpuProbe probe;
  probe.measure_ = reinterpret_cast<GpuMeasure>(::dlsym(handle, gpu_measure_entry));
  probe.nccl_id_ = reinterpret_cast<GpuNcclId>(::dlsym(handle, gpu_nccl_id_entry));
  probe.all_reduce_ = reinterpret_cast<GpuAllReduce>(::dlsym(handle, gpu_all_reduce_entry));
  if (probe.measure_ == nullptr || probe.nccl_id_ == nullptr || probe.all_reduce_ == nullptr) {
    return unavailable(fmt::format("{} is not of this version of slurmtune", plugin_name));
  }
  return probe;
}

Expected<void> GpuProbe::measure(NodeFigures& figures, std::chrono::duration<double> each) const {
  GpuFigures raw;
  std::array<char, gpu_error_bytes> why{};
  if (measure_(each.count(), &raw, why.data()) != 0) return unavailable(why.data());
  figures.gpu_memory_bytes_per_s = measured(raw.memory_bytes_per_s);
  figures.gpu_fp32_flops = measured(raw.fp32_flops);
  figures.gpu_fp16_flops = measured(raw.fp16_flops);
  figures.gpu_bf16_flops = measured(raw.bf16_flops);
  return {};
}

Expected<NcclId> GpuProbe::nccl_id() const {
  NcclId id{};
  std::array<char, gpu_error_bytes> why{};
  if (nccl_id_(&id, why.data()) != 0) return unavailable(why.data());
  return id;
}

Expected<double> GpuProbe::all_reduce(const NcclId& id, const NcclPlace& place,
                                      std::size_t bytes) const {
  double bytes_per_s = 0.0;
  std::array<char, gpu_error_bytes> why{};
  if (all_reduce_(&id, &place, bytes, &bytes_per_s, why.data()) != 0) {
    return unavailable(why.data());
  }
  return bytes_per_s;
}

}  // namespace slurmtune
