// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "slurmtune/runner/lane/lane_layout.hpp"
#include "slurmtune/runner/lane/node_report.hpp"
#include "slurmtune/runner/start/words.hpp"

namespace slurmtune {

/// What rank 0 tells the others before anything is started.
struct Go {
  NodeQuestion question;          ///< about each node
  std::vector<LanePlace> places;  ///< who leads and hosts which lane
};

/// `go …`
[[nodiscard]] Words to_words(const Go& go);
/// The reader stands after `go`.
[[nodiscard]] Go read_go(WordReader& words);

}  // namespace slurmtune
