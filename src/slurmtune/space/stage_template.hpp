// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "slurmtune/base/error.hpp"
#include "slurmtune/input/study_input.hpp"
#include "slurmtune/record/configuration.hpp"
#include "slurmtune/record/decision.hpp"

namespace slurmtune {

/// One value that a knob may take; nothing = it is not written at all, and the trial does as it
/// would by itself.
using Choice = std::optional<Value>;

/// Where the choices of a knob come from.
enum class KnobOrigin {
  layer,       ///< the template's own
  user_value,  ///< the user's one value: the only choice
  user_list,   ///< the user's list: exactly these, and the first is what all other trials use
};

/// A setting of the trial besides ZeRO stage, micro-batch and accumulation that is worth tuning.
struct Knob {
  /// What configurations call it, and where it goes: a dotted path of the ds_config
  /// (`zero_optimization.reduce_bucket_size`), `json:KEY`, `env:NAME`, `arg:--flag`; or the name of
  /// a [[parameter]].
  std::string name;
  /// The first is what a trial does that says nothing of the knob: DeepSpeed's own default, or the
  /// user's word. In a template that is loaded, a text that begins with `=` is an expression.
  std::vector<Choice> choices;
  std::string when;     ///< expression over facts; "" = always
  std::string because;  ///< what is said where `when` does not hold
  std::string limit;    ///< expression over facts: choices from there on are all alike; "" = none
  std::map<std::string, std::string> only;  ///< choice -> the expression under which there is one
  /// Other knobs under whose values this one acts.
  std::map<std::string, std::vector<Value>> with;
  bool eases_memory = false;
  bool ask = false;  ///< tuned only where the user lists values: it changes what is computed
  KnobOrigin origin = KnobOrigin::layer;

  bool operator==(const Knob&) const = default;
};

/// One file of templates/: knobs that belong together.
struct StageTemplate {
  std::string when;  ///< expression over facts, e.g. `zero_stage == 2`; "" = always
  std::vector<Knob> knobs;

  bool operator==(const StageTemplate&) const = default;
};

/// The template files, embedded, in the order in which their knobs are tried: those of the ZeRO
/// stages first. A new layer is a new file and its row here.
inline constexpr std::array<std::string_view, 10> template_files{
    "templates/zero0.json",         "templates/zero1.json",
    "templates/zero2.json",         "templates/zero3.json",
    "templates/zeropp.json",        "templates/offload_optimizer.json",
    "templates/offload_param.json", "templates/activation_checkpointing.json",
    "templates/communication.json", "templates/environment.json",
};

/// Reads a template (docs/formats/template.md). Errors: corrupt_data if it is no JSON or of a newer
/// version; invalid_input, `where: knob: what; what to write`.
[[nodiscard]] Expected<StageTemplate> load_template(std::string_view text, std::string_view where);

/// All embedded templates, loaded. Errors as load_template.
[[nodiscard]] Expected<std::vector<StageTemplate>> load_templates();

/// Puts the user's word over a template: where the user's ds_config, environment or command has a
/// value for a knob, it is the only choice; a list is exactly the choices; "auto" leaves the
/// template's, and what nobody writes is the first; null and absence leave the template's. Nothing
/// that only the user has is added, and nothing of the user's is changed.
/// Errors: invalid_input, `config: path: …`, for an empty list or one of other than plain values.
[[nodiscard]] Expected<StageTemplate> fill_template(const StageTemplate& stage_template,
                                                    const StudySpec& spec);

/// What conditions of templates see, by name: zero_stage, ranks, data_parallel, nodes,
/// processes_per_node, tensor_parallel, activation_checkpointing (the ds_config has the section),
/// hugging_face (the command is a Trainer's), nvme_optimizer and nvme_param (a path is named), gpus
/// (of a node; one a process where the site does not say); and, as far as known, cpus_per_node,
/// params, layers.
using TemplateFacts = std::map<std::string, double>;

[[nodiscard]] TemplateFacts template_facts(const StudyInput& input, int zero_stage,
                                           std::optional<double> params);

/// What is left of a template, and what was not worth trying.
struct PrunedTemplate {
  std::vector<Knob> knobs;  ///< each with two choices or more
  std::vector<Dropped> dropped;
};

/// Leaves out what cannot matter, with figures: knobs whose condition does not hold, that the user
/// has fixed or that only the user may ask for; choices beyond a limit (the first of them stands
/// for all); equal ones. An expression that speaks of what is not known says nothing: conditions
/// hold, limits do not exist, computed choices are left out. Errors: invalid_input for an
/// expression that cannot be read.
[[nodiscard]] Expected<PrunedTemplate> prune_template(const StageTemplate& stage_template,
                                                      const TemplateFacts& facts);

/// Whether a configuration's name is that of a knob (of a template; [[parameter]]s have plain
/// names): it has a dot or a colon.
[[nodiscard]] bool is_knob_name(std::string_view name);

/// The target of a knob's name: `json:PATH`, `env:NAME`, `arg:--flag`.
[[nodiscard]] std::string knob_target(std::string_view name);

/// The configuration without its knobs.
[[nodiscard]] Configuration without_knobs(const Configuration& configuration);

/// Whether two values are the same to a reader of JSON: 5e8 and 500000000 are.
[[nodiscard]] bool is_same_value(const Value& a, const Value& b);

}  // namespace slurmtune
