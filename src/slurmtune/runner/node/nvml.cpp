// SPDX-License-Identifier: MIT
#include "slurmtune/runner/node/nvml.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <string_view>
#include <utility>

#include <dlfcn.h>
#include <fmt/format.h>

namespace slurmtune {

namespace {

// NVML's binary interface, as far as it is used. Names and layouts are nvml.h's.
using Device = void*;
using Return = int;
constexpr Return success = 0;
constexpr int clock_sm = 1;
constexpr std::size_t name_bytes = 96;
constexpr unsigned processes_max = 1024;
constexpr double hz_per_mhz = 1e6;
constexpr unsigned long long not_available = std::numeric_limits<unsigned long long>::max();

struct Memory {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};
struct MemoryV2 {
  unsigned version;
  unsigned long long total;
  unsigned long long reserved;
  unsigned long long free;
  unsigned long long used;
};
constexpr unsigned memory_v2 = static_cast<unsigned>(sizeof(MemoryV2)) | (2U << 24U);
struct Utilisation {
  unsigned gpu;
  unsigned memory;
};
struct ProcessInfo {
  unsigned pid;
  unsigned long long bytes;
  unsigned gpu_instance;
  unsigned compute_instance;
};

std::optional<double> known(unsigned long long value) {
  if (value == not_available) return std::nullopt;
  return static_cast<double>(value);
}

}  // namespace

struct Nvml::Library {
  Library() = default;
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library() {
    if (started && shutdown != nullptr) shutdown();
    if (handle != nullptr) ::dlclose(handle);
  }

  template <class Function>
  bool find(const char* name, Function& function) {
    function = reinterpret_cast<Function>(::dlsym(handle, name));
    return function != nullptr;
  }
  Expected<void> open(const std::string& name);
  Expected<void> start();
  Expected<void> read_gpus();
  [[nodiscard]] double usable_bytes(Device device) const;
  [[nodiscard]] std::optional<double> used_bytes(Device device) const;
  [[nodiscard]] std::vector<GpuProcess> processes_of(Device device) const;

  void* handle = nullptr;
  bool started = false;
  Return (*init)() = nullptr;
  Return (*shutdown)() = nullptr;
  const char* (*error_text)(Return) = nullptr;
  Return (*driver_version)(char*, unsigned) = nullptr;
  Return (*count)(unsigned*) = nullptr;
  Return (*device_at)(unsigned, Device*) = nullptr;
  Return (*name_of)(Device, char*, unsigned) = nullptr;
  Return (*uuid_of)(Device, char*, unsigned) = nullptr;
  Return (*memory_of)(Device, Memory*) = nullptr;
  Return (*memory_v2_of)(Device, MemoryV2*) = nullptr;  // driver 510 and newer
  Return (*utilisation_of)(Device, Utilisation*) = nullptr;
  Return (*clock_of)(Device, int, unsigned*) = nullptr;
  Return (*running_on)(Device, unsigned*, ProcessInfo*) = nullptr;  // driver 510 and newer

  std::string driver;
  std::vector<Device> devices;
  std::vector<GpuFacts> facts;
};

Expected<void> Nvml::Library::open(const std::string& name) {
  handle = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return unavailable(fmt::format("no NVML: {}", ::dlerror()));
  const bool whole =
      find("nvmlInit_v2", init) && find("nvmlShutdown", shutdown) &&
      find("nvmlSystemGetDriverVersion", driver_version) && find("nvmlDeviceGetCount_v2", count) &&
      find("nvmlDeviceGetHandleByIndex_v2", device_at) && find("nvmlDeviceGetName", name_of) &&
      find("nvmlDeviceGetUUID", uuid_of) && find("nvmlDeviceGetMemoryInfo", memory_of);
  if (!whole) return unavailable(fmt::format("{} is no NVML, or one older than 2013", name));
  find("nvmlErrorString", error_text);
  find("nvmlDeviceGetMemoryInfo_v2", memory_v2_of);
  find("nvmlDeviceGetUtilizationRates", utilisation_of);
  find("nvmlDeviceGetClockInfo", clock_of);
  find("nvmlDeviceGetComputeRunningProcesses_v3", running_on);
  return {};
}

Expected<void> Nvml::Library::start() {
  const Return answer = init();
  if (answer != success) {
    return unavailable(fmt::format("NVML does not start: {}",
                                   error_text != nullptr ? error_text(answer) : "no reason given"));
  }
  started = true;
  std::array<char, name_bytes> text{};
  if (driver_version(text.data(), name_bytes - 1) == success) driver = text.data();
  return read_gpus();
}

Expected<void> Nvml::Library::read_gpus() {
  unsigned gpus = 0;
  if (count(&gpus) != success) return unavailable("NVML does not tell the number of GPUs");
  for (unsigned index = 0; index < gpus; ++index) {
    Device device = nullptr;
    // A GPU that a control group keeps from us is no error.
    if (device_at(index, &device) != success) continue;
    std::array<char, name_bytes> name{};
    std::array<char, name_bytes> uuid{};
    name_of(device, name.data(), name_bytes - 1);
    uuid_of(device, uuid.data(), name_bytes - 1);
    devices.push_back(device);
    facts.push_back({static_cast<int>(index), uuid.data(), name.data(), usable_bytes(device)});
  }
  if (devices.empty()) return unavailable("NVML sees no GPU that this job may use");
  return {};
}

double Nvml::Library::usable_bytes(Device device) const {
  MemoryV2 newer{memory_v2, 0, 0, 0, 0};
  if (memory_v2_of != nullptr && memory_v2_of(device, &newer) == success) {
    return static_cast<double>(newer.total - newer.reserved);
  }
  Memory memory{};
  return memory_of(device, &memory) == success ? static_cast<double>(memory.total) : 0.0;
}

std::optional<double> Nvml::Library::used_bytes(Device device) const {
  MemoryV2 newer{memory_v2, 0, 0, 0, 0};
  if (memory_v2_of != nullptr && memory_v2_of(device, &newer) == success) return known(newer.used);
  Memory memory{};
  if (memory_of(device, &memory) != success) return std::nullopt;
  return known(memory.used);
}

std::vector<GpuProcess> Nvml::Library::processes_of(Device device) const {
  if (running_on == nullptr) return {};
  std::vector<ProcessInfo> infos(processes_max);
  unsigned found = processes_max;
  if (running_on(device, &found, infos.data()) != success) return {};
  std::vector<GpuProcess> processes;
  for (unsigned i = 0; i < std::min(found, processes_max); ++i) {
    processes.push_back({static_cast<pid_t>(infos[i].pid), known(infos[i].bytes)});
  }
  return processes;
}

Nvml::Nvml(std::unique_ptr<Library> library) : library_(std::move(library)) {}
Nvml::Nvml(Nvml&&) noexcept = default;
Nvml& Nvml::operator=(Nvml&&) noexcept = default;
Nvml::~Nvml() = default;

Expected<Nvml> Nvml::load(const std::string& library) {
  std::string name = library;
  if (name.empty()) {
    const char* chosen = std::getenv("SLURMTUNE_NVML");
    name = chosen != nullptr && *chosen != '\0' ? chosen : "libnvidia-ml.so.1";
  }
  auto loaded = std::make_unique<Library>();
  SLURMTUNE_CHECK(loaded->open(name));
  SLURMTUNE_CHECK(loaded->start());
  return Nvml(std::move(loaded));
}

const std::string& Nvml::driver() const { return library_->driver; }

const std::vector<GpuFacts>& Nvml::gpus() const { return library_->facts; }

GpuState Nvml::state(std::size_t gpu) const {
  SLURMTUNE_ASSERT(gpu < library_->devices.size());
  Device device = library_->devices[gpu];
  GpuState state;
  state.used_bytes = library_->used_bytes(device);
  Utilisation utilisation{};
  if (library_->utilisation_of != nullptr &&
      library_->utilisation_of(device, &utilisation) == success) {
    state.utilisation = static_cast<double>(utilisation.gpu) / 100.0;
  }
  unsigned mhz = 0;
  if (library_->clock_of != nullptr && library_->clock_of(device, clock_sm, &mhz) == success) {
    state.sm_clock_hz = mhz * hz_per_mhz;
  }
  state.processes = library_->processes_of(device);
  return state;
}

namespace {

std::vector<std::string_view> split_list(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    std::string_view word = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    while (word.starts_with(' ')) word.remove_prefix(1);
    while (word.ends_with(' ')) word.remove_suffix(1);
    words.push_back(word);
  }
  return words;
}

std::optional<int> ordinal(std::string_view word) {
  int value = 0;
  const auto [end, problem] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (problem != std::errc{} || end != word.data() + word.size() || value < 0) return std::nullopt;
  return value;
}

std::optional<std::size_t> position_of(const std::vector<GpuFacts>& gpus, std::string_view word) {
  if (const auto number = ordinal(word)) {
    const auto at = static_cast<std::size_t>(*number);
    return at < gpus.size() ? std::optional(at) : std::nullopt;
  }
  if (word.empty()) return std::nullopt;
  const auto found = std::find_if(gpus.begin(), gpus.end(), [&](const GpuFacts& gpu) {
    return std::string_view(gpu.uuid).starts_with(word);
  });
  if (found == gpus.end()) return std::nullopt;
  return static_cast<std::size_t>(found - gpus.begin());
}

std::vector<std::size_t> all_of(const std::vector<GpuFacts>& gpus) {
  std::vector<std::size_t> all(gpus.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

/// By Slurm's list, whose numbers are of the whole node.
std::vector<std::size_t> by_slurm(const std::vector<GpuFacts>& gpus, std::string_view list) {
  const auto words = split_list(list);
  if (words.size() >= gpus.size()) return all_of(gpus);
  std::vector<std::size_t> chosen;
  for (const std::string_view word : words) {
    const auto number = ordinal(word);
    const auto found = std::find_if(gpus.begin(), gpus.end(), [&](const GpuFacts& gpu) {
      return number && gpu.index == *number;
    });
    if (found == gpus.end()) return all_of(gpus);  // ranges (`0-3`), names: not ours to guess
    chosen.push_back(static_cast<std::size_t>(found - gpus.begin()));
  }
  return chosen;
}

}  // namespace

std::vector<std::size_t> visible_gpus(const std::vector<GpuFacts>& gpus,
                                      const Environment& environment) {
  if (const auto list = variable(environment, "CUDA_VISIBLE_DEVICES")) {
    std::vector<std::size_t> chosen;
    for (const std::string_view word : split_list(*list)) {
      const auto position = position_of(gpus, word);
      if (!position) break;
      chosen.push_back(*position);
    }
    return chosen;
  }
  for (const char* name : {"SLURM_STEP_GPUS", "SLURM_JOB_GPUS"}) {
    const auto list = variable(environment, name);
    if (list && !list->empty()) return by_slurm(gpus, *list);
  }
  return all_of(gpus);
}

}  // namespace slurmtune
