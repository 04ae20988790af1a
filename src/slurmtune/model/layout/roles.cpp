// SPDX-License-Identifier: MIT
#include "slurmtune/model/layout/roles.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string>
#include <variant>

namespace slurmtune {

namespace {

struct RoleWord {
  std::string_view word;
  LayoutRole role;
};

constexpr std::array<RoleWord, 24> role_words{{
    {"micro_batch", LayoutRole::micro_batch},
    {"local_batch", LayoutRole::local_batch},
    {"gradient_accumulation", LayoutRole::gradient_accumulation},
    {"global_batch", LayoutRole::global_batch},
    {"sequence_length", LayoutRole::sequence_length},
    {"zero_stage", LayoutRole::zero_stage},
    {"data_parallel", LayoutRole::data_parallel},
    {"tensor_parallel", LayoutRole::tensor_parallel},
    {"pipeline_parallel", LayoutRole::pipeline_parallel},
    {"virtual_pipeline", LayoutRole::virtual_pipeline},
    {"sequence_parallel", LayoutRole::sequence_parallel},
    {"context_parallel", LayoutRole::sequence_parallel},
    {"expert_parallel", LayoutRole::expert_parallel},
    {"activation_checkpointing", LayoutRole::activation_checkpointing},
    {"offload", LayoutRole::offload},
    {"nodes", LayoutRole::nodes},
    {"gpus", LayoutRole::gpus},
    {"reduce_bucket_size", LayoutRole::bucket_size},
    {"allgather_bucket_size", LayoutRole::bucket_size},
    {"prefetch_bucket_size", LayoutRole::bucket_size},
    {"tensor", LayoutRole::tensor_parallel},
    {"pipeline", LayoutRole::pipeline_parallel},
    {"sequence", LayoutRole::sequence_parallel},
    {"data", LayoutRole::data_parallel},
}};

// Without `-`, `_` and case.
constexpr std::array<RoleWord, 76> option_names{{
    {"microbatchsize", LayoutRole::micro_batch},
    {"microbatch", LayoutRole::micro_batch},
    {"mbs", LayoutRole::micro_batch},
    {"trainmicrobatchsizepergpu", LayoutRole::micro_batch},
    {"perdevicetrainbatchsize", LayoutRole::micro_batch},
    {"perdevicebatchsize", LayoutRole::micro_batch},
    {"devicetrainmicrobatchsize", LayoutRole::micro_batch},
    {"localbatchsize", LayoutRole::local_batch},
    {"batchsizepergpu", LayoutRole::micro_batch},
    {"tmbspg", LayoutRole::micro_batch},
    {"gradientaccumulation", LayoutRole::gradient_accumulation},
    {"gradientaccumulationsteps", LayoutRole::gradient_accumulation},
    {"gradaccum", LayoutRole::gradient_accumulation},
    {"gradaccumsteps", LayoutRole::gradient_accumulation},
    {"accumulationsteps", LayoutRole::gradient_accumulation},
    {"gas", LayoutRole::gradient_accumulation},
    {"globalbatchsize", LayoutRole::global_batch},
    {"globalbatch", LayoutRole::global_batch},
    {"gbs", LayoutRole::global_batch},
    {"trainbatchsize", LayoutRole::global_batch},
    {"sequencelength", LayoutRole::sequence_length},
    {"seqlength", LayoutRole::sequence_length},
    {"seqlen", LayoutRole::sequence_length},
    {"maxseqlen", LayoutRole::sequence_length},
    {"contextlength", LayoutRole::sequence_length},
    {"zerostage", LayoutRole::zero_stage},
    {"zero", LayoutRole::zero_stage},
    {"shardingstrategy", LayoutRole::zero_stage},
    {"fsdpshardingstrategy", LayoutRole::zero_stage},
    {"dataparallel", LayoutRole::data_parallel},
    {"dataparallelsize", LayoutRole::data_parallel},
    {"dataparalleldegree", LayoutRole::data_parallel},
    {"dp", LayoutRole::data_parallel},
    {"dpsize", LayoutRole::data_parallel},
    {"tensorparallel", LayoutRole::tensor_parallel},
    {"tensorparallelsize", LayoutRole::tensor_parallel},
    {"tensorparalleldegree", LayoutRole::tensor_parallel},
    {"tensormodelparallelsize", LayoutRole::tensor_parallel},
    {"tp", LayoutRole::tensor_parallel},
    {"tpsize", LayoutRole::tensor_parallel},
    {"pipelineparallel", LayoutRole::pipeline_parallel},
    {"pipelineparallelsize", LayoutRole::pipeline_parallel},
    {"pipelineparalleldegree", LayoutRole::pipeline_parallel},
    {"pipelinemodelparallelsize", LayoutRole::pipeline_parallel},
    {"pp", LayoutRole::pipeline_parallel},
    {"ppsize", LayoutRole::pipeline_parallel},
    {"virtualpipelinemodelparallelsize", LayoutRole::virtual_pipeline},
    {"virtualpipeline", LayoutRole::virtual_pipeline},
    {"vpp", LayoutRole::virtual_pipeline},
    {"vp", LayoutRole::virtual_pipeline},
    {"sequenceparallel", LayoutRole::sequence_parallel},
    {"sequenceparallelsize", LayoutRole::sequence_parallel},
    {"contextparallel", LayoutRole::sequence_parallel},
    {"contextparallelsize", LayoutRole::sequence_parallel},
    {"contextparalleldegree", LayoutRole::sequence_parallel},
    {"cp", LayoutRole::sequence_parallel},
    {"sp", LayoutRole::sequence_parallel},
    {"expertparallel", LayoutRole::expert_parallel},
    {"expertparallelsize", LayoutRole::expert_parallel},
    {"expertparalleldegree", LayoutRole::expert_parallel},
    {"expertmodelparallelsize", LayoutRole::expert_parallel},
    {"ep", LayoutRole::expert_parallel},
    {"activationcheckpointing", LayoutRole::activation_checkpointing},
    {"activationcheckpoint", LayoutRole::activation_checkpointing},
    {"gradientcheckpointing", LayoutRole::activation_checkpointing},
    {"recomputegranularity", LayoutRole::activation_checkpointing},
    {"recompute", LayoutRole::activation_checkpointing},
    {"recomputation", LayoutRole::activation_checkpointing},
    {"offload", LayoutRole::offload},
    {"offloadoptimizer", LayoutRole::offload},
    {"optimizeroffload", LayoutRole::offload},
    {"cpuoffload", LayoutRole::offload},
    {"nodes", LayoutRole::nodes},
    {"numnodes", LayoutRole::nodes},
    {"nnodes", LayoutRole::nodes},
    {"ngpus", LayoutRole::gpus},
}};

/// Lower case without `-`, `_` and spaces.
std::string plain(std::string_view text) {
  std::string word;
  for (const char c : text) {
    if (c == '-' || c == '_' || c == ' ') continue;
    word += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return word;
}

struct QuantityWord {
  LayoutRole role;
  std::string_view word;
  double quantity;
};

constexpr std::array<QuantityWord, 47> quantity_words{{
    {LayoutRole::zero_stage, "noshard", 0.0},
    {LayoutRole::zero_stage, "ddp", 0.0},
    {LayoutRole::zero_stage, "none", 0.0},
    {LayoutRole::zero_stage, "zero0", 0.0},
    {LayoutRole::zero_stage, "zero1", 1.0},
    {LayoutRole::zero_stage, "zero2", 2.0},
    {LayoutRole::zero_stage, "zero3", 3.0},
    {LayoutRole::zero_stage, "optim", 1.0},
    {LayoutRole::zero_stage, "optimgrads", 2.0},
    {LayoutRole::zero_stage, "optimgradsparams", 3.0},
    {LayoutRole::zero_stage, "shardgradop", 2.0},
    {LayoutRole::zero_stage, "fullshard", 3.0},
    {LayoutRole::zero_stage, "fsdp", 3.0},
    {LayoutRole::activation_checkpointing, "none", 0.0},
    {LayoutRole::activation_checkpointing, "no", 0.0},
    {LayoutRole::activation_checkpointing, "off", 0.0},
    {LayoutRole::activation_checkpointing, "false", 0.0},
    {LayoutRole::activation_checkpointing, "selective", 1.0},
    {LayoutRole::activation_checkpointing, "op", 1.0},
    {LayoutRole::activation_checkpointing, "attention", 1.0},
    {LayoutRole::activation_checkpointing, "full", 2.0},
    {LayoutRole::activation_checkpointing, "yes", 2.0},
    {LayoutRole::activation_checkpointing, "on", 2.0},
    {LayoutRole::activation_checkpointing, "true", 2.0},
    {LayoutRole::activation_checkpointing, "all", 2.0},
    {LayoutRole::activation_checkpointing, "block", 2.0},
    {LayoutRole::activation_checkpointing, "layer", 2.0},
    {LayoutRole::activation_checkpointing, "uniform", 2.0},
    {LayoutRole::offload, "none", 0.0},
    {LayoutRole::offload, "no", 0.0},
    {LayoutRole::offload, "off", 0.0},
    {LayoutRole::offload, "false", 0.0},
    {LayoutRole::offload, "gpu", 0.0},
    {LayoutRole::offload, "optimizer", 1.0},
    {LayoutRole::offload, "optim", 1.0},
    {LayoutRole::offload, "cpu", 1.0},
    {LayoutRole::offload, "yes", 1.0},
    {LayoutRole::offload, "on", 1.0},
    {LayoutRole::offload, "true", 1.0},
    {LayoutRole::offload, "nvme", 1.0},
    {LayoutRole::offload, "both", 2.0},
    {LayoutRole::offload, "all", 2.0},
    {LayoutRole::offload, "full", 2.0},
    {LayoutRole::offload, "param", 2.0},
    {LayoutRole::offload, "params", 2.0},
    {LayoutRole::offload, "optimizer+param", 2.0},
    {LayoutRole::sequence_parallel, "true", 1.0},
}};

std::optional<double> number_in(std::string_view text) {
  double number = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  return whole ? std::optional(number) : std::nullopt;
}

std::optional<double> quantity_of_word(LayoutRole role, std::string_view text) {
  const std::string word = plain(text);
  for (const QuantityWord& known : quantity_words) {
    if (known.role == role && known.word == word) return known.quantity;
  }
  return std::nullopt;
}

/// Whether a number is one that the role can have.
bool is_possible(LayoutRole role, double number) {
  if (!std::isfinite(number) || number < 0.0) return false;
  switch (role) {
    case LayoutRole::zero_stage: return number <= 3.0;
    case LayoutRole::activation_checkpointing:
    case LayoutRole::offload:
    case LayoutRole::sequence_parallel:
    case LayoutRole::expert_parallel:
    case LayoutRole::virtual_pipeline:
    case LayoutRole::bucket_size: return true;
    default: return number > 0.0;
  }
}

}  // namespace

LayoutRole layout_role(std::string_view word) {
  const auto found = std::ranges::find(role_words, word, &RoleWord::word);
  return found == role_words.end() ? LayoutRole::none : found->role;
}

LayoutRole likely_role(std::string_view name) {
  const std::size_t before = name.find_last_of("./");
  const std::string word = plain(before == std::string_view::npos ? name : name.substr(before + 1));
  const auto found = std::ranges::find(option_names, word, &RoleWord::word);
  return found == option_names.end() ? LayoutRole::none : found->role;
}

std::optional<double> quantity_of(LayoutRole role, const Value& level) {
  if (role == LayoutRole::none) return std::nullopt;
  std::optional<double> number;
  if (const auto* text = std::get_if<std::string>(&level)) {
    number = number_in(*text);
    if (!number) return quantity_of_word(role, *text);
  }
  if (const auto* flag = std::get_if<bool>(&level)) {
    // What a flag turns on: whole layers are recomputed, all is sharded.
    if (role == LayoutRole::activation_checkpointing) return *flag ? 2.0 : 0.0;
    if (role == LayoutRole::zero_stage) return *flag ? 3.0 : 0.0;
    return *flag ? 1.0 : 0.0;
  }
  if (const auto* integer = std::get_if<std::int64_t>(&level)) number = *integer;
  if (const auto* real = std::get_if<double>(&level)) number = *real;
  return is_possible(role, *number) ? number : std::nullopt;
}

namespace {

/// Numbers of activation_checkpointing are a switch, or layers (of how many, the largest tells).
void scale_checkpointing(const LevelParameter& parameter, RoledParameter& roled) {
  double most = 0.0;
  for (std::size_t i = 0; i < parameter.levels.size(); ++i) {
    const Value& level = parameter.levels[i];
    const auto* text = std::get_if<std::string>(&level);
    if (std::holds_alternative<bool>(level) || (text && !number_in(*text))) return;
    most = std::max(most, roled.quantities[i].value_or(0.0));
  }
  if (!(most > 0.0) || most == 2.0) return;
  for (auto& quantity : roled.quantities) {
    if (quantity) *quantity *= 2.0 / most;
  }
}

/// Whether several parameters may share a role.
bool may_repeat(LayoutRole role) {
  return role == LayoutRole::bucket_size || role == LayoutRole::offload ||
         role == LayoutRole::sequence_parallel;
}

RoledParameter roled_as(const LevelParameter& parameter, LayoutRole role) {
  RoledParameter roled;
  roled.role = role;
  roled.is_flag = parameter.type == ParameterType::boolean;
  for (const Value& level : parameter.levels) roled.quantities.push_back(quantity_of(role, level));
  if (role == LayoutRole::activation_checkpointing) scale_checkpointing(parameter, roled);
  if (role == LayoutRole::offload && parameter.name.find("param") != std::string::npos) {
    for (auto& quantity : roled.quantities) {
      if (quantity && *quantity > 0.0) quantity = 2.0;
    }
  }
  return roled;
}

}  // namespace

std::vector<RoledParameter> roled_parameters(std::span<const LevelParameter> parameters,
                                             RoleSource source) {
  std::vector<LayoutRole> given;
  for (const LevelParameter& parameter : parameters) given.push_back(layout_role(parameter.role));
  std::vector<RoledParameter> roled;
  std::vector<LayoutRole> seen;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    LayoutRole role = given[i];
    if (source == RoleSource::given_or_named && parameters[i].role.empty()) {
      const LayoutRole likely = likely_role(parameters[i].name);
      if (std::ranges::find(given, likely) == given.end()) role = likely;
    }
    const bool again = std::ranges::find(seen, role) != seen.end();
    if (again && !may_repeat(role)) role = LayoutRole::none;
    seen.push_back(role);
    roled.push_back(roled_as(parameters[i], role));
  }
  return roled;
}

}  // namespace slurmtune
