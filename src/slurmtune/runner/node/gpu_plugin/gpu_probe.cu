// SPDX-License-Identifier: MIT
//
// slurmtune-gpu-probe.so: measures GPUs with cuBLAS, copies and NCCL. NCCL is loaded at run time.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <vector>

#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <dlfcn.h>

#include "slurmtune/runner/node/gpu_plugin/plugin.hpp"

namespace slurmtune {
namespace {

using Clock = std::chrono::steady_clock;

int fail(char* error, const char* what, const char* why) {
  std::snprintf(error, gpu_error_bytes, "%s: %s", what, why);
  return 1;
}

#define PROBE_CUDA(call)                                                                      \
  do {                                                                                        \
    const cudaError_t probe_code = (call);                                                    \
    if (probe_code != cudaSuccess) return fail(error, #call, cudaGetErrorString(probe_code)); \
  } while (false)
#define PROBE_CUBLAS(call)                                          \
  do {                                                              \
    const cublasStatus_t probe_code = (call);                       \
    if (probe_code != CUBLAS_STATUS_SUCCESS)                        \
      return fail(error, #call, cublasGetStatusString(probe_code)); \
  } while (false)

double seconds_since(Clock::time_point began) {
  return std::chrono::duration<double>(Clock::now() - began).count();
}

/// Memory of the current device.
class DeviceBytes {
 public:
  ~DeviceBytes() { cudaFree(data_); }
  cudaError_t allocate(std::size_t bytes) { return cudaMalloc(&data_, bytes); }
  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  void* data_ = nullptr;
};

/// Values between -1 and 1 that are not alike: a GPU that multiplies zeros draws less power, and so
/// runs faster than it ever will.
template <class T>
__global__ void fill(T* values, std::size_t size) {
  const std::size_t stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < size;
       i += stride) {
    const unsigned mixed = static_cast<unsigned>(i) * 2654435761U;
    values[i] = static_cast<T>(static_cast<float>(mixed >> 8U) / 8388608.0F - 1.0F);
  }
}

/// Repeats `launch` for about `seconds`; how often a second it was done.
template <class Launch>
int rate_of(double seconds, const Launch& launch, double* rate, char* error) {
  if (launch() != 0) return fail(error, "cuBLAS or CUDA", "a launch was refused");
  PROBE_CUDA(cudaDeviceSynchronize());
  constexpr int batch = 8;
  long done = 0;
  const auto began = Clock::now();
  double lasted = 0.0;
  while (lasted < seconds) {
    for (int i = 0; i < batch; ++i) {
      if (launch() != 0) return fail(error, "cuBLAS or CUDA", "a launch was refused");
    }
    PROBE_CUDA(cudaDeviceSynchronize());
    done += batch;
    lasted = seconds_since(began);
  }
  *rate = static_cast<double>(done) / lasted;
  return 0;
}

int copy_rate(double seconds, double* bytes_per_s, char* error) {
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  PROBE_CUDA(cudaMemGetInfo(&free_bytes, &total_bytes));
  const std::size_t bytes = std::min(std::size_t{1} << 30U, free_bytes / 4);
  DeviceBytes from;
  DeviceBytes to;
  PROBE_CUDA(from.allocate(bytes));
  PROBE_CUDA(to.allocate(bytes));
  double rate = 0.0;
  const auto copy = [&] {
    return cudaMemcpyAsync(to.as<char>(), from.as<char>(), bytes, cudaMemcpyDeviceToDevice) ==
                   cudaSuccess
               ? 0
               : 1;
  };
  if (rate_of(seconds, copy, &rate, error) != 0) return 1;
  *bytes_per_s = 2.0 * static_cast<double>(bytes) * rate;
  return 0;
}

template <class T>
int matrix_rate(cublasHandle_t blas, cudaDataType type, double seconds, double* flops,
                char* error) {
  constexpr int n = 4096;
  constexpr std::size_t elements = static_cast<std::size_t>(n) * n;
  DeviceBytes a;
  DeviceBytes b;
  DeviceBytes c;
  PROBE_CUDA(a.allocate(elements * sizeof(T)));
  PROBE_CUDA(b.allocate(elements * sizeof(T)));
  PROBE_CUDA(c.allocate(elements * sizeof(T)));
  fill<<<1024, 256>>>(a.as<T>(), elements);
  fill<<<1024, 256>>>(b.as<T>(), elements);
  PROBE_CUDA(cudaGetLastError());
  const float one = 1.0F;
  const float zero = 0.0F;
  const auto multiply = [&] {
    return cublasGemmEx(blas, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, a.as<T>(), type, n,
                        b.as<T>(), type, n, &zero, c.as<T>(), type, n, CUBLAS_COMPUTE_32F,
                        CUBLAS_GEMM_DEFAULT) == CUBLAS_STATUS_SUCCESS
               ? 0
               : 1;
  };
  double rate = 0.0;
  if (rate_of(seconds, multiply, &rate, error) != 0) return 1;
  *flops = 2.0 * n * static_cast<double>(elements) * rate;
  return 0;
}

/// Lowers `least`, 0 = nothing yet.
void take_least(double& least, double value) {
  if (least == 0.0 || value < least) least = value;
}

int measure_device(int device, double seconds, GpuFigures& least, char* error) {
  PROBE_CUDA(cudaSetDevice(device));
  GpuFigures own;
  if (copy_rate(seconds, &own.memory_bytes_per_s, error) != 0) return 1;
  cublasHandle_t blas = nullptr;
  PROBE_CUBLAS(cublasCreate(&blas));
  int code = matrix_rate<float>(blas, CUDA_R_32F, seconds, &own.fp32_flops, error);
  if (code == 0) code = matrix_rate<__half>(blas, CUDA_R_16F, seconds, &own.fp16_flops, error);
  // Before compute capability 8.0 there is no bf16 in hardware.
  int major = 0;
  cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
  if (code == 0 && major >= 8) {
    code = matrix_rate<__nv_bfloat16>(blas, CUDA_R_16BF, seconds, &own.bf16_flops, error);
  }
  cublasDestroy(blas);
  if (code != 0) return code;
  take_least(least.memory_bytes_per_s, own.memory_bytes_per_s);
  take_least(least.fp32_flops, own.fp32_flops);
  take_least(least.fp16_flops, own.fp16_flops);
  if (own.bf16_flops > 0.0) take_least(least.bf16_flops, own.bf16_flops);
  return 0;
}

/// NCCL's binary interface, as far as it is used. Source: nccl.h of NCCL 2.
struct Nccl {
  using Comm = void*;
  static constexpr int float32 = 7;
  static constexpr int sum = 0;

  int (*get_unique_id)(NcclId*) = nullptr;
  int (*comm_init_rank)(Comm*, int, NcclId, int) = nullptr;
  int (*comm_destroy)(Comm) = nullptr;
  int (*all_reduce)(const void*, void*, std::size_t, int, int, Comm, cudaStream_t) = nullptr;
  int (*group_start)() = nullptr;
  int (*group_end)() = nullptr;
  const char* (*error_text)(int) = nullptr;

  int load(char* error) {
    void* library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return fail(error, "no NCCL", dlerror());
    const auto find = [library](const char* name, auto& function) {
      function =
          reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
      return function != nullptr;
    };
    const bool whole = find("ncclGetUniqueId", get_unique_id) &&
                       find("ncclCommInitRank", comm_init_rank) &&
                       find("ncclCommDestroy", comm_destroy) && find("ncclAllReduce", all_reduce) &&
                       find("ncclGroupStart", group_start) && find("ncclGroupEnd", group_end) &&
                       find("ncclGetErrorString", error_text);
    return whole ? 0 : fail(error, "libnccl.so.2", "is no NCCL 2");
  }
};

#define PROBE_NCCL(call)                                                         \
  do {                                                                           \
    const int probe_code = (call);                                               \
    if (probe_code != 0) return fail(error, #call, nccl.error_text(probe_code)); \
  } while (false)

/// One GPU of this process in an all-reduce.
struct Member {
  DeviceBytes buffer;
  Nccl::Comm comm = nullptr;
};

int all_reduce_once(const Nccl& nccl, std::vector<std::unique_ptr<Member>>& members,
                    std::size_t count, char* error) {
  PROBE_NCCL(nccl.group_start());
  for (const auto& member : members) {
    PROBE_NCCL(nccl.all_reduce(member->buffer.as<float>(), member->buffer.as<float>(), count,
                               Nccl::float32, Nccl::sum, member->comm, nullptr));
  }
  PROBE_NCCL(nccl.group_end());
  return 0;
}

int synchronize_all(std::size_t gpus, char* error) {
  for (std::size_t i = 0; i < gpus; ++i) {
    PROBE_CUDA(cudaSetDevice(static_cast<int>(i)));
    PROBE_CUDA(cudaDeviceSynchronize());
  }
  return 0;
}

}  // namespace

extern "C" int slurmtune_gpu_measure(double seconds_each, GpuFigures* figures, char* error) {
  if (figures->version != GpuFigures{}.version) return fail(error, "GPU probe", "another version");
  int gpus = 0;
  PROBE_CUDA(cudaGetDeviceCount(&gpus));
  figures->gpus = gpus;
  for (int device = 0; device < gpus; ++device) {
    if (measure_device(device, seconds_each, *figures, error) != 0) return 1;
  }
  return 0;
}

extern "C" int slurmtune_gpu_nccl_id(NcclId* id, char* error) {
  Nccl nccl;
  if (nccl.load(error) != 0) return 1;
  PROBE_NCCL(nccl.get_unique_id(id));
  return 0;
}

extern "C" int slurmtune_gpu_all_reduce(const NcclId* id, const NcclPlace* place, std::size_t bytes,
                                        double* bytes_per_s, char* error) {
  Nccl nccl;
  if (nccl.load(error) != 0) return 1;
  *bytes_per_s = 0.0;
  if (place->ranks < 2) return 0;  // one GPU has nobody to talk to
  int gpus = 0;
  PROBE_CUDA(cudaGetDeviceCount(&gpus));
  std::vector<std::unique_ptr<Member>> members;
  for (int i = 0; i < gpus; ++i) {
    PROBE_CUDA(cudaSetDevice(i));
    members.push_back(std::make_unique<Member>());
    PROBE_CUDA(members.back()->buffer.allocate(bytes));
    PROBE_CUDA(cudaMemset(members.back()->buffer.as<char>(), 0, bytes));
  }
  PROBE_NCCL(nccl.group_start());
  for (int i = 0; i < gpus; ++i) {
    PROBE_CUDA(cudaSetDevice(i));
    PROBE_NCCL(nccl.comm_init_rank(&members[static_cast<std::size_t>(i)]->comm, place->ranks, *id,
                                   place->first_rank + i));
  }
  PROBE_NCCL(nccl.group_end());
  const std::size_t count = bytes / sizeof(float);
  constexpr int rounds = 20;  // the same on all nodes
  for (int warmup = 0; warmup < 3; ++warmup) {
    if (all_reduce_once(nccl, members, count, error) != 0) return 1;
  }
  if (synchronize_all(members.size(), error) != 0) return 1;
  const auto began = Clock::now();
  for (int round = 0; round < rounds; ++round) {
    if (all_reduce_once(nccl, members, count, error) != 0) return 1;
  }
  if (synchronize_all(members.size(), error) != 0) return 1;
  const double each_s = seconds_since(began) / rounds;
  for (const auto& member : members) nccl.comm_destroy(member->comm);
  const double ranks = place->ranks;
  *bytes_per_s = 2.0 * (ranks - 1.0) / ranks * static_cast<double>(bytes) / each_s;
  return 0;
}

}  // namespace slurmtune
