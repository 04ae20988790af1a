// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "slurmtune/execute/site/controller.hpp"
#include "slurmtune/input/site.hpp"

namespace slurmtune {

/// What follows from a difference.
enum class Effect {
  refused,  ///< a job is refused, or waits for ever
  waste,    ///< jobs run, but less is used than there is, or the plan tells less than it could
};

/// A key of a site file whose value is not what the controller says.
struct SiteDifference {
  std::string key;
  std::string site;        ///< as the site says it
  std::string controller;  ///< as the controller says it
  Effect effect = Effect::waste;

  bool operator==(const SiteDifference&) const = default;
};

/// Compares what holds at one place, a resolved site, with what the controller says of jobs there:
/// partition, account, QOS, limits, nodes, GRES, features, licences, MPI plug-in. Keys that the
/// site does not give are compared only where the controller limits what they say.
[[nodiscard]] std::vector<SiteDifference> compare_site(const Site& site,
                                                       const Controller& controller);

}  // namespace slurmtune
