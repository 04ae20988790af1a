// SPDX-License-Identifier: MIT
//
// pause   a trial of 100 ms that reports eight steps to SLURMTUNE_METRICS, if there is such a file

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

int main() {
  constexpr int steps = 8;
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const char* metrics = std::getenv("SLURMTUNE_METRICS");
  std::FILE* file = metrics == nullptr ? nullptr : std::fopen(metrics, "a");
  if (file == nullptr) return 0;
  for (int step = 1; step <= steps; ++step) {
    std::fprintf(file, "{\"step\":%d,\"step_s\":0.0125}\n", step);
  }
  return std::fclose(file) == 0 ? 0 : 1;
}
