// SPDX-License-Identifier: MIT
#include "slurmtune/space/stage_template.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "slurmtune/base/embedded.hpp"
#include "slurmtune/base/units.hpp"
#include "slurmtune/space/json_path.hpp"

namespace slurmtune {

namespace {

constexpr std::array<std::string_view, 8> knob_keys{"set",   "choices", "when", "because",
                                                    "limit", "only",    "with", "eases"};

std::optional<Value> plain_value(const Json& json) {
  if (json.is_boolean()) return Value(json.get<bool>());
  if (json.is_number_integer()) return Value(json.get<std::int64_t>());
  if (json.is_number()) return Value(json.get<double>());
  if (json.is_string()) return Value(json.get<std::string>());
  return std::nullopt;
}

tl::unexpected<Error> refuse(std::string_view where, std::string_view knob, std::string_view what) {
  return invalid_input(fmt::format("{}: {}: {}", where, knob, what));
}

Expected<std::string> text_of(const Json& json, const char* key, std::string_view where,
                              std::string_view knob) {
  if (!json.contains(key)) return std::string();
  if (json.at(key).is_string()) return json.at(key).get<std::string>();
  return refuse(where, knob, fmt::format("\"{}\" must be a text", key));
}

/// Plain values of a list; a null is nothing written, where that is allowed.
enum class Nulls { allowed, refused };

Expected<std::vector<Choice>> choices_of(const Json& list, Nulls nulls, std::string_view where,
                                         std::string_view knob) {
  std::vector<Choice> choices;
  for (const Json& item : list) {
    auto value = plain_value(item);
    if (!value && !(item.is_null() && nulls == Nulls::allowed)) {
      return refuse(where, knob,
                    fmt::format("{} is neither a number, a text, true nor false; write a value, or "
                                "a list of values to choose from",
                                item.dump()));
    }
    choices.push_back(std::move(value));
  }
  if (choices.empty()) {
    return refuse(where, knob, "an empty list leaves nothing to choose; write a value");
  }
  return choices;
}

Expected<void> read_conditions(const Json& json, Knob& knob, std::string_view where) {
  SLURMTUNE_TRY(knob.when, text_of(json, "when", where, knob.name));
  SLURMTUNE_TRY(knob.because, text_of(json, "because", where, knob.name));
  SLURMTUNE_TRY(knob.limit, text_of(json, "limit", where, knob.name));
  SLURMTUNE_TRY(const std::string eases, text_of(json, "eases", where, knob.name));
  if (!eases.empty() && eases != "memory") {
    return refuse(where, knob.name, "\"eases\" must be \"memory\"");
  }
  knob.eases_memory = eases == "memory";
  if (json.contains("ask")) knob.ask = json.at("ask") == true;
  if (json.contains("only")) {
    for (const auto& [choice, condition] : json.at("only").items()) {
      if (!condition.is_string()) return refuse(where, knob.name, "\"only\" holds expressions");
      knob.only.emplace(choice, condition.get<std::string>());
    }
  }
  if (!json.contains("with")) return {};
  for (const auto& [other, values] : json.at("with").items()) {
    SLURMTUNE_TRY(const auto choices, choices_of(values, Nulls::refused, where, knob.name));
    for (const Choice& choice : choices) knob.with[other].push_back(*choice);
  }
  return {};
}

Expected<Knob> read_knob(const Json& json, std::string_view where) {
  Knob knob;
  if (!json.is_object() || !json.contains("set") || !json.at("set").is_string()) {
    return invalid_input(fmt::format("{}: a knob must be an object with \"set\": {}", where,
                                     json.dump().substr(0, 60)));
  }
  knob.name = json.at("set").get<std::string>();
  if (!is_knob_name(knob.name)) {
    return refuse(where, knob.name,
                  "write a dotted path of the ds_config, json:KEY, env:NAME or arg:--flag");
  }
  for (const auto& [key, value] : json.items()) {
    if (key == "ask" || std::ranges::find(knob_keys, key) != knob_keys.end()) continue;
    const std::string_view nearest = nearest_word(key, knob_keys);
    return refuse(
        where, knob.name,
        fmt::format("unknown key \"{}\"{}", key,
                    nearest.empty() ? "" : fmt::format("; did you mean \"{}\"?", nearest)));
  }
  if (!json.contains("choices") || !json.at("choices").is_array()) {
    return refuse(where, knob.name,
                  "\"choices\" must be a list, what DeepSpeed does by itself first");
  }
  SLURMTUNE_TRY(knob.choices, choices_of(json.at("choices"), Nulls::allowed, where, knob.name));
  SLURMTUNE_CHECK(read_conditions(json, knob, where));
  return knob;
}

/// Text of a command or of the environment as the value that a template would have.
Value value_of_text(const std::string& text) {
  std::int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, problem] = std::from_chars(text.data(), end, number);
  if (problem == std::errc{} && stopped == end) return number;
  if (text == "true" || text == "True") return true;
  if (text == "false" || text == "False") return false;
  return text;
}

/// The user's flag: its value, or true where it has none.
std::optional<Json> user_flag(const std::vector<std::string>& command, const std::string& flag) {
  std::optional<Json> found;
  for (std::size_t i = 0; i < command.size(); ++i) {
    std::string text;
    if (command[i] == flag) {
      const bool has_value = i + 1 < command.size() && !command[i + 1].starts_with("--");
      text = has_value ? command[i + 1] : "true";
    } else if (command[i].starts_with(flag + "=")) {
      text = command[i].substr(flag.size() + 1);
    } else {
      continue;
    }
    found = std::visit([](const auto& held) { return Json(held); }, value_of_text(text));
  }
  return found;
}

/// What the user has where the knob goes: null if nothing.
Json users_word(const std::string& name, const StudySpec& spec, const Json& config) {
  const std::string target = knob_target(name);
  const std::string what = target.substr(target.find(':') + 1);
  if (target.starts_with("env:")) {
    const auto found = spec.trial.env.find(what);
    if (found == spec.trial.env.end()) return nullptr;
    return std::visit([](const auto& held) { return Json(held); }, value_of_text(found->second));
  }
  if (target.starts_with("arg:")) return user_flag(spec.trial.command, what).value_or(nullptr);
  const Json* value = json_at(config, what);
  return value == nullptr ? Json() : *value;
}

/// Takes the spelling of the template for an equal value, so that equal values have equal ids, and
/// integers that are written as 5e8 for integers.
Value spelled_like(const std::vector<Choice>& choices, Value value) {
  for (const Choice& choice : choices) {
    if (choice && is_same_value(*choice, value)) return *choice;
  }
  const auto* real = std::get_if<double>(&value);
  const bool integers = std::ranges::any_of(choices, [](const Choice& choice) {
    return choice && std::holds_alternative<std::int64_t>(*choice);
  });
  if (real != nullptr && integers && std::trunc(*real) == *real && std::abs(*real) < 9e15) {
    return static_cast<std::int64_t>(*real);
  }
  return value;
}

}  // namespace

Expected<StageTemplate> load_template(std::string_view text, std::string_view where) {
  SLURMTUNE_TRY(const Json document, parse_json(text, where));
  if (!document.is_object()) {
    return corrupt_data(fmt::format("{}: a template must be a JSON object", where));
  }
  SLURMTUNE_CHECK(check_format(document, "slurmtune.template", 1, where));
  StageTemplate loaded;
  SLURMTUNE_TRY(loaded.when, text_of(document, "when", where, "template"));
  if (!document.contains("knobs") || !document.at("knobs").is_array()) {
    return invalid_input(fmt::format("{}: \"knobs\" must be a list", where));
  }
  for (const Json& item : document.at("knobs")) {
    SLURMTUNE_TRY(Knob knob, read_knob(item, where));
    loaded.knobs.push_back(std::move(knob));
  }
  return loaded;
}

Expected<std::vector<StageTemplate>> load_templates() {
  std::vector<StageTemplate> loaded;
  for (const std::string_view file : template_files) {
    const auto text = embedded_file(file);
    SLURMTUNE_ASSERT(text);
    SLURMTUNE_TRY(StageTemplate one, load_template(*text, file));
    loaded.push_back(std::move(one));
  }
  return loaded;
}

Expected<StageTemplate> fill_template(const StageTemplate& stage_template, const StudySpec& spec) {
  if (!spec.deepspeed) return stage_template;
  const std::string& where = spec.deepspeed->config_path;
  SLURMTUNE_TRY(const Json config, parse_json(spec.deepspeed->config_json, where));
  StageTemplate filled = stage_template;
  for (Knob& knob : filled.knobs) {
    const Json word = users_word(knob.name, spec, config);
    if (word.is_null()) continue;
    if (word == "auto") {  // what Hugging Face makes of it is not what DeepSpeed would do
      if (knob.choices.front()) knob.choices.insert(knob.choices.begin(), Choice());
      continue;
    }
    knob.origin = word.is_array() ? KnobOrigin::user_list : KnobOrigin::user_value;
    const Json list = word.is_array() ? word : Json::array({word});
    SLURMTUNE_TRY(auto choices, choices_of(list, Nulls::refused, where, knob.name));
    for (Choice& choice : choices) choice = spelled_like(knob.choices, *std::move(choice));
    knob.choices = std::move(choices);
  }
  return filled;
}

bool is_knob_name(std::string_view name) {
  return name.find('.') != std::string_view::npos || name.find(':') != std::string_view::npos;
}

std::string knob_target(std::string_view name) {
  for (const std::string_view kind : {"json:", "env:", "arg:"}) {
    if (name.starts_with(kind)) return std::string(name);
  }
  return "json:" + std::string(name);
}

Configuration without_knobs(const Configuration& configuration) {
  Configuration plain = configuration;
  std::erase_if(plain.values, [](const auto& entry) { return is_knob_name(entry.first); });
  return plain;
}

bool is_same_value(const Value& a, const Value& b) {
  const auto number = [](const Value& value) -> std::optional<double> {
    if (const auto* integer = std::get_if<std::int64_t>(&value)) {
      return static_cast<double>(*integer);
    }
    if (const auto* real = std::get_if<double>(&value)) return *real;
    return std::nullopt;
  };
  const auto left = number(a);
  const auto right = number(b);
  return left && right ? *left == *right : a == b;
}

}  // namespace slurmtune
