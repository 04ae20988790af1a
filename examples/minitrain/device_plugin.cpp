// SPDX-License-Identifier: MIT
#include "device_plugin.hpp"

#include <array>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <dlfcn.h>
#include <fmt/format.h>

namespace minitrain {

namespace fs = std::filesystem;

namespace {

std::vector<fs::path> plugin_paths() {
  constexpr const char* name = "minitrain-cuda.so";
  const char* chosen = std::getenv("MINITRAIN_CUDA");
  if (chosen != nullptr && *chosen != '\0') return {chosen};
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  return {program.parent_path() / name, program.parent_path() / "../lib/slurmtune" / name};
}

}  // namespace

Expected<std::unique_ptr<Device>> load_cuda_device(int local_rank) {
  for (const fs::path& path : plugin_paths()) {
    std::error_code failure;
    if (!fs::exists(path, failure)) continue;
    // Never closed: what CUDA has started may still run.
    void* plugin = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (plugin == nullptr) return tl::unexpected(fmt::format("cannot be loaded: {}", ::dlerror()));
    const auto make = reinterpret_cast<MakeDevice>(::dlsym(plugin, device_entry));
    if (make == nullptr) {
      return tl::unexpected(fmt::format("{} is no plug-in of minitrain", path.string()));
    }
    std::array<char, device_error_bytes> why{};
    std::unique_ptr<Device> device(make(local_rank, why.data()));
    if (device == nullptr) return tl::unexpected(std::string(why.data()));
    return device;
  }
  return tl::unexpected(std::string("minitrain-cuda.so is not there: it is built where nvcc is"));
}

}  // namespace minitrain
