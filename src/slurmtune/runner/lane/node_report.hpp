// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "slurmtune/record/node.hpp"
#include "slurmtune/runner/node/node_facts.hpp"
#include "slurmtune/runner/start/environment.hpp"
#include "slurmtune/runner/start/words.hpp"

namespace slurmtune {

/// What a rank is asked about its node before anything is started.
struct NodeQuestion {
  NodeNeeds needs;
  bool measures = false;  ///< figures as well as facts: a second with all cores at work
};

[[nodiscard]] Words to_words(const NodeQuestion& question);
[[nodiscard]] NodeQuestion read_node_question(WordReader& words);

/// What it answers.
struct NodeReport {
  NodeRecord record;
  std::string problem;  ///< why no trial can run there as it should; "" if none is known
};

[[nodiscard]] Words to_words(const NodeReport& report);
/// A report that cannot be read names nothing but the problem.
[[nodiscard]] NodeReport read_node_report(WordReader& words);

/// Looks at the node that this process runs on, under the name `node`. `environment` is the
/// runner's own; only inside a Slurm job it is known how many cores there should be.
[[nodiscard]] NodeReport report_node(const std::string& node, const NodeQuestion& question,
                                     const Environment& environment);

}  // namespace slurmtune
