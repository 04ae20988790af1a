// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "slurmtune/base/error.hpp"
#include "slurmtune/input/node.hpp"
#include "slurmtune/input/site.hpp"
#include "slurmtune/input/source_text.hpp"

namespace slurmtune {

/// A site file whose keys were checked. What holds depends on where jobs go: see resolve_site.
struct SiteFile {
  std::string path;
  Node root;
};

/// A layer of site keys over the file's own: [slurm] of a study.
struct SiteLayer {
  const Node* keys = nullptr;  ///< checked; nullptr = there is none
  std::string_view path;       ///< for messages
};

/// Errors: invalid_input, `path:line: `, for what no study can mend.
[[nodiscard]] Expected<SiteFile> read_site_file(const SourceText& source);

/// The keys of the file, then of each [[queue]] whose partition, qos and constraint are those of
/// the jobs, in their order, then of `slurm`: what comes later wins.
/// Errors: invalid_input, at the key by which the values contradict each other.
[[nodiscard]] Expected<Site> resolve_site(const SiteFile& file, const SiteLayer& slurm);

/// A [[queue]], as it is where [slurm] says nothing else than to go there.
struct SiteQueue {
  std::string place;  ///< what it is about: `partition gpu`, `partition gpu, qos debug`
  Site site;
};
[[nodiscard]] Expected<std::vector<SiteQueue>> queues_of(const SiteFile& file);

/// What [slurm] of a study lacks though the site asks for it: `path:line: … write …`.
[[nodiscard]] std::optional<std::string> unanswered(const SiteFile& file, const SiteLayer& slurm);

}  // namespace slurmtune
