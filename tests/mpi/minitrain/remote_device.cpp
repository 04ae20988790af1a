// SPDX-License-Identifier: MIT
//
// A device whose memory the host must not touch, as a GPU's, on a machine without one. Each
// allocation is mapped twice: what minitrain is given has no access rights, so that a host access
// ends the process; the operations work on the other mapping, with the processor's kernels. A
// copy that should have gone through the host therefore shows as a crash, and a wrong one in the
// losses.

#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>

#include <sys/mman.h>
#include <unistd.h>

#include "examples/minitrain/device_plugin.hpp"
#include "examples/minitrain/gemm.hpp"
#include "examples/minitrain/memory.hpp"

namespace minitrain {
namespace {

struct Mapping {
  std::size_t bytes = 0;
  float* host = nullptr;
};

/// Where the host may look, by where it may not.
class AddressTable {
 public:
  [[nodiscard]] float* add(std::size_t bytes) {
    const int file = ::memfd_create("remote-device", MFD_CLOEXEC);
    if (file < 0 || ::ftruncate(file, static_cast<off_t>(bytes)) != 0) return nullptr;
    void* remote = ::mmap(nullptr, bytes, PROT_NONE, MAP_SHARED, file, 0);
    void* host = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    ::close(file);
    if (remote == MAP_FAILED || host == MAP_FAILED) return nullptr;
    mappings_[static_cast<float*>(remote)] = {bytes, static_cast<float*>(host)};
    return static_cast<float*>(remote);
  }
  void remove(float* remote) noexcept {
    const auto found = mappings_.find(remote);
    if (found == mappings_.end()) return;
    ::munmap(found->second.host, found->second.bytes);
    ::munmap(remote, found->second.bytes);
    mappings_.erase(found);
  }
  [[nodiscard]] float* host(const float* remote) const {
    auto after = mappings_.upper_bound(const_cast<float*>(remote));
    if (after == mappings_.begin()) throw std::runtime_error("no memory of this device");
    --after;
    const auto offset = static_cast<std::size_t>(remote - after->first);
    if (offset * sizeof(float) > after->second.bytes) {
      throw std::runtime_error("no memory of this device");
    }
    return after->second.host + offset;
  }
  [[nodiscard]] std::span<float> host(std::span<float> remote) const {
    if (remote.empty()) return {};
    return {host(remote.data()), remote.size()};
  }
  [[nodiscard]] std::span<const float> host(std::span<const float> remote) const {
    if (remote.empty()) return {};
    return {host(remote.data()), remote.size()};
  }

 private:
  std::map<float*, Mapping> mappings_;
};

class RemoteProduct final : public MatrixProduct {
 public:
  explicit RemoteProduct(const AddressTable& table) : table_{table} {}
  void multiply(GemmShape shape, MatrixView a, MatrixView b, float* c,
                Accumulate accumulate) override {
    a.data = table_.host(a.data);
    b.data = table_.host(b.data);
    gemm_.multiply(shape, a, b, table_.host(c), accumulate);
  }

 private:
  const AddressTable& table_;
  DeviceMemory scratch_{std::nullopt};
  Gemm gemm_{scratch_};
};

class RemoteDevice final : public Device {
 public:
  [[nodiscard]] std::string name() const override { return "remote memory (test)"; }
  [[nodiscard]] bool memory_is_host() const override { return false; }
  [[nodiscard]] std::optional<std::uint64_t> capacity_bytes() const override {
    constexpr std::uint64_t one_gib = 1ULL << 30U;
    return one_gib;
  }
  [[nodiscard]] float* allocate(std::size_t bytes) override { return table_.add(bytes); }
  void release(float* data) noexcept override { table_.remove(data); }
  void finish() override {}

  void zero(std::span<float> values) override { cpu_.zero(table_.host(values)); }
  void copy(std::span<const float> from, float* to) override {
    if (!from.empty()) cpu_.copy(table_.host(from), table_.host(to));
  }
  void upload(std::span<const float> host, float* to) override {
    if (!host.empty()) cpu_.copy(host, table_.host(to));
  }
  void download(std::span<const float> from, float* host) override {
    cpu_.copy(table_.host(from), host);
  }
  [[nodiscard]] std::unique_ptr<MatrixProduct> make_product(DeviceMemory& /*memory*/) override {
    return std::make_unique<RemoteProduct>(table_);
  }

  void add_bias(std::span<float> matrix, std::span<const float> bias) override {
    cpu_.add_bias(table_.host(matrix), table_.host(bias));
  }
  void accumulate_column_sums(std::span<const float> matrix,
                              std::span<float> bias_gradient) override {
    cpu_.accumulate_column_sums(table_.host(matrix), table_.host(bias_gradient));
  }
  void activate(std::span<const float> z, std::span<float> out) override {
    cpu_.activate(table_.host(z), table_.host(out));
  }
  void activate_backward(std::span<const float> z, std::span<float> gradient) override {
    cpu_.activate_backward(table_.host(z), table_.host(gradient));
  }
  void add(std::span<const float> value, std::span<float> out) override {
    cpu_.add(table_.host(value), table_.host(out));
  }
  void scale(float factor, std::span<float> out) override { cpu_.scale(factor, table_.host(out)); }
  [[nodiscard]] double squared_error(std::span<const float> prediction,
                                     std::span<const float> target) override {
    return cpu_.squared_error(table_.host(prediction), table_.host(target));
  }
  void squared_error_backward(float factor, std::span<const float> target,
                              std::span<float> prediction) override {
    cpu_.squared_error_backward(factor, table_.host(target), table_.host(prediction));
  }
  void adam_update(const AdamStep& step, std::span<const float> gradient,
                   std::span<float> parameter, std::span<float> first,
                   std::span<float> second) override {
    cpu_.adam_update(step, table_.host(gradient), table_.host(parameter), table_.host(first),
                     table_.host(second));
  }

 private:
  Device& cpu_ = cpu_device();
  AddressTable table_;
};

}  // namespace

extern "C" Device* minitrain_make_device(int local_rank, char* error) {
  const char* refuse = std::getenv("MINITRAIN_TEST_NO_DEVICE");
  if (refuse == nullptr) return new RemoteDevice;
  std::snprintf(error, device_error_bytes, "no device for local rank %d", local_rank);
  return nullptr;
}

}  // namespace minitrain
