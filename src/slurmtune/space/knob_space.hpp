// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "slurmtune/base/error.hpp"
#include "slurmtune/space/space.hpp"
#include "slurmtune/space/stage_template.hpp"

namespace slurmtune {

/// What is known beyond the study's own input when knobs are chosen.
struct KnobEvidence {
  std::optional<double> params;
  bool no_gpu = false;  ///< trials ran, and none told of a GPU
};

/// The knobs of a DeepSpeed study: for each ZeRO stage what the templates hold, with the user's
/// word over it and without what cannot matter, then the study's own [[parameter]]s.
///
/// The origin of the space is what a trial does that says nothing: a knob is in a configuration
/// only if its value is another, so that one configuration has one id. [[parameter]]s are always
/// in it.
class KnobSpace {
 public:
  /// What may be tuned under a ZeRO stage, in the order in which it is tried: what the user lists
  /// (and the study's own parameters) first.
  [[nodiscard]] const std::vector<Knob>& knobs(int zero_stage) const;
  /// What was left out, and why; each once.
  [[nodiscard]] const std::vector<Dropped>& pruned() const { return pruned_; }
  /// Choices beyond the first, over all knobs of a ZeRO stage.
  [[nodiscard]] std::size_t alternatives(int zero_stage) const;

  /// Sets knobs of a configuration, over those that it has. What is the origin's value is left
  /// out, and so is what does not act under the other knobs' values. Errors: those of
  /// Space::complete, for a [[parameter]].
  [[nodiscard]] Expected<Configuration> build(const Configuration& from,
                                              const std::map<std::string, Choice>& settings) const;

  /// Whether every knob of the configuration is one of its ZeRO stage, and has one of its values
  /// other than the first.
  [[nodiscard]] bool contains(const Configuration& configuration) const;

 private:
  friend Expected<KnobSpace> make_knob_space(const StudyInput& input, const Space& space,
                                             const KnobEvidence& evidence);
  KnobSpace() = default;

  std::optional<Space> space_;
  std::map<int, std::vector<Knob>> knobs_;
  std::vector<Dropped> pruned_;
};

/// Errors: those of templates; none for a study that is not a DeepSpeed study: its space is empty.
[[nodiscard]] Expected<KnobSpace> make_knob_space(const StudyInput& input, const Space& space,
                                                  const KnobEvidence& evidence);

}  // namespace slurmtune
