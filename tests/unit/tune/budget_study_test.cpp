// SPDX-License-Identifier: MIT
//
// What must hold of budgets, deadlines and windows, over many studies drawn by a seed, on a
// simulated cluster that fails as clusters do. SLURMTUNE_RANDOM_STUDIES sets how many.

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "tests/support/catch.hpp"
#include "tests/unit/tune/random_study.hpp"

using namespace slurmtune;

namespace {

std::uint64_t studies_wanted() {
  const char* wanted = std::getenv("SLURMTUNE_RANDOM_STUDIES");
  return wanted == nullptr ? 100 : std::strtoull(wanted, nullptr, 10);
}

}  // namespace

TEST_CASE("No random study exceeds its budget, its deadline or its window", "[tune]") {
  int planned = 0;
  int finished = 0;
  int pressed = 0;  // that used most of what they had
  for (std::uint64_t seed = 1; seed <= studies_wanted(); ++seed) {
    RandomStudy random(seed);
    if (!random.is_planned()) continue;
    ++planned;
    random.run();
    INFO(random.what());
    const StudyState state = random.study().state();
    if (random.cap_node_seconds()) {
      const double billed = random.billed_node_seconds();
      CHECK(billed <= *random.cap_node_seconds());
      pressed += billed > 0.8 * *random.cap_node_seconds() ? 1 : 0;
    }
    if (random.cap_experiments()) {
      CHECK(std::ssize(random.measured()) <= *random.cap_experiments());
    }
    for (const auto& [experiment, times] : random.measured()) {
      INFO(experiment.text);
      CHECK(times == 1);
    }
    CHECK_FALSE(random.left_the_window());
    CHECK_FALSE(random.missed_deadline());
    CHECK(state.finished);
    if (!state.finished) continue;
    ++finished;
    CHECK(std::filesystem::exists(random.study().directory().root() / "results.csv"));
    const bool worked = !random.measured().empty() && random.study().result().best;
    CHECK((worked || !state.finished->best));
  }
  // What was drawn must be of some use as a test.
  CHECK(planned > static_cast<int>(studies_wanted()) / 2);
  CHECK(finished == planned);
  CHECK(pressed > 0);
}
