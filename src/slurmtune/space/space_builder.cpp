// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <numeric>
#include <utility>

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "slurmtune/space/global_batch.hpp"
#include "slurmtune/space/space.hpp"

namespace slurmtune {

namespace {

constexpr std::array<std::string_view, 5> constant_names{"nodes", "processes_per_node", "processes",
                                                         "data_parallel", "global_batch"};

Parameter own_parameter(std::string_view name) {
  Parameter parameter;
  parameter.name = name;
  parameter.role = name;
  return parameter;
}

// All divisors of `number` up to `cap`, sorted.
std::vector<std::int64_t> divisors(std::int64_t number, std::int64_t cap) {
  std::vector<std::int64_t> found;
  for (std::int64_t low = 1; low <= number / low; ++low) {
    if (number % low != 0) continue;
    found.push_back(low);
    if (number / low != low) found.push_back(number / low);
  }
  std::erase_if(found, [cap](std::int64_t divisor) { return divisor > cap; });
  std::ranges::sort(found);
  return found;
}

// The first value that follows `flag` in the user's own command.
std::optional<std::string> argument_of(const std::vector<std::string>& command,
                                       std::string_view flag) {
  std::optional<std::string> found;
  for (std::size_t i = 0; i < command.size(); ++i) {
    if (command[i] == flag && i + 1 < command.size()) found = command[i + 1];
    const bool joined = command[i].size() > flag.size() && command[i].starts_with(flag) &&
                        command[i][flag.size()] == '=';
    if (joined) found = command[i].substr(flag.size() + 1);
  }
  return found;
}

template <class Number>
std::optional<Number> number_in(std::string_view text) {
  Number number{};
  const char* end = text.data() + text.size();
  const auto [stopped, problem] = std::from_chars(text.data(), end, number);
  if (problem != std::errc{} || stopped != end) return std::nullopt;
  return number;
}

// Text, as it stands in a command or the environment, as JSON would have it.
Json json_of_text(const std::string& text) {
  if (const auto integer = number_in<std::int64_t>(text)) return *integer;
  if (const auto real = number_in<double>(text); real && std::isfinite(*real)) return *real;
  if (text == "true" || text == "True") return true;
  if (text == "false" || text == "False") return false;
  return text;
}

}  // namespace

/// Makes a Space of a StudySpec, step by step.
class SpaceBuilder {
 public:
  explicit SpaceBuilder(const StudySpec& spec) : spec_(spec) {}

  [[nodiscard]] Expected<Space> build() {
    space_.path_ = spec_.path;
    space_.nodes_ = spec_.trial.nodes;
    space_.processes_per_node_ = spec_.trial.processes_per_node;
    space_.ranks_ = spec_.ranks();
    space_.data_parallel_ = spec_.data_parallel();
    space_.deepspeed_ = spec_.deepspeed.has_value();
    space_.has_knobs_ = spec_.deepspeed && !spec_.deepspeed->fast;
    space_.batch_where_ = spec_.batch.where;
    SLURMTUNE_CHECK(set_global_batch());
    if (space_.deepspeed_) add_own_parameters();
    for (const ParameterSpec& parameter : spec_.parameters) {
      SLURMTUNE_CHECK(add_parameter(parameter));
    }
    SLURMTUNE_CHECK(add_constraints());
    SLURMTUNE_CHECK(check_objective());
    set_baseline();
    return std::move(space_);
  }

 private:
  [[nodiscard]] std::string where(int line) const { return fmt::format("{}:{}", spec_.path, line); }

  // A constant one, or with max_global the largest multiple that suits every listed micro-batch,
  // and without a list the largest that leaves micro-batches of all sizes.
  [[nodiscard]] Expected<void> set_global_batch() {
    const BatchSpec& batch = spec_.batch;
    space_.global_batch_ = batch.global;
    if (batch.global || !batch.max_global) return {};
    const std::int64_t most = *batch.max_global / space_.data_parallel_;  // samples of one rank
    std::int64_t step = 1;
    for (const std::int64_t micro_batch : batch.micro_batches) {
      const std::int64_t factor = micro_batch / std::gcd(step, micro_batch);
      if (factor > most / step) {
        return invalid_input(fmt::format(
            "{}: no global batch up to {} is a multiple of each micro-batch in [{}] x {} ranks; "
            "raise the limit, or list fewer",
            batch.where, *batch.max_global, fmt::join(batch.micro_batches, ", "),
            space_.data_parallel_));
      }
      step *= factor;
    }
    const std::int64_t samples = batch.micro_batches.empty()
                                     ? largest_with_close_divisors(most, batch.micro_batch_cap)
                                     : most / step * step;
    space_.global_batch_ = samples * space_.data_parallel_;
    return {};
  }

  void add_own_parameters() {
    const DeepSpeedSpec& deepspeed = *spec_.deepspeed;
    space_.user_accumulation_ = deepspeed.gradient_accumulation;

    Parameter stage = own_parameter(zero_stage_parameter);
    for (const int choice : deepspeed.zero_stages) stage.choices.emplace_back(std::int64_t{choice});

    const BatchSpec& batch = spec_.batch;
    Parameter micro_batch = own_parameter(micro_batch_parameter);
    std::vector<std::int64_t> listed = batch.micro_batches;
    if (listed.empty() && space_.global_batch_) {
      listed = divisors(*space_.global_batch_ / space_.data_parallel_, batch.micro_batch_cap);
      std::erase_if(listed, [&](std::int64_t each) { return each < batch.micro_batch_floor; });
    }
    for (const std::int64_t choice : listed) micro_batch.choices.emplace_back(choice);
    if (listed.empty()) {
      micro_batch.range = ParameterRange{static_cast<double>(batch.micro_batch_floor),
                                         static_cast<double>(batch.micro_batch_cap), Scale::linear};
    }

    // Which of these belongs to a micro-batch, the batch rule says.
    Parameter accumulation = own_parameter(accumulation_parameter);
    accumulation.range = ParameterRange{1.0, 9007199254740992.0, Scale::linear};

    space_.defaults_.emplace(stage.name, std::int64_t{deepspeed.zero_stage});
    space_.defaults_.emplace(micro_batch.name, deepspeed.micro_batch);
    space_.defaults_.emplace(accumulation.name, deepspeed.gradient_accumulation);
    space_.parameters_.push_back(std::move(stage));
    space_.parameters_.push_back(std::move(micro_batch));
    space_.parameters_.push_back(std::move(accumulation));
  }

  [[nodiscard]] Expected<void> check_name(const ParameterSpec& from) const {
    const bool constant = std::ranges::find(constant_names, from.name) != constant_names.end();
    if (!constant && !is_reserved_in_expressions(from.name) && space_.find(from.name) == nullptr) {
      return {};
    }
    return invalid_input(fmt::format(
        "{}: the name \"{}\" means something else in expressions; give the parameter another name",
        where(from.line), from.name));
  }

  // What an expression may speak of: the constants and every parameter so far.
  [[nodiscard]] std::vector<std::string> names_so_far() const {
    std::vector<std::string> names(constant_names.begin(), constant_names.end());
    if (!space_.deepspeed_ && !space_.global_batch_) names.pop_back();  // global_batch
    for (const Parameter& parameter : space_.parameters_) names.push_back(parameter.name);
    return names;
  }

  // Conditions look upwards only, so that a walk down the parameters can decide each in passing.
  [[nodiscard]] Expected<void> check_order(const ParameterSpec& from,
                                           const Expression& condition) const {
    for (const ParameterSpec& other : spec_.parameters) {
      const auto& names = condition.variables();
      if (std::ranges::find(names, other.name) == names.end()) continue;
      if (space_.find(other.name) != nullptr) continue;
      return invalid_input(fmt::format(
          "{}: the condition of \"{}\" speaks of \"{}\", which does not come before it; put that "
          "[[parameter]] above",
          where(from.when_line), from.name, other.name));
    }
    return {};
  }

  [[nodiscard]] Expected<void> add_parameter(const ParameterSpec& from) {
    SLURMTUNE_CHECK(check_name(from));
    Parameter parameter;
    parameter.name = from.name;
    parameter.type = from.type;
    parameter.choices = from.values;
    parameter.role = from.role;
    parameter.target = from.target;
    parameter.line = from.line;
    if (from.low && from.high) {
      parameter.range = ParameterRange{*from.low, *from.high, from.scale};
    }
    if (!from.when.empty()) {
      SLURMTUNE_TRY(auto condition, Expression::compile(from.when, where(from.when_line)));
      SLURMTUNE_CHECK(check_order(from, condition));
      SLURMTUNE_CHECK(condition.check_names(names_so_far()));
      parameter.when = std::move(condition);
    }
    SLURMTUNE_TRY(auto value, user_value(parameter));
    space_.defaults_.emplace(parameter.name, std::move(value));
    space_.parameters_.push_back(std::move(parameter));
    return {};
  }

  // What the user's own config, command or environment has at the parameter's target; null if
  // nothing.
  [[nodiscard]] Json value_at_target(const std::string& target) const {
    const auto colon = target.find(':');
    if (colon == std::string::npos) return nullptr;
    const std::string kind = target.substr(0, colon);
    const std::string what = target.substr(colon + 1);
    if (kind == "json" && spec_.deepspeed) {
      const auto config = Json::parse(spec_.deepspeed->config_json, nullptr, false);
      std::string pointer = "/" + what;
      std::ranges::replace(pointer, '.', '/');
      const Json::json_pointer path(pointer);
      return config.is_object() && config.contains(path) ? config.at(path) : Json();
    }
    if (kind == "arg") {
      const auto text = argument_of(spec_.trial.command, what);
      return text && text->find('{') == std::string::npos ? json_of_text(*text) : Json();
    }
    if (kind == "env") {
      const auto found = spec_.trial.env.find(what);
      return found != spec_.trial.env.end() ? json_of_text(found->second) : Json();
    }
    return nullptr;
  }

  [[nodiscard]] static Value fallback(const Parameter& parameter) {
    if (!parameter.range) return parameter.choices.front();
    if (parameter.type == ParameterType::real) return parameter.range->low;
    return static_cast<std::int64_t>(parameter.range->low);
  }

  [[nodiscard]] Expected<Value> user_value(const Parameter& parameter) const {
    const Json json = value_at_target(parameter.target);
    if (json.is_null() || json == "auto") return fallback(parameter);
    // An equal choice keeps its own type, so that equal values have equal ids.
    for (const Value& choice : parameter.choices) {
      const Json other = std::visit([](const auto& held) { return Json(held); }, choice);
      if (other == json) return choice;
    }
    switch (parameter.type) {
      case ParameterType::integer:
        if (json.is_number_integer()) return Value(json.get<std::int64_t>());
        if (json.is_number_float() && std::abs(json.get<double>()) <= 9007199254740992.0 &&
            std::trunc(json.get<double>()) == json.get<double>()) {
          return Value(static_cast<std::int64_t>(json.get<double>()));
        }
        break;
      case ParameterType::real:
        if (json.is_number()) return Value(json.get<double>());
        break;
      case ParameterType::boolean:
        if (json.is_boolean()) return Value(json.get<bool>());
        break;
      case ParameterType::ordinal:
      case ParameterType::categorical:
        if (json.is_boolean()) return Value(json.get<bool>());
        if (json.is_number_integer()) return Value(json.get<std::int64_t>());
        if (json.is_number_float()) return Value(json.get<double>());
        if (json.is_string()) return Value(json.get<std::string>());
        break;
    }
    return invalid_input(fmt::format(
        "{}: parameter \"{}\": the value {} at its target is not of its type; correct the type, or "
        "the value",
        where(parameter.line), parameter.name, json.dump()));
  }

  [[nodiscard]] Expected<void> add_constraints() {
    const auto names = names_so_far();
    for (const ConstraintSpec& constraint : spec_.constraints) {
      SLURMTUNE_TRY(auto expression,
                    Expression::compile(constraint.expression, where(constraint.line)));
      SLURMTUNE_CHECK(expression.check_names(names));
      space_.constraints_.push_back(std::move(expression));
    }
    return {};
  }

  // Only whether they can be read: which metrics there are, the trial decides.
  [[nodiscard]] Expected<void> check_objective() const {
    SLURMTUNE_CHECK(Expression::compile(spec_.objective.metric, where(spec_.objective.line)));
    for (const ConstraintSpec& limit : spec_.objective.subject_to) {
      SLURMTUNE_CHECK(Expression::compile(limit.expression, where(limit.line)));
    }
    return {};
  }

  void set_baseline() {
    auto variables = space_.constants();
    for (const Parameter& parameter : space_.parameters_) {
      if (parameter.when && !parameter.when->holds(variables).value_or(false)) continue;
      const Value& value = space_.defaults_.at(parameter.name);
      space_.see(parameter.name, value, variables);
      space_.baseline_.values.emplace(parameter.name, value);
    }
  }

  const StudySpec& spec_;
  Space space_;
};

Expected<Space> make_space(const StudySpec& spec) { return SpaceBuilder(spec).build(); }

}  // namespace slurmtune
