// SPDX-License-Identifier: MIT
#include "slurmtune/plan/listed_knobs.hpp"

#include <algorithm>
#include <set>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "slurmtune/plan/stage_table.hpp"
#include "slurmtune/space/json_path.hpp"
#include "slurmtune/space/knob_space.hpp"
#include "slurmtune/space/stage_template.hpp"

namespace slurmtune {

namespace {

constexpr std::string_view json_target = "json:";

bool is_told(const KnobSpace& knobs, const std::string& name) {
  return std::ranges::any_of(knobs.pruned(),
                             [&](const Dropped& dropped) { return dropped.what == name; });
}

/// Why nothing chooses from a list; "" if something does under every ZeRO stage of the study.
std::string why_unused(const std::string& knob, const StudyInput& input, const Space& space,
                       const KnobSpace& knobs) {
  if (resolved_strategy(input.spec) != StrategyKind::deepspeed) {
    return "only search.strategy = \"deepspeed\" tunes knobs";
  }
  if (input.spec.deepspeed->fast) {
    return "fast = true tunes ZeRO stage and batch only; with fast = false they are tried";
  }
  if (is_told(knobs, knob)) return "";  // the plan says why, with what it leaves out
  std::string acting;
  std::string idle;
  for (const int stage : space.zero_stages()) {
    const auto& known = knobs.knobs(stage);
    const bool acts = std::ranges::find(known, knob, &Knob::name) != known.end();
    std::string& stages = acts ? acting : idle;
    stages += fmt::format("{}{}", stages.empty() ? "" : ", ", stage);
  }
  if (idle.empty()) return "";
  if (acting.empty()) return fmt::format("it does not act under ZeRO {}", idle);
  return fmt::format("it acts under ZeRO {} only, not under {}", acting, idle);
}

}  // namespace

Expected<std::vector<std::string>> unused_lists(const StudyInput& input, const Space& space) {
  std::vector<std::string> notes;
  if (!input.spec.deepspeed) return notes;
  const DeepSpeedSpec& deepspeed = *input.spec.deepspeed;
  SLURMTUNE_TRY(const Json config, parse_json(deepspeed.config_json, deepspeed.config_path));
  SLURMTUNE_TRY(const std::vector<StageTemplate> templates, load_templates());
  SLURMTUNE_TRY(const KnobSpace knobs,
                make_knob_space(input, space, {.params = input.spec.model.params}));
  std::set<std::string> seen;  // a knob may be in the templates of several ZeRO stages
  for (const StageTemplate& layer : templates) {
    for (const Knob& knob : layer.knobs) {
      const std::string target = knob_target(knob.name);
      if (!target.starts_with(json_target) || !seen.insert(target).second) continue;
      const std::string key = target.substr(json_target.size());
      const Json* values = json_at(config, key);
      if (values == nullptr || !values->is_array() || values->size() < 2) continue;
      const std::string why = why_unused(knob.name, input, space, knobs);
      if (why.empty()) continue;
      notes.push_back(
          fmt::format("of the {} values that {} lists for {} the first, {}, is used: {}",
                      values->size(), deepspeed.config_path, key, values->front().dump(), why));
    }
  }
  return notes;
}

}  // namespace slurmtune
