// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "slurmtune/space/expression.hpp"
#include "slurmtune/space/json_path.hpp"
#include "slurmtune/space/stage_template.hpp"

namespace slurmtune {

namespace {

/// What an expression says; nothing if it speaks of what is not known.
Expected<std::optional<double>> said(const std::string& text, const TemplateFacts& facts) {
  SLURMTUNE_TRY(const Expression expression, Expression::compile(text, "template"));
  for (const std::string& name : expression.variables()) {
    if (!facts.contains(name)) return std::optional<double>();
  }
  SLURMTUNE_TRY(const double value, expression.evaluate(facts));
  return std::optional<double>(value);
}

/// Whether a condition is known not to hold.
Expected<bool> forbids(const std::string& condition, const TemplateFacts& facts) {
  if (condition.empty()) return false;
  SLURMTUNE_TRY(const auto value, said(condition, facts));
  return value && *value == 0.0;
}

std::optional<double> number_of(const Choice& choice) {
  if (!choice) return std::nullopt;
  if (const auto* integer = std::get_if<std::int64_t>(&*choice)) {
    return static_cast<double>(*integer);
  }
  if (const auto* real = std::get_if<double>(&*choice)) return *real;
  return std::nullopt;
}

bool is_same_choice(const Choice& a, const Choice& b) {
  return a && b ? is_same_value(*a, *b) : a.has_value() == b.has_value();
}

/// Computes the choices that are expressions, and leaves out equal and impossible ones. What nobody
/// can know, `only` must be told: an unknown condition leaves the choice out.
Expected<std::vector<Choice>> computed(const Knob& knob, const TemplateFacts& facts) {
  std::vector<Choice> found;
  for (Choice choice : knob.choices) {
    const auto* text = choice ? std::get_if<std::string>(&*choice) : nullptr;
    if (text != nullptr && knob.origin == KnobOrigin::layer) {
      if (text->starts_with('=')) {
        SLURMTUNE_TRY(const auto value, said(text->substr(1), facts));
        if (!value) continue;
        choice = static_cast<std::int64_t>(std::llround(*value));
      } else if (const auto only = knob.only.find(*text); only != knob.only.end()) {
        SLURMTUNE_TRY(const auto value, said(only->second, facts));
        if (!value || *value == 0.0) continue;
      }
    }
    const bool doubled = std::ranges::any_of(
        found, [&](const Choice& other) { return is_same_choice(other, choice); });
    if (!doubled) found.push_back(std::move(choice));
  }
  return found;
}

/// The one of the choices from `limit` on that stands for all of them: the first of the list if it
/// is one (it is what runs anyway), else the smallest.
Choice representative(const std::vector<Choice>& choices, double limit) {
  Choice smallest;
  for (const Choice& choice : choices) {
    const auto number = number_of(choice);
    if (!number || *number < limit) continue;
    if (&choice == &choices.front()) return choice;
    if (!smallest || *number < *number_of(smallest)) smallest = choice;
  }
  return smallest;
}

Expected<void> cut_at_limit(Knob& knob, const TemplateFacts& facts, std::vector<Dropped>& dropped) {
  if (knob.limit.empty() || knob.origin != KnobOrigin::layer) return {};
  SLURMTUNE_TRY(const auto limit, said(knob.limit, facts));
  if (!limit) return {};
  const Choice kept = representative(knob.choices, *limit);
  std::string left_out;
  std::erase_if(knob.choices, [&](const Choice& choice) {
    const auto number = number_of(choice);
    if (!number || *number < *limit || is_same_choice(choice, kept)) return false;
    left_out += (left_out.empty() ? "" : ", ") + format_value(*choice);
    return true;
  });
  if (!left_out.empty()) {
    dropped.push_back({fmt::format("{} = {}", knob.name, left_out),
                       fmt::format("no different from {}: both exceed {} = {:.6g}",
                                   format_value(*kept), knob.limit, *limit)});
  }
  return {};
}

/// Why the whole knob is not worth trying; empty if it is.
Expected<std::string> why_not(const Knob& knob, const TemplateFacts& facts) {
  SLURMTUNE_TRY(const bool forbidden, forbids(knob.when, facts));
  if (forbidden) return knob.because.empty() ? "it needs " + knob.when : knob.because;
  if (knob.origin == KnobOrigin::user_value) {
    return fmt::format("it is given: {}", format_value(*knob.choices.front()));
  }
  if (knob.ask && knob.origin == KnobOrigin::layer) {
    return std::string(
        "it changes what is computed; write a list of values for it to have them tried");
  }
  return std::string();
}

bool is_trainer(const StudySpec& spec) {
  return spec.measure.source == MeasureSource::hf ||
         (spec.deepspeed && spec.deepspeed->hugging_face);
}

}  // namespace

TemplateFacts template_facts(const StudyInput& input, int zero_stage,
                             std::optional<double> params) {
  const StudySpec& spec = input.spec;
  TemplateFacts facts{
      {"zero_stage", zero_stage},
      {"ranks", static_cast<double>(spec.ranks())},
      {"data_parallel", static_cast<double>(spec.data_parallel())},
      {"nodes", spec.trial.nodes},
      {"processes_per_node", spec.trial.processes_per_node},
      {"tensor_parallel", static_cast<double>(spec.parallel.tensor)},
      {"hugging_face", is_trainer(spec) ? 1.0 : 0.0},
  };
  const Json config =
      spec.deepspeed ? Json::parse(spec.deepspeed->config_json, nullptr, false) : Json();
  const auto has = [&](std::string_view path) { return json_at(config, path) != nullptr; };
  facts["activation_checkpointing"] = has("activation_checkpointing") ? 1.0 : 0.0;
  facts["nvme_optimizer"] = has("zero_optimization.offload_optimizer.nvme_path") ? 1.0 : 0.0;
  facts["nvme_param"] = has("zero_optimization.offload_param.nvme_path") ? 1.0 : 0.0;
  // As the budget counts: where the site does not say, each process has a GPU.
  facts["gpus"] = input.site.gpus_per_node.value_or(spec.trial.processes_per_node);
  if (input.site.cpus_per_node) facts["cpus_per_node"] = *input.site.cpus_per_node;
  if (params) facts["params"] = *params;
  if (spec.model.layers) facts["layers"] = *spec.model.layers;
  return facts;
}

Expected<PrunedTemplate> prune_template(const StageTemplate& stage_template,
                                        const TemplateFacts& facts) {
  PrunedTemplate pruned;
  SLURMTUNE_TRY(const bool other_layer, forbids(stage_template.when, facts));
  if (other_layer) return pruned;
  for (Knob knob : stage_template.knobs) {
    SLURMTUNE_TRY(std::string reason, why_not(knob, facts));
    if (!reason.empty()) {
      pruned.dropped.push_back({knob.name, std::move(reason)});
      continue;
    }
    SLURMTUNE_TRY(knob.choices, computed(knob, facts));
    SLURMTUNE_CHECK(cut_at_limit(knob, facts, pruned.dropped));
    if (knob.choices.size() > 1) pruned.knobs.push_back(std::move(knob));
  }
  return pruned;
}

}  // namespace slurmtune
