// SPDX-License-Identifier: MIT
//
// Preloaded into the processes of one node of the test cluster, whose nodes share a machine: the
// time of day is CLOCK_OFF_S seconds off. (slurmd itself has to keep the time: Slurm refuses
// credentials from another hour, so that such a node runs no job at all.)
#include <cstdlib>
#include <ctime>

#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

namespace {

time_t off_s() {
  const char* text = std::getenv("CLOCK_OFF_S");
  return text == nullptr ? 0 : std::atol(text);
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* now) noexcept {
  const long code = ::syscall(SYS_clock_gettime, clock, now);
  if (code == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
    now->tv_sec += off_s();
  }
  return static_cast<int>(code);
}

int gettimeofday(timeval* now, void* /*zone*/) noexcept {
  timespec exact{};
  if (clock_gettime(CLOCK_REALTIME, &exact) != 0) return -1;
  now->tv_sec = exact.tv_sec;
  now->tv_usec = exact.tv_nsec / 1000;
  return 0;
}

time_t time(time_t* now) noexcept {
  timespec exact{};
  clock_gettime(CLOCK_REALTIME, &exact);
  if (now != nullptr) *now = exact.tv_sec;
  return exact.tv_sec;
}

}  // extern "C"
