// SPDX-License-Identifier: MIT
#include <cmath>

#include "slurmtune/search/point_strategies.hpp"
#include "slurmtune/search/surrogate/free_points.hpp"

namespace slurmtune {

std::vector<std::uint64_t> propose_random(const SearchProblem& problem, std::size_t width) {
  FreePoints free(problem);
  std::vector<std::uint64_t> proposals;
  const auto propose = [&](std::uint64_t point) {
    free.take(point);
    proposals.push_back(point);
  };
  if (width > 0 && problem.baseline && free.is_free(*problem.baseline)) propose(*problem.baseline);

  constexpr double golden = 0.618033988749894848;
  const double start = Random(Seed{problem.seed}).uniform();
  const auto size = static_cast<double>(problem.points.size());
  while (proposals.size() < width && free.count() > 0) {
    const auto step = static_cast<double>(problem.trials.size() + proposals.size());
    const double place = std::fmod(start + golden * step, 1.0) * size;
    const auto wanted = std::min(problem.points.size() - 1, static_cast<std::uint64_t>(place));
    if (const auto point = free.next_from(wanted)) propose(*point);
  }
  return proposals;
}

}  // namespace slurmtune
