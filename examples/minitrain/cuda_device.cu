// SPDX-License-Identifier: MIT
//
// minitrain-cuda.so: a GPU as minitrain's device. Matrix products by cuBLAS in single precision
// (no TF32: the losses agree with the processor's), everything else by the kernels below.

#include <algorithm>
#include <array>
#include <cstdio>
#include <stdexcept>
#include <string>

#include <cublas_v2.h>
#include <cuda_runtime.h>

#include "device_plugin.hpp"

namespace minitrain {
namespace {

constexpr unsigned threads = 256;
constexpr unsigned blocks_max = 1024;
constexpr unsigned sum_blocks = 128;

void check(cudaError_t code, const char* what) {
  if (code == cudaSuccess) return;
  throw std::runtime_error(std::string("CUDA error: ") + what + ": " + cudaGetErrorString(code));
}

void check(cublasStatus_t code, const char* what) {
  if (code == CUBLAS_STATUS_SUCCESS) return;
  throw std::runtime_error(std::string("cuBLAS error: ") + what + ": " +
                           cublasGetStatusString(code));
}

unsigned blocks_for(std::size_t size) {
  return static_cast<unsigned>(std::min<std::size_t>(blocks_max, (size + threads - 1) / threads));
}

/// Calls `each(i)` for every i below `size`.
template <class Each>
__global__ void for_each_element(std::size_t size, Each each) {
  const std::size_t stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < size;
       i += stride) {
    each(i);
  }
}

// What is done to one element; kernels.cpp says the same for the processor.

struct AddBias {
  float* matrix;
  const float* bias;
  std::size_t columns;
  __device__ void operator()(std::size_t i) const { matrix[i] += bias[i % columns]; }
};

/// One column each: neighbouring threads read neighbouring values.
struct ColumnSum {
  const float* matrix;
  float* sums;
  std::size_t rows;
  std::size_t columns;
  __device__ void operator()(std::size_t column) const {
    float sum = 0.0F;
    for (std::size_t row = 0; row < rows; ++row) sum += matrix[row * columns + column];
    sums[column] += sum;
  }
};

struct Activate {
  const float* z;
  float* out;
  __device__ void operator()(std::size_t i) const {
    out[i] = z[i] * (0.5F + 0.5F * z[i] / (1.0F + fabsf(z[i])));
  }
};

struct ActivateBackward {
  const float* z;
  float* gradient;
  __device__ void operator()(std::size_t i) const {
    const float inverse = 1.0F / (1.0F + fabsf(z[i]));
    const float gate = 0.5F + 0.5F * z[i] * inverse;
    gradient[i] *= gate + 0.5F * z[i] * inverse * inverse;
  }
};

struct Add {
  const float* value;
  float* out;
  __device__ void operator()(std::size_t i) const { out[i] += value[i]; }
};

struct Scale {
  float factor;
  float* out;
  __device__ void operator()(std::size_t i) const { out[i] *= factor; }
};

struct ErrorGradient {
  float factor;
  const float* target;
  float* prediction;
  __device__ void operator()(std::size_t i) const {
    prediction[i] = factor * (prediction[i] - target[i]);
  }
};

struct AdamUpdate {
  AdamStep s;
  const float* g;
  float* p;
  float* m;
  float* v;
  __device__ void operator()(std::size_t i) const {
    const float slope = g[i] + s.l2 * p[i];
    m[i] = s.beta1 * m[i] + (1.0F - s.beta1) * slope;
    v[i] = s.beta2 * v[i] + (1.0F - s.beta2) * slope * slope;
    const float kept = p[i] - s.decay * p[i];
    p[i] = kept - s.lr * m[i] / (sqrtf(v[i]) * s.second_scale + s.eps);
  }
};

/// One partial sum a block, in a fixed order: the loss is the same every time.
__global__ void sum_squares(std::size_t size, const float* prediction, const float* target,
                            double* partial) {
  __shared__ double sums[threads];
  double sum = 0.0;
  const std::size_t stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < size;
       i += stride) {
    const double difference = static_cast<double>(prediction[i]) - target[i];
    sum += difference * difference;
  }
  sums[threadIdx.x] = sum;
  __syncthreads();
  for (unsigned half = threads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) partial[blockIdx.x] = sums[0];
}

/// cuBLAS is column-major: it computes the transposed product of the transposed matrices.
class CudaProduct final : public MatrixProduct {
 public:
  explicit CudaProduct(cublasHandle_t blas) : blas_{blas} {}

  void multiply(GemmShape shape, MatrixView a, MatrixView b, float* c,
                Accumulate accumulate) override {
    const float one = 1.0F;
    const float beta = accumulate == Accumulate::yes ? 1.0F : 0.0F;
    const auto [b_operation, b_leading] = as_columns(b);
    const auto [a_operation, a_leading] = as_columns(a);
    check(cublasSgemm(blas_, b_operation, a_operation, static_cast<int>(shape.columns),
                      static_cast<int>(shape.rows), static_cast<int>(shape.depth), &one, b.data,
                      b_leading, a.data, a_leading, &beta, c, static_cast<int>(shape.columns)),
          "cublasSgemm");
  }

 private:
  struct Operand {
    cublasOperation_t operation;
    int leading;
  };
  static Operand as_columns(MatrixView view) {
    if (view.column_stride == 1) return {CUBLAS_OP_N, static_cast<int>(view.row_stride)};
    return {CUBLAS_OP_T, static_cast<int>(view.column_stride)};
  }

  cublasHandle_t blas_;
};

class CudaDevice final : public Device {
 public:
  explicit CudaDevice(int ordinal) {
    check(cudaSetDevice(ordinal), "cudaSetDevice");
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, ordinal), "cudaGetDeviceProperties");
    name_ = properties.name;
    capacity_bytes_ = properties.totalGlobalMem;
    check(cublasCreate(&blas_), "cublasCreate");
    check(cudaMalloc(&partial_, sum_blocks * sizeof(double)), "cudaMalloc");
    // Tensors come and go in every step: the pool keeps what they leave.
    int has_pools = 0;
    check(cudaDeviceGetAttribute(&has_pools, cudaDevAttrMemoryPoolsSupported, ordinal),
          "cudaDeviceGetAttribute");
    pooled_ = has_pools != 0;
    if (!pooled_) return;
    cudaMemPool_t pool = nullptr;
    check(cudaDeviceGetDefaultMemPool(&pool, ordinal), "cudaDeviceGetDefaultMemPool");
    auto keep_all = ~std::uint64_t{0};
    check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep_all),
          "cudaMemPoolSetAttribute");
  }
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;
  ~CudaDevice() override {
    cudaFree(partial_);
    if (blas_ != nullptr) cublasDestroy(blas_);
  }

  std::string name() const override { return name_; }
  bool memory_is_host() const override { return false; }
  std::optional<std::uint64_t> capacity_bytes() const override { return capacity_bytes_; }

  float* allocate(std::size_t bytes) override {
    void* data = nullptr;
    const cudaError_t code =
        pooled_ ? cudaMallocAsync(&data, bytes, nullptr) : cudaMalloc(&data, bytes);
    if (code == cudaErrorMemoryAllocation) {
      cudaGetLastError();  // or the next launch would report it
      return nullptr;
    }
    check(code, "cudaMalloc");
    return static_cast<float*>(data);
  }
  void release(float* data) noexcept override {
    if (pooled_) {
      cudaFreeAsync(data, nullptr);
    } else {
      cudaFree(data);
    }
  }
  void finish() override { check(cudaDeviceSynchronize(), "cudaDeviceSynchronize"); }

  void zero(std::span<float> values) override {
    check(cudaMemsetAsync(values.data(), 0, values.size_bytes()), "cudaMemset");
  }
  void copy(std::span<const float> from, float* to) override {
    check(cudaMemcpyAsync(to, from.data(), from.size_bytes(), cudaMemcpyDeviceToDevice),
          "cudaMemcpy");
  }
  void upload(std::span<const float> host, float* to) override {
    check(cudaMemcpy(to, host.data(), host.size_bytes(), cudaMemcpyHostToDevice), "cudaMemcpy");
  }
  void download(std::span<const float> from, float* host) override {
    check(cudaMemcpy(host, from.data(), from.size_bytes(), cudaMemcpyDeviceToHost), "cudaMemcpy");
  }

  std::unique_ptr<MatrixProduct> make_product(DeviceMemory& /*memory*/) override {
    return std::make_unique<CudaProduct>(blas_);
  }

  void add_bias(std::span<float> matrix, std::span<const float> bias) override {
    run(matrix.size(), AddBias{matrix.data(), bias.data(), bias.size()});
  }
  void accumulate_column_sums(std::span<const float> matrix,
                              std::span<float> bias_gradient) override {
    const std::size_t columns = bias_gradient.size();
    run(columns, ColumnSum{matrix.data(), bias_gradient.data(), matrix.size() / columns, columns});
  }
  void activate(std::span<const float> z, std::span<float> out) override {
    run(z.size(), Activate{z.data(), out.data()});
  }
  void activate_backward(std::span<const float> z, std::span<float> gradient) override {
    run(z.size(), ActivateBackward{z.data(), gradient.data()});
  }
  void add(std::span<const float> value, std::span<float> out) override {
    run(value.size(), Add{value.data(), out.data()});
  }
  void scale(float factor, std::span<float> out) override {
    run(out.size(), Scale{factor, out.data()});
  }
  double squared_error(std::span<const float> prediction, std::span<const float> target) override {
    sum_squares<<<sum_blocks, threads>>>(prediction.size(), prediction.data(), target.data(),
                                         partial_);
    check(cudaGetLastError(), "sum_squares");
    std::array<double, sum_blocks> partial{};
    check(cudaMemcpy(partial.data(), partial_, sizeof partial, cudaMemcpyDeviceToHost),
          "cudaMemcpy");
    double sum = 0.0;
    for (const double part : partial) sum += part;
    return sum;
  }
  void squared_error_backward(float factor, std::span<const float> target,
                              std::span<float> prediction) override {
    run(target.size(), ErrorGradient{factor, target.data(), prediction.data()});
  }
  void adam_update(const AdamStep& step, std::span<const float> gradient,
                   std::span<float> parameter, std::span<float> first,
                   std::span<float> second) override {
    run(gradient.size(),
        AdamUpdate{step, gradient.data(), parameter.data(), first.data(), second.data()});
  }

 private:
  template <class Each>
  void run(std::size_t size, Each each) {
    if (size == 0) return;
    for_each_element<<<blocks_for(size), threads>>>(size, each);
    check(cudaGetLastError(), "a kernel");
  }

  std::string name_;
  std::uint64_t capacity_bytes_ = 0;
  bool pooled_ = false;
  cublasHandle_t blas_ = nullptr;
  double* partial_ = nullptr;
};

}  // namespace

extern "C" Device* minitrain_make_device(int local_rank, char* error) {
  try {
    int gpus = 0;
    check(cudaGetDeviceCount(&gpus), "cudaGetDeviceCount");
    if (gpus == 0) throw std::runtime_error("no GPU");
    return new CudaDevice(local_rank % gpus);
  } catch (const std::exception& failure) {
    std::snprintf(error, device_error_bytes, "%s", failure.what());
    return nullptr;
  }
}

}  // namespace minitrain
