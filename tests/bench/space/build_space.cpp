// SPDX-License-Identifier: MIT
//
// build_space STUDY.toml [TIMES]: builds the valid configurations of a study's space, from its
// parsed text on, and prints as JSON how many there are, the median of the seconds that it took,
// and the memory of the process.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <sys/resource.h>

#include "slurmtune/input/study_input.hpp"
#include "slurmtune/space/valid_set.hpp"

namespace slurmtune {

namespace {

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Expected<void> build(const std::string& path, std::size_t times) {
  std::ifstream file(path);
  StudySources sources;
  sources.study = {path, {std::istreambuf_iterator<char>(file), {}}};
  sources.site = {"generic.toml", "name = \"generic\"\n"};
  SLURMTUNE_TRY(const StudyInput input, read_study(sources));
  std::vector<double> seconds;
  std::uint64_t valid = 0;
  std::size_t stored = 0;
  for (std::size_t i = 0; i < times; ++i) {
    const double begin = seconds_now();
    SLURMTUNE_TRY(const Space space, make_space(input.spec));
    SLURMTUNE_TRY(const ValidSet set, make_valid_set(space));
    seconds.push_back(seconds_now() - begin);
    valid = set.size();
    stored = set.stored_bytes();
    if (seconds.back() > 1.0) break;
  }
  std::ranges::sort(seconds);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  fmt::print("{{\"valid\": {}, \"seconds\": {}, \"stored_bytes\": {}, \"peak_bytes\": {}}}\n",
             valid, seconds[seconds.size() / 2], stored, usage.ru_maxrss * 1024L);
  return {};
}

}  // namespace

}  // namespace slurmtune

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "build_space STUDY.toml [TIMES]\n");
    return 2;
  }
  const auto built = slurmtune::build(
      argv[1], argc > 2 ? std::max<std::size_t>(1, std::strtoul(argv[2], nullptr, 10)) : 1);
  if (built) return 0;
  fmt::print(stderr, "{}\n", built.error().message);
  return 1;
}
