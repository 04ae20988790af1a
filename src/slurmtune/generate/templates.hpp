// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "slurmtune/base/error.hpp"
#include "slurmtune/input/study_spec.hpp"
#include "slurmtune/record/experiment.hpp"
#include "slurmtune/search/search_context.hpp"

namespace slurmtune {

/// A ZeRO stage, as the generator knows it: all that differs between stages is a row and a file.
struct ZeroStageRow {
  int stage = 0;
  std::string_view template_path;  ///< of the embedded file
};

inline constexpr std::array zero_stage_rows{
    ZeroStageRow{0, "templates/zero0.json"}, ZeroStageRow{1, "templates/zero1.json"},
    ZeroStageRow{2, "templates/zero2.json"}, ZeroStageRow{3, "templates/zero3.json"}};

/// The keys of a ds_config that belong to a ZeRO stage, by dotted path
/// (`zero_optimization.reduce_bucket_size`), each with its choices: one = fixed, more = tunable.
struct StageTemplate {
  std::map<std::string, std::vector<Value>> choices;

  bool operator==(const StageTemplate&) const = default;
};

/// Reads a template: a ds_config whose lists are choices. Errors: corrupt_data if it is no JSON
/// object; invalid_input, `where: path: …`, for an empty list, null, or a list of other than plain
/// values.
[[nodiscard]] Expected<StageTemplate> load_template(std::string_view text, std::string_view where);

/// Puts the user's ds_config (JSON) over a template: at a path that both have, the user's value is
/// the only choice, the user's list the choices, and "auto" or null leaves the template's. The ZeRO
/// stage stays the template's. Keys that only the user has are not added. Errors as load_template.
[[nodiscard]] Expected<StageTemplate> fill_template(const StageTemplate& stage_template,
                                                    std::string_view user_config);

/// Keeps of the proposals, in order, what may be run: the first of equal ones, nothing that was
/// asked for already (in the same repeat), nothing that the space does not contain, but for the
/// baseline, which is always worth measuring.
[[nodiscard]] std::vector<Proposal> prune_configs(std::vector<Proposal> proposals,
                                                  const SearchContext& context);

/// Makes an experiment of a proposal: ids, label (with `_r<repeat>` behind, from repeat 1 on), the
/// numbers of steps and the limits of [measure].
[[nodiscard]] Experiment build_experiment(const Proposal& proposal, const MeasureSpec& measure);

}  // namespace slurmtune
