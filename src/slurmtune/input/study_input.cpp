// SPDX-License-Identifier: MIT
#include "slurmtune/input/study_input.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "slurmtune/input/key_table.hpp"
#include "slurmtune/input/readers.hpp"
#include "slurmtune/input/site_file.hpp"

namespace slurmtune {

namespace {

constexpr std::int64_t format_version = 1;

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '-' || c == '_';
}

Expected<void> read_head(const Node& study, StudySpec& spec) {
  const Node& name = *study.find("name");
  spec.name = name.text;
  if (name.text.empty() || name.text.size() > 64 || name.text.front() == '-' ||
      name.text.front() == '.' || !std::ranges::all_of(name.text, is_name_character)) {
    return fail_at(spec.path, name.line, fmt::format("\"{}\" cannot name a study", name.text),
                   "write up to 64 letters, digits, dots, dashes and underscores");
  }
  if (const Node* mode = study.find("mode")) {
    spec.mode = mode->text == "run" ? StudyMode::run : StudyMode::tune;
  }
  spec.seed = static_cast<std::uint64_t>(integer_or(study, "seed", 1));
  return {};
}

// A newer format may have keys that this version does not know, so this is looked at first.
Expected<void> check_version(const Node& study, std::string_view path) {
  const Node* format = study.find("format");
  if (format == nullptr || !format->is_integral() || format->as_integer() <= format_version) {
    return {};
  }
  return fail_at(path, format->line,
                 fmt::format("format {} is newer than this version reads ({})",
                             format->as_integer(), format_version),
                 "use a newer slurmtune");
}

Expected<void> read_constraints(const Node& study, StudySpec& spec) {
  const Node* list = study.find("constraint");
  if (list == nullptr) return {};
  for (const Node& item : list->items) {
    const Node& expression = *item.find("expr");
    if (trimmed(expression.text).empty()) {
      return fail_at(spec.path, expression.line, "the constraint is empty", "remove it");
    }
    spec.constraints.push_back(ConstraintSpec{expression.text, expression.line});
  }
  return {};
}

Expected<void> read_slurm(const Node& study, StudySpec& spec, const Site& site) {
  const Node* slurm = study.find("slurm");
  if (slurm == nullptr) return {};
  const Node* shared = slurm->find("lanes_per_node");
  if (shared != nullptr && site.lanes_per_node > 1 && spec.trial.nodes > 1) {
    return fail_at(spec.path, shared->line,
                   fmt::format("lanes cannot share a node where a trial takes {} (trial.nodes)",
                               spec.trial.nodes),
                   "take lanes_per_node out, or write trial.nodes = 1");
  }
  const Node* submit = slurm->find("submit");
  if (submit == nullptr) return {};
  spec.submit = static_cast<SubmitMode>(word_index(*slurm_keys().find("submit"), submit->text));
  if (spec.submit == SubmitMode::local && spec.trial.launcher == Launcher::srun) {
    return fail_at(spec.path, submit->line, "submit = \"local\" has no Slurm to give srun to",
                   "write trial.launcher = \"auto\", or another submit");
  }
  return {};
}

/// A site may divide its nodes among lanes; a trial of several nodes has them for itself.
void set_lanes(StudySpec& spec, const Site& site) {
  spec.lanes_per_node = spec.trial.nodes == 1 ? site.lanes_per_node : 1;
  spec.lanes = std::max(site.lanes, spec.lanes_per_node);
}

/// Where a round costs no wait in a queue, many small ones waste fewer experiments than few large.
void set_rounds(const Node& study, StudySpec& spec, const Site& site) {
  constexpr int small_width = 3;
  constexpr int many_rounds = 8;
  if (!site.no_queue) return;
  const Node* search = study.find("search");
  const auto given = [&](std::string_view key) {
    return search != nullptr && search->find(key) != nullptr;
  };
  if (!given("width")) spec.search.width = std::max(small_width, spec.lanes);
  if (!given("rounds")) spec.search.rounds = many_rounds;
}

// What only the whole study shows.
Expected<void> check_whole(const Node& study, const StudySpec& spec) {
  if (!spec.deepspeed && spec.parameters.empty()) {
    return fail_at(spec.path, 1, "nothing varies in this study",
                   "add a [[parameter]], or a section [deepspeed]");
  }
  const std::int64_t task_nodes = spec.nodes_per_task();
  if (spec.budget.max_concurrent_nodes && *spec.budget.max_concurrent_nodes < task_nodes) {
    return fail_at(spec.path, study.find("budget")->find("max_concurrent_nodes")->line,
                   fmt::format("one task needs {} nodes (trial.nodes for each lane), more than "
                               "max_concurrent_nodes = {}",
                               task_nodes, *spec.budget.max_concurrent_nodes),
                   "raise it, or lower slurm.lanes");
  }
  return check_placeholders(study, spec);
}

Expected<StudySpec> read_spec(const Node& study, const StudySources& sources) {
  StudySpec spec;
  spec.path = sources.study.path;
  SLURMTUNE_CHECK(read_head(study, spec));
  SLURMTUNE_TRY(spec.trial, read_trial(*study.find("trial"), spec.path));
  SLURMTUNE_TRY(spec.parameters, read_parameters(study, spec.path));
  SLURMTUNE_CHECK(read_constraints(study, spec));
  if (const Node* objective = study.find("objective")) {
    SLURMTUNE_TRY(spec.objective, read_objective(*objective, spec.path));
  }
  SLURMTUNE_TRY(spec.measure, read_measure(study, spec.path));
  SLURMTUNE_TRY(spec.search, read_search(study, spec.path));
  if (const Node* budget = study.find("budget")) {
    SLURMTUNE_TRY(spec.budget, read_budget(*budget, spec.path));
  }
  if (const Node* training = study.find("training")) spec.training = read_training(*training);
  const Node* deepspeed = study.find("deepspeed");
  if (deepspeed == nullptr) {
    SLURMTUNE_CHECK(read_parallel(study, spec));
    SLURMTUNE_CHECK(read_generic_batch(study, spec));
    return spec;
  }
  if (!sources.ds_config) {
    return fail_at(spec.path, deepspeed->find("config")->line,
                   fmt::format("the config \"{}\" was not read", deepspeed->find("config")->text),
                   "write the path of a file that exists, relative to study.toml");
  }
  SLURMTUNE_TRY(const DsConfig config, read_ds_config(*sources.ds_config));
  SLURMTUNE_CHECK(merge_ds_config(study, config, spec));
  return spec;
}

/// The text of `section.key`, if it is there. Errors: it is not a text.
Expected<std::optional<std::string>> referenced(const Node& study, std::string_view section,
                                                std::string_view key, std::string_view path) {
  const Node* table = study.find(section);
  const Node* node = table != nullptr ? table->find(key) : nullptr;
  if (node == nullptr) return std::nullopt;
  if (node->kind != Node::Kind::string || node->text.empty()) {
    return fail_at(path, node->line, fmt::format("{}.{} is not a path", section, key),
                   fmt::format("write {} = \"…\"", key));
  }
  return node->text;
}

}  // namespace

Expected<ReferencedFiles> referenced_files(const SourceText& source) {
  SLURMTUNE_TRY(const Node study, parse_toml(source));
  ReferencedFiles files;
  SLURMTUNE_TRY(files.ds_config, referenced(study, "deepspeed", "config", source.path));
  SLURMTUNE_TRY(files.model, referenced(study, "model", "config", source.path));
  SLURMTUNE_TRY(files.site, referenced(study, "slurm", "site", source.path));
  return files;
}

Expected<StudyInput> read_study(const StudySources& sources) {
  SLURMTUNE_TRY(const Node study, parse_toml(sources.study));
  SLURMTUNE_CHECK(check_version(study, sources.study.path));
  SLURMTUNE_CHECK(check_keys(study, study_keys(), sources.study.path));
  StudyInput input;
  SLURMTUNE_TRY(input.spec, read_spec(study, sources));
  SLURMTUNE_CHECK(complete_model(study, sources.model_config, input.spec));
  SLURMTUNE_TRY(const SiteFile file, read_site_file(sources.site));
  const SiteLayer slurm{study.find("slurm"), sources.study.path};
  SLURMTUNE_TRY(input.site, resolve_site(file, slurm));
  input.unanswered = unanswered(file, slurm);
  SLURMTUNE_CHECK(read_slurm(study, input.spec, input.site));
  set_lanes(input.spec, input.site);
  set_rounds(study, input.spec, input.site);
  SLURMTUNE_CHECK(check_whole(study, input.spec));
  return input;
}

}  // namespace slurmtune
