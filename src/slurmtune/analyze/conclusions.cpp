// SPDX-License-Identifier: MIT
#include <utility>

#include <fmt/format.h>

#include "slurmtune/analyze/analysis.hpp"
#include "slurmtune/base/units.hpp"

namespace slurmtune {

namespace {

std::string boundary_in_words(const StageFacts& facts) {
  const bool gpu = facts.fails.has_value();
  const auto fails = gpu ? facts.fails : facts.fails_host;
  const std::string what = gpu || !fails ? "fails" : "exceeds the node's memory at";
  if (!facts.fits) {
    return fails ? fmt::format("no micro_batch is known to fit ({} {})", what, *fails) : "";
  }
  if (fails) {
    // What lies between may be untried: the study ended, or it could not have won.
    const bool is_exact = facts.between().empty();
    return fmt::format("largest micro_batch that fits: {}{} (fits {}, {} {})",
                       is_exact ? "" : "at least ", *facts.fits, *facts.fits, what, *fails);
  }
  const bool is_all = !facts.admissible.empty() && facts.admissible.back() <= *facts.fits;
  return fmt::format("largest micro_batch that fits: {}{} (fits {}, {})", is_all ? "" : "at least ",
                     *facts.fits, *facts.fits,
                     is_all ? "the largest of the space" : "nothing larger was tried");
}

std::string memory_in_words(const StageFacts& facts) {
  if (!facts.memory || facts.memory->points < 2) return "";
  const AffineFit& fit = *facts.memory;
  std::string words = fmt::format("peak GPU memory: {} + {} for each sample of the micro_batch",
                                  format_bytes(std::max(0.0, fit.intercept)),
                                  format_bytes(std::max(0.0, fit.slope)));
  if (fit.points > 2) words += fmt::format(" (give or take {})", format_bytes(fit.residual));
  if (facts.capacity) words += fmt::format(", of {}", format_bytes(*facts.capacity));
  return words;
}

std::vector<std::string> texts(const std::vector<ExperimentId>& ids) {
  std::vector<std::string> found;
  for (const ExperimentId& id : ids) found.push_back(id.text);
  return found;
}

}  // namespace

std::vector<Conclusion> conclusions_of(const Analysis& analysis) {
  std::vector<Conclusion> conclusions;
  for (const StageFacts& facts : stage_facts(analysis.context())) {
    const std::string about = fmt::format("zero_stage={}", facts.zero_stage);
    for (std::string says : {boundary_in_words(facts), memory_in_words(facts),
                             is_out(facts.standing) ? std::string() : facts.because}) {
      if (says.empty()) continue;
      conclusions.push_back({.about = about, .says = std::move(says), .why = texts(facts.why)});
    }
  }
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
