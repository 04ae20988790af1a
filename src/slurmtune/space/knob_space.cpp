// SPDX-License-Identifier: MIT
#include "slurmtune/space/knob_space.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

namespace slurmtune {

namespace {

constexpr int points_of_a_range = 5;

/// A few points of a range, its ends among them.
std::vector<Choice> points_of(const Parameter& parameter) {
  const ParameterRange& range = *parameter.range;
  std::vector<Choice> points;
  const bool is_log = range.scale == Scale::log && range.low > 0.0;
  for (int i = 0; i < points_of_a_range; ++i) {
    const double at = static_cast<double>(i) / (points_of_a_range - 1);
    const double value = is_log ? range.low * std::pow(range.high / range.low, at)
                                : range.low + (range.high - range.low) * at;
    if (parameter.type == ParameterType::real) {
      points.emplace_back(std::clamp(value, range.low, range.high));
    } else {
      points.emplace_back(static_cast<std::int64_t>(
          std::llround(std::clamp(value, std::ceil(range.low), std::floor(range.high)))));
    }
  }
  return points;
}

/// One of the study's own parameters as a knob: the baseline's value first.
std::optional<Knob> knob_of(const Parameter& parameter, const Values& plain) {
  const auto own = plain.find(parameter.name);
  if (own == plain.end()) return std::nullopt;  // its condition does not hold
  Knob knob;
  knob.name = parameter.name;
  knob.origin = KnobOrigin::user_list;
  knob.choices = {own->second};
  std::vector<Choice> others(parameter.choices.begin(), parameter.choices.end());
  if (parameter.range) others = points_of(parameter);
  for (const Choice& other : others) {
    if (std::ranges::find(knob.choices, other) == knob.choices.end()) knob.choices.push_back(other);
  }
  if (knob.choices.size() < 2) return std::nullopt;
  return knob;
}

bool is_own(const Parameter& parameter) {
  return parameter.name == zero_stage_parameter || parameter.name == micro_batch_parameter ||
         parameter.name == accumulation_parameter;
}

bool is_first(const Knob& knob, const Choice& choice) {
  const Choice& first = knob.choices.front();
  return first && choice ? is_same_value(*first, *choice) : first.has_value() == choice.has_value();
}

/// Whether a knob acts, given the others' values (those that are not there are at their first).
bool acts(const Knob& knob, const std::vector<Knob>& knobs, const Values& values) {
  return std::ranges::all_of(knob.with, [&](const auto& condition) {
    const auto& [name, wanted] = condition;
    Choice value;
    const auto other = std::ranges::find(knobs, name, &Knob::name);
    if (other != knobs.end()) value = other->choices.front();
    if (const auto set = values.find(name); set != values.end()) value = set->second;
    return value && std::ranges::any_of(
                        wanted, [&](const Value& one) { return is_same_value(one, *value); });
  });
}

/// `with` speaks of knobs that may have been pruned, because the user fixed them: the fixed value
/// decides for good whether the knob can act.
void settle_fixed(std::vector<Knob>& knobs, const std::vector<Knob>& all) {
  std::erase_if(knobs, [&](Knob& knob) {
    for (auto condition = knob.with.begin(); condition != knob.with.end();) {
      if (std::ranges::find(knobs, condition->first, &Knob::name) != knobs.end()) {
        ++condition;
        continue;
      }
      const auto fixed = std::ranges::find(all, condition->first, &Knob::name);
      const bool holds =
          fixed != all.end() && fixed->origin == KnobOrigin::user_value &&
          std::ranges::any_of(condition->second, [&](const Value& one) {
            return fixed->choices.front() && is_same_value(one, *fixed->choices.front());
          });
      if (!holds) return true;
      condition = knob.with.erase(condition);
    }
    return false;
  });
}

/// Knobs that one of the study's own parameters sets are that parameter's.
void leave_to_parameters(PrunedTemplate& pruned, const std::vector<ParameterSpec>& parameters) {
  std::erase_if(pruned.knobs, [&](const Knob& knob) {
    const auto owner =
        std::ranges::find(parameters, knob_target(knob.name), &ParameterSpec::target);
    if (owner == parameters.end()) return false;
    pruned.dropped.push_back({knob.name, "the [[parameter]] \"" + owner->name + "\" sets it"});
    return true;
  });
}

}  // namespace

const std::vector<Knob>& KnobSpace::knobs(int zero_stage) const {
  static const std::vector<Knob> none;
  const auto found = knobs_.find(zero_stage);
  return found == knobs_.end() ? none : found->second;
}

std::size_t KnobSpace::alternatives(int zero_stage) const {
  std::size_t count = 0;
  for (const Knob& knob : knobs(zero_stage)) count += knob.choices.size() - 1;
  return count;
}

Expected<Configuration> KnobSpace::build(const Configuration& from,
                                         const std::map<std::string, Choice>& settings) const {
  const auto stage = static_cast<int>(from.integer(zero_stage_parameter).value_or(0));
  const std::vector<Knob>& known = knobs(stage);
  Values plain = without_knobs(from).values;
  Values set;
  for (const auto& [name, value] : from.values) {
    if (is_knob_name(name)) set.emplace(name, value);
  }
  for (const auto& [name, choice] : settings) {
    Values& values = is_knob_name(name) ? set : plain;
    values.erase(name);
    if (choice) values.emplace(name, *choice);
  }
  plain.erase(std::string(accumulation_parameter));  // it follows from the batch rule
  SLURMTUNE_TRY(Configuration built, space_->complete(std::move(plain)));
  for (const Knob& knob : known) {
    const auto value = set.find(knob.name);
    if (value == set.end() || is_first(knob, value->second)) continue;
    if (acts(knob, known, set)) built.values.insert(*value);
  }
  return built;
}

bool KnobSpace::contains(const Configuration& configuration) const {
  const auto stage = configuration.integer(zero_stage_parameter);
  for (const auto& [name, value] : configuration.values) {
    if (!is_knob_name(name)) continue;
    const std::vector<Knob>& known = knobs(static_cast<int>(stage.value_or(0)));
    const auto knob = std::ranges::find(known, name, &Knob::name);
    if (knob == known.end()) return false;
    const auto at = std::ranges::find(knob->choices, Choice(value));
    if (at == knob->choices.end() || at == knob->choices.begin()) return false;
    if (!acts(*knob, known, configuration.values)) return false;
  }
  return true;
}

Expected<KnobSpace> make_knob_space(const StudyInput& input, const Space& space,
                                    const KnobEvidence& evidence) {
  KnobSpace made;
  made.space_ = space;
  if (!input.spec.deepspeed) return made;
  SLURMTUNE_TRY(const std::vector<StageTemplate> templates, load_templates());
  std::set<std::pair<std::string, std::string>> told;
  for (const int stage : space.zero_stages()) {
    TemplateFacts facts = template_facts(input, stage, evidence.params);
    if (evidence.no_gpu) facts["gpus"] = 0.0;
    std::vector<Knob>& knobs = made.knobs_[stage];
    std::vector<Knob> all;
    for (const StageTemplate& layer : templates) {
      SLURMTUNE_TRY(const StageTemplate filled, fill_template(layer, input.spec));
      all.insert(all.end(), filled.knobs.begin(), filled.knobs.end());
      SLURMTUNE_TRY(PrunedTemplate pruned, prune_template(filled, facts));
      leave_to_parameters(pruned, input.spec.parameters);
      knobs.insert(knobs.end(), pruned.knobs.begin(), pruned.knobs.end());
      for (Dropped& dropped : pruned.dropped) {
        if (told.emplace(dropped.what, dropped.because).second) made.pruned_.push_back(dropped);
      }
    }
    settle_fixed(knobs, all);
    const auto micro_batches = space.micro_batches(stage);
    if (micro_batches.empty()) continue;
    const auto plain =
        space.complete({{std::string(zero_stage_parameter), std::int64_t{stage}},
                        {std::string(micro_batch_parameter), micro_batches.front()}});
    if (!plain) continue;
    for (const Parameter& parameter : space.parameters()) {
      if (is_own(parameter)) continue;
      if (auto knob = knob_of(parameter, plain->values)) knobs.push_back(*std::move(knob));
    }
    // What the user lists is asked for: it has its turn first.
    std::ranges::stable_partition(
        knobs, [](const Knob& knob) { return knob.origin == KnobOrigin::user_list; });
  }
  return made;
}

}  // namespace slurmtune
