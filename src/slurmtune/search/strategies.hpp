// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <vector>

#include "slurmtune/base/error.hpp"
#include "slurmtune/search/search_context.hpp"
#include "slurmtune/search/stage_facts.hpp"

namespace slurmtune {

/// Runs of each leader in a round of confirm.
inline constexpr int confirm_repeats = 3;
/// Rounds of confirm at most, and the same where a round waits for nothing and has one repeat.
inline constexpr int confirm_rounds = 2;
inline constexpr int confirm_rounds_without_queue = 5;
/// Configurations at most that are confirmed, besides the baseline.
inline constexpr std::size_t confirm_leaders_max = 3;

/// Every valid configuration, in the order of the space, the baseline first; those that were never
/// asked for. Errors: invalid_input if the space is too large to list.
[[nodiscard]] Expected<std::vector<Proposal>> propose_grid(const SearchContext& context);

/// The baseline, and for each ZeRO stage that the memory model leaves open two micro-batches: the
/// smallest, and one two to four times as large (the baseline's own, where the stage is its own and
/// it is large enough). What was asked for already is left out.
[[nodiscard]] std::vector<Proposal> propose_profile(const SearchContext& context);

/// Micro-batches at the quantiles of where each open ZeRO stage ceases to fit. The open stages
/// share `width` probes, the most promising first, at most four a stage; one that is waiting gets
/// none.
[[nodiscard]] std::vector<Proposal> propose_frontier(const SearchContext& context,
                                                     std::size_t width);

/// Micro-batches up to the largest that fits (or that probably does) which may be better than the
/// leader by more than search.stop_gain, given how well the step model holds: at most three a
/// stage and `width` in all. None where the models are sure.
[[nodiscard]] std::vector<Proposal> propose_curve(const SearchContext& context, std::size_t width);

/// A round of the knobs stage of a DeepSpeed study that is not fast: successive halving over steps
/// (rungs.hpp), on the leading ZeRO stages: those whose best may still be the best, at most two.
///
/// First single changes of each leading configuration (the first alternative of each knob, then the
/// second, …; what eases memory also at the two next larger micro-batches), and for a quarter of
/// the width random combinations; then what may still be the best for more steps, and the best
/// values of all knobs that gained, together. Where no ZeRO stage fits anything, the highest is
/// tried with one relief of memory on top of the other, at the smallest micro-batch, and then what
/// is near the best of these. search.knob_experiments and knob_patience are kept.
/// Errors: those of templates.
[[nodiscard]] Expected<std::vector<Proposal>> propose_knobs(const SearchContext& context, int round,
                                                            std::size_t width);

/// A round of successive halving over the whole space: first the baseline (for all its steps) and
/// configurations drawn uniformly, each once, `width` in all; then the best `width` of those for
/// more steps.
[[nodiscard]] std::vector<Proposal> propose_halving(const SearchContext& context, int round,
                                                    std::size_t width);

/// Which repeats to run so that the winner can be told, in the order to run them.
///
/// Before any repeat: the leaders (at most three that may still be the best, given that runs differ
/// by 2 %) and the baseline, three repeats each (one, where a round waits for nothing: then what is
/// told apart already is not repeated), numbered from 1, repeat by repeat, the order
/// within a repeat by a Williams design, so that each follows each other equally often. Later,
/// as many further repeats of the best and of those that cannot be told from it, if more can tell
/// and the difference may exceed search.stop_gain, and of those without repeats that once were
/// better than it turned out to be; if there are none, what was lost. Source: Williams,
/// "Experimental designs balanced for the estimation of residual effects of treatments", Australian
/// J. Sci. Res. A 2 (1949).
[[nodiscard]] std::vector<Proposal> propose_confirm(const SearchContext& context);

/// Repeats of a configuration in a round of confirm.
[[nodiscard]] int repeats_a_round(const Site& site);

}  // namespace slurmtune
