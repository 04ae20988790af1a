// SPDX-License-Identifier: MIT
#include "fault.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>
#include <vector>

#include <sys/resource.h>
#include <unistd.h>

namespace minitrain {
namespace {

[[noreturn]] void crash() {
  const rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);  // a test that crashes on purpose need not fill the disk
  std::signal(SIGSEGV, SIG_DFL);
  std::raise(SIGSEGV);
  std::abort();
}

[[noreturn]] void hang() {
  for (;;) pause();
}

void exhaust(DeviceMemory& memory) {
  constexpr std::uint64_t parts = 16;
  const std::uint64_t part_bytes = std::max<std::uint64_t>(64, *memory.limit_bytes() / parts);
  std::vector<Tensor> hoard;
  for (std::uint64_t i = 0; i <= parts; ++i) hoard.emplace_back(memory, part_bytes / sizeof(float));
}

}  // namespace

Spoil inject_fault(const FaultPlan& plan, std::uint64_t step, const Ranks& ranks,
                   DeviceMemory& memory) {
  if (step != plan.step || ranks.rank != plan.rank) return Spoil::nothing;
  switch (plan.kind) {
    case FailKind::crash: crash();
    case FailKind::hang: hang();
    case FailKind::exit: std::_Exit(1);
    case FailKind::oom: exhaust(memory); break;
    case FailKind::nan: return Spoil::loss;
  }
  return Spoil::nothing;
}

void delay_step(const StepDelay& delay, const Ranks& ranks) {
  if (delay.delay_ms <= 0 || (delay.rank && *delay.rank != ranks.rank)) return;
  std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(delay.delay_ms));
}

}  // namespace minitrain
