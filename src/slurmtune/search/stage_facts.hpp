// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "slurmtune/model/estimates.hpp"
#include "slurmtune/model/statistics.hpp"
#include "slurmtune/model/step_model.hpp"
#include "slurmtune/search/boundary.hpp"
#include "slurmtune/search/search_context.hpp"

namespace slurmtune {

/// Where the search for the largest micro-batch of a ZeRO stage stands.
enum class Standing {
  open,         ///< worth probing
  waiting,      ///< nothing is known before an experiment is tried again
  settled,      ///< nothing is left between what fits and what does not
  little_gain,  ///< what is left is expected to gain search.stop_gain at most
  cannot_win,   ///< what is left stays below the leader, even at the upper end of the models
  cannot_fit,   ///< the smallest micro-batch does not fit, measured or by the memory model
  broken,       ///< it was tried, and every experiment failed for another reason than memory
};

/// Whether the stage was given up: said in decisions as dropped, with `because`.
[[nodiscard]] bool is_out(Standing standing);

/// Whether a configuration differs from the baseline in ZeRO stage and batch alone. What others
/// say of memory and time is about their knobs, too, and is kept out of the facts of ZeRO stages.
/// (Where all parameters are varied at once, there are only such ones: then all but knobs count.)
[[nodiscard]] bool is_plain(const SearchContext& context, const Configuration& configuration);

/// All that is known of a ZeRO stage, from plain configurations. Only memory outcomes move `fits`
/// and `fails`.
struct StageFacts {
  int zero_stage = 0;
  std::vector<std::int64_t> admissible;    ///< sorted
  std::optional<std::int64_t> fits;        ///< largest known to fit
  std::optional<std::int64_t> fails;       ///< smallest above `fits` that exceeded the GPU
  std::optional<std::int64_t> fails_host;  ///< the same for the host
  std::vector<ExperimentId> why;           ///< which experiments say so
  std::vector<std::int64_t> unasked;       ///< admissible, valid, never asked for
  std::optional<AffineFit> memory;         ///< peak bytes against micro-batch
  std::optional<double> capacity;          ///< bytes
  std::vector<StepPoint> step_points;      ///< sorted by micro-batch
  std::optional<StepModel> steps;          ///< from two micro-batches on
  Standing standing = Standing::open;
  std::string because;  ///< figures, in words

  /// `unasked` that are strictly between the bounds and that may fit by the memory model.
  [[nodiscard]] std::vector<std::int64_t> between() const;
  [[nodiscard]] Boundary boundary() const;
  /// What the models expect of a micro-batch.
  [[nodiscard]] Expectation expect(std::int64_t micro_batch, std::int64_t accumulation) const;
};

/// The facts of every ZeRO stage of the study, by stage; none if it is no DeepSpeed study.
[[nodiscard]] std::vector<StageFacts> stage_facts(const SearchContext& context);

/// The configuration of a micro-batch in a ZeRO stage, everything else as in the baseline; nothing
/// if the batch rule or a constraint forbids it.
[[nodiscard]] std::optional<Configuration> configuration_of(const Space& space, int zero_stage,
                                                            std::int64_t micro_batch);

/// The best of what was measured, if anything was.
[[nodiscard]] std::optional<Estimate> leader_of(const SearchContext& context);

}  // namespace slurmtune
