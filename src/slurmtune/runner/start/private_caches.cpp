// SPDX-License-Identifier: MIT
#include "slurmtune/runner/start/private_caches.hpp"

#include <array>
#include <string>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace slurmtune {

namespace {

constexpr std::array<std::pair<const char*, const char*>, 8> caches{{
    {"TORCH_EXTENSIONS_DIR", "torch_extensions"},
    {"TORCHINDUCTOR_CACHE_DIR", "torchinductor"},
    {"TRITON_CACHE_DIR", "triton"},
    {"CUDA_CACHE_PATH", "cuda"},
    {"PYTORCH_KERNEL_CACHE_PATH", "torch_kernels"},
    {"NUMBA_CACHE_DIR", "numba"},
    {"MIOPEN_USER_DB_PATH", "miopen"},
    {"MIOPEN_CUSTOM_CACHE_DIR", "miopen_cache"},
}};

std::string first_of(const Environment& environment, std::initializer_list<const char*> names,
                     std::string otherwise) {
  for (const char* name : names) {
    if (const auto value = variable(environment, name); value && !value->empty()) return *value;
  }
  return otherwise;
}

}  // namespace

PrivateCaches::PrivateCaches(const Environment& own) {
  const std::string job = first_of(own, {"SLURM_JOB_ID", "SLURMTUNE_JOB"}, "0");
  // Without Slurm several runners on this machine may be told the same job.
  const std::string task = own.contains("SLURM_JOB_ID") ? "" : fmt::format("-{}", ::getpid());
  directory_ = std::filesystem::path(first_of(own, {"TMPDIR"}, "/tmp")) /
               fmt::format("slurmtune-{}-{}{}", ::geteuid(), job, task);
}

PrivateCaches::~PrivateCaches() {
  std::error_code failure;
  if (is_made_) std::filesystem::remove_all(directory_, failure);
}

bool PrivateCaches::is_ours() const {
  constexpr mode_t for_us_alone = 0700;
  if (::mkdir(directory_.c_str(), for_us_alone) == 0) return true;
  struct stat status {};
  return ::lstat(directory_.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
         status.st_uid == ::geteuid();
}

void PrivateCaches::add_to(Environment& environment) {
  is_made_ = is_made_ || is_ours();
  if (!is_made_) return;
  for (const auto& [name, folder] : caches) {
    environment.emplace(name, (directory_ / folder).string());
  }
}

}  // namespace slurmtune
