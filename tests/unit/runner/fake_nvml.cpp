// SPDX-License-Identifier: MIT
//
// A libnvidia-ml.so.1 without a GPU, for tests: answers from the file that SLURMTUNE_FAKE_NVML
// names, read at each question. One line a GPU:
//
//   UUID NAME TOTAL RESERVED USED UTILISATION MHZ PID PID_BYTES
//
// bytes, percent; a UTILISATION below 0 is not supported by that GPU; PID 0 is no process.

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

namespace {

constexpr int success = 0;
constexpr int not_supported = 3;
constexpr int driver_not_loaded = 9;

struct Gpu {
  std::string uuid;
  std::string name;
  unsigned long long total = 0;
  unsigned long long reserved = 0;
  unsigned long long used = 0;
  int utilisation = 0;
  unsigned mhz = 0;
  unsigned pid = 0;
  unsigned long long pid_bytes = 0;
};

std::vector<Gpu> gpus() {
  std::vector<Gpu> all;
  const char* path = std::getenv("SLURMTUNE_FAKE_NVML");
  std::ifstream file(path != nullptr ? path : "");
  Gpu gpu;
  while (file >> gpu.uuid >> gpu.name >> gpu.total >> gpu.reserved >> gpu.used >> gpu.utilisation >>
         gpu.mhz >> gpu.pid >> gpu.pid_bytes) {
    all.push_back(gpu);
  }
  return all;
}

/// A handle is the GPU's number + 1.
Gpu gpu_of(void* device) {
  return gpus().at(
      static_cast<std::size_t>(static_cast<char*>(device) - static_cast<char*>(nullptr)) - 1);
}

void copy_text(const std::string& text, char* into, unsigned size) {
  std::strncpy(into, text.c_str(), size - 1);
  into[size - 1] = '\0';
}

}  // namespace

extern "C" {

struct Memory {
  unsigned long long total, free, used;
};
struct MemoryV2 {
  unsigned version;
  unsigned long long total, reserved, free, used;
};
struct Utilisation {
  unsigned gpu, memory;
};
struct ProcessInfo {
  unsigned pid;
  unsigned long long bytes;
  unsigned gpu_instance, compute_instance;
};

int nvmlInit_v2() {
  const char* path = std::getenv("SLURMTUNE_FAKE_NVML");
  return path != nullptr && std::ifstream(path) ? success : driver_not_loaded;
}
int nvmlShutdown() { return success; }
const char* nvmlErrorString(int code) {
  return code == driver_not_loaded ? "Driver Not Loaded" : "Unknown Error";
}
int nvmlSystemGetDriverVersion(char* text, unsigned size) {
  copy_text("580.65.06", text, size);
  return success;
}
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = static_cast<unsigned>(gpus().size());
  return success;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  *device = static_cast<char*>(nullptr) + index + 1;
  return success;
}
int nvmlDeviceGetName(void* device, char* text, unsigned size) {
  copy_text(gpu_of(device).name, text, size);
  return success;
}
int nvmlDeviceGetUUID(void* device, char* text, unsigned size) {
  copy_text(gpu_of(device).uuid, text, size);
  return success;
}
int nvmlDeviceGetMemoryInfo(void* device, Memory* memory) {
  const Gpu gpu = gpu_of(device);
  *memory = {gpu.total, gpu.total - gpu.used - gpu.reserved, gpu.used + gpu.reserved};
  return success;
}
int nvmlDeviceGetMemoryInfo_v2(void* device, MemoryV2* memory) {
  // As the real one: the caller says which version it was built for.
  if (memory->version != (sizeof(MemoryV2) | (2U << 24U))) return not_supported;
  const Gpu gpu = gpu_of(device);
  *memory = {memory->version, gpu.total, gpu.reserved, gpu.total - gpu.used - gpu.reserved,
             gpu.used};
  return success;
}
int nvmlDeviceGetUtilizationRates(void* device, Utilisation* utilisation) {
  const Gpu gpu = gpu_of(device);
  if (gpu.utilisation < 0) return not_supported;
  *utilisation = {static_cast<unsigned>(gpu.utilisation), 0};
  return success;
}
int nvmlDeviceGetClockInfo(void* device, int type, unsigned* mhz) {
  constexpr int sm = 1;
  if (type != sm) return not_supported;
  *mhz = gpu_of(device).mhz;
  return success;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void* device, unsigned* count, ProcessInfo* infos) {
  const Gpu gpu = gpu_of(device);
  *count = gpu.pid == 0 ? 0 : 1;
  if (gpu.pid != 0) infos[0] = {gpu.pid, gpu.pid_bytes, 0, 0};
  return success;
}

}  // extern "C"
