// SPDX-License-Identifier: MIT
//
// Preloaded into slurmtune: how long calls of libslurm that ask the controller take, all together.
// At its end the process writes `<calls> <seconds>` into the file SLURMTUNE_BENCH_CALLS.

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include <dlfcn.h>

namespace {

int calls = 0;
double seconds = 0.0;

struct AtEnd {
  AtEnd() = default;
  AtEnd(const AtEnd&) = delete;
  AtEnd& operator=(const AtEnd&) = delete;
  ~AtEnd() {
    const char* path = std::getenv("SLURMTUNE_BENCH_CALLS");
    std::FILE* file = path == nullptr || calls == 0 ? nullptr : std::fopen(path, "w");
    if (file == nullptr) return;
    std::fprintf(file, "%d %.6f\n", calls, seconds);
    std::fclose(file);
  }
} at_end;

template <class Function, class... Arguments>
int timed(const char* name, Arguments... arguments) {
  const auto real = reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
  if (real == nullptr) std::abort();
  const auto began = std::chrono::steady_clock::now();
  const int rc = real(arguments...);
  seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  ++calls;
  return rc;
}

}  // namespace

// Their types do not matter here; those of the arguments' registers do.
extern "C" int slurm_submit_batch_job(void* description, void** response) {
  return timed<int(void*, void**)>("slurm_submit_batch_job", description, response);
}
extern "C" int slurm_load_job_user(void** jobs, unsigned user, unsigned short flags) {
  return timed<int(void**, unsigned, unsigned short)>("slurm_load_job_user", jobs, user, flags);
}
