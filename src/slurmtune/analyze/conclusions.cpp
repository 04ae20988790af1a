// SPDX-License-Identifier: MIT
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "slurmtune/analyze/analysis.hpp"
#include "slurmtune/base/units.hpp"
#include "slurmtune/model/host_memory.hpp"
#include "slurmtune/space/stage_template.hpp"

namespace slurmtune {

namespace {

/// Why nothing above the largest that fits is a question any more.
std::string above_in_words(const StageFacts& facts) {
  const auto above =
      std::upper_bound(facts.admissible.begin(), facts.admissible.end(), facts.fits.value_or(0));
  if (above == facts.admissible.end()) return "the largest of the space";
  if (!facts.between().empty() || !facts.memory || !facts.capacity) {
    return "nothing larger was tried";
  }
  return fmt::format("{} would need {} of {}", *above,
                     format_bytes(facts.memory->at(static_cast<double>(*above))),
                     format_bytes(*facts.capacity));
}

std::string boundary_in_words(const StageFacts& facts) {
  const bool gpu = facts.fails.has_value();
  const auto fails = gpu ? facts.fails : facts.fails_host;
  const std::string what = gpu ? "fails" : "exceeds the node's memory at";
  if (!facts.fits) {
    return fails ? fmt::format("no micro_batch is known to fit ({} {})", what, *fails) : "";
  }
  const bool is_exact = facts.between().empty();
  return fmt::format("largest micro_batch that fits: {}{} (fits {}, {})",
                     is_exact ? "" : "at least ", *facts.fits, *facts.fits,
                     fails ? fmt::format("{} {}", what, *fails) : above_in_words(facts));
}

/// Whose memory the peaks are.
std::string_view memory_name(const History& history) {
  const bool host = std::ranges::any_of(history.trials(), [](const Trial& trial) {
    return trial.verdict && ran_without_gpu(*trial.verdict);
  });
  return host ? "host memory" : "GPU memory";
}

std::string memory_in_words(const StageFacts& facts, std::string_view whose) {
  if (!facts.memory) return "";
  const AffineFit& fit = *facts.memory;
  std::string words = fmt::format("peak {}: {} + {} for each sample of the micro_batch", whose,
                                  format_bytes(std::max(0.0, fit.intercept)),
                                  format_bytes(std::max(0.0, fit.slope)));
  // Under a thousandth of the peaks it is rounding.
  if (fit.residual > 0.001 * fit.at(fit.x_mean)) {
    words += fmt::format(" (give or take {})", format_bytes(fit.residual));
  }
  if (facts.capacity) words += fmt::format(", of {}", format_bytes(*facts.capacity));
  return words;
}

std::vector<std::string> texts(const std::vector<ExperimentId>& ids) {
  std::vector<std::string> found;
  for (const ExperimentId& id : ids) found.push_back(id.text);
  return found;
}

/// What single knobs did, against the same ZeRO stage and batch without knobs: those that gained,
/// the most first, few of them.
std::vector<Conclusion> gains_of_knobs(const Analysis& analysis) {
  constexpr std::size_t told_max = 5;
  std::vector<std::pair<double, Conclusion>> gains;
  const std::vector<Estimate>& all = analysis.estimates();
  for (const Estimate& estimate : all) {
    std::vector<std::string> knobs;
    for (const auto& [name, value] : estimate.configuration.values) {
      if (is_knob_name(name)) knobs.push_back(name + " = " + format_value(value));
    }
    if (knobs.size() != 1) continue;
    const auto plain = std::find_if(all.begin(), all.end(), [&](const Estimate& other) {
      return other.configuration == without_knobs(estimate.configuration);
    });
    if (plain == all.end()) continue;
    const Interval ratio = ratio_of(estimate, *plain);
    if (ratio.mid <= 1.0) continue;
    const auto stage = estimate.configuration.integer(zero_stage_parameter).value_or(0);
    gains.emplace_back(
        ratio.mid,
        Conclusion{.about = fmt::format("knobs of zero_stage={}", stage),
                   .says = fmt::format("{}: {:.3g} times as good (95 % interval {:.3g} to {:.3g})",
                                       knobs.front(), ratio.mid, ratio.low, ratio.high),
                   .why = {estimate.trial->experiment.id.text}});
  }
  std::stable_sort(gains.begin(), gains.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<Conclusion> told;
  for (auto& [ratio, conclusion] : gains) {
    if (told.size() < told_max) told.push_back(std::move(conclusion));
  }
  std::stable_sort(told.begin(), told.end(),
                   [](const Conclusion& a, const Conclusion& b) { return a.about < b.about; });
  return told;
}

}  // namespace

std::vector<Conclusion> conclusions_of(const Analysis& analysis) {
  std::vector<Conclusion> conclusions;
  for (const StageFacts& facts : stage_facts(analysis.context())) {
    const std::string about = fmt::format("zero_stage={}", facts.zero_stage);
    for (std::string says :
         {boundary_in_words(facts), memory_in_words(facts, memory_name(analysis.history())),
          is_out(facts.standing) ? std::string() : facts.because}) {
      if (says.empty()) continue;
      conclusions.push_back({.about = about, .says = std::move(says), .why = texts(facts.why)});
    }
  }
  const std::vector<Conclusion> gains = gains_of_knobs(analysis);
  conclusions.insert(conclusions.end(), gains.begin(), gains.end());
  for (const Trial& trial : analysis.history().trials()) {
    std::string reason = analysis.objective().why_unranked(trial);
    if (reason.empty()) continue;
    conclusions.push_back({.about = trial.experiment.label,
                           .says = "not ranked: " + std::move(reason),
                           .why = {trial.experiment.id.text}});
  }
  return conclusions;
}

std::vector<Dropped> dropped_stages(const Analysis& analysis) {
  std::vector<Dropped> dropped;
  for (const StageFacts& facts : stage_facts(analysis.context())) {
    if (!is_out(facts.standing)) continue;
    dropped.push_back({fmt::format("zero_stage={}", facts.zero_stage), facts.because});
  }
  return dropped;
}

}  // namespace slurmtune
