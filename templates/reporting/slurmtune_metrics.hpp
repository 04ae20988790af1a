// SPDX-License-Identifier: MIT
//
// Tells slurmtune how long a step took. Copy this file into your program; C++17, POSIX:
//
//     slurmtune_report(step, {{"step_s", seconds}, {"samples", global_batch}, {"loss", loss}});
//
// Call it once a step, on any rank: only rank 0 (by RANK in the environment) writes. Without
// slurmtune it does nothing. Times are in seconds, memory in bytes; see docs/user/trials.md for the
// names that mean something. Names must need no escape in JSON.
#pragma once

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <string>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

inline void slurmtune_report(long step,
                             std::initializer_list<std::pair<const char*, double>> values) {
  static const int file = [] {
    const char* path = std::getenv("SLURMTUNE_METRICS");
    const char* rank = std::getenv("RANK");
    if (path == nullptr || (rank != nullptr && std::string(rank) != "0")) return -1;
    return ::open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  }();
  if (file < 0) return;
  std::string line = "{\"step\": " + std::to_string(step);
  for (const auto& [name, value] : values) {
    char number[32];
    std::snprintf(number, sizeof number, "%.17g", value);
    const bool finite = std::isfinite(value);
    line += std::string(", \"") + name + "\": " + (finite ? number : "null");
  }
  line += "}\n";
  // One call, so that a reader never sees half a line; what cannot be written is not worth a stop.
  if (::write(file, line.data(), line.size()) < 0) return;
}
