// SPDX-License-Identifier: MIT
#include <array>

#include "slurmtune/input/merge.hpp"

namespace slurmtune {

namespace {

/// One degree of parallelism, and who may have said it.
struct Degree {
  std::string_view key;  ///< of [parallel]
  std::int64_t ParallelSpec::*field;
  const std::vector<NamedDegree>& theirs;
};

/// [parallel] of study.toml and what the config says must be the same number.
Expected<void> merge_degree(const Merge& merge, const Degree& degree) {
  std::int64_t& value = merge.spec.parallel.*degree.field;
  const Node* ours = merge.key("parallel", degree.key);
  if (ours != nullptr) value = ours->as_integer();
  std::string said = ours == nullptr ? ""
                                     : fmt::format("parallel.{} = {} of {}", degree.key, value,
                                                   merge.where(ours->line));
  for (const NamedDegree& theirs : degree.theirs) {
    if (!said.empty() && theirs.value != value) {
      return fail_at(merge.config.path, theirs.line,
                     fmt::format("{} = {} contradicts {}", theirs.key, theirs.value, said),
                     "correct one of them");
    }
    value = theirs.value;
    said =
        fmt::format("{} = {} of {}:{}", theirs.key, theirs.value, merge.config.path, theirs.line);
  }
  return {};
}

}  // namespace

std::string ranks_text(const StudySpec& spec) {
  return fmt::format("{} {}ranks", spec.data_parallel(),
                     spec.parallel.product() > 1 ? "data-parallel " : "");
}

Expected<void> read_parallel(const Node& study, StudySpec& spec) {
  const Node* section = study.find("parallel");
  if (section == nullptr) return {};
  spec.parallel.tensor = integer_or(*section, "tensor", 1);
  spec.parallel.pipeline = integer_or(*section, "pipeline", 1);
  spec.parallel.sequence = integer_or(*section, "sequence", 1);
  return check_parallel(spec, fmt::format("{}:{}", spec.path, section->line));
}

// Each is at most 10^6, so that their product fits.
Expected<void> check_parallel(const StudySpec& spec, std::string_view where) {
  const std::int64_t product = spec.parallel.product();
  if (spec.ranks() % product == 0) return {};
  return invalid_input(
      fmt::format("{}: {} ranks cannot be divided by tensor {} x pipeline {} x sequence {} = {}; "
                  "lower them, or "
                  "change trial.nodes x trial.processes_per_node",
                  where, spec.ranks(), spec.parallel.tensor, spec.parallel.pipeline,
                  spec.parallel.sequence, product));
}

Expected<void> merge_parallel(const Merge& merge) {
  const DsParallel& theirs = merge.config.parallel;
  const std::array<Degree, 3> degrees{{{"tensor", &ParallelSpec::tensor, theirs.tensor},
                                       {"pipeline", &ParallelSpec::pipeline, theirs.pipeline},
                                       {"sequence", &ParallelSpec::sequence, theirs.sequence}}};
  std::string where = merge.where(1);
  if (const Node* section = merge.study.find("parallel")) where = merge.where(section->line);
  for (const Degree& degree : degrees) {
    SLURMTUNE_CHECK(merge_degree(merge, degree));
    if (!degree.theirs.empty()) {
      where = fmt::format("{}:{}", merge.config.path, degree.theirs.front().line);
    }
  }
  return check_parallel(merge.spec, where);
}

}  // namespace slurmtune
