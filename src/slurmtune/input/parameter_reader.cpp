// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

#include <fmt/core.h>

#include "slurmtune/input/ds_config_keys.hpp"
#include "slurmtune/input/key_table.hpp"
#include "slurmtune/input/readers.hpp"

namespace slurmtune {

namespace {

// What the runner sets for every trial (formats.md, section 7).
constexpr std::array<std::string_view, 9> own_environment{
    "RANK",      "LOCAL_RANK",  "WORLD_SIZE",  "LOCAL_WORLD_SIZE", "LOCAL_SIZE",
    "NODE_RANK", "MASTER_ADDR", "MASTER_PORT", "PYTHONUNBUFFERED"};

// What the ZeRO stage and the batch rule write into the config.
constexpr std::array<std::string_view, 5> own_config_keys{
    "zero_optimization.stage", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps",
    "train_batch_size", "autotuning"};

// Expressions are evaluated in doubles, which hold integers exactly up to 2^53.
constexpr double exact_integer_max = 9007199254740992.0;

/// One [[parameter]] on its way.
struct Draft {
  const Node& node;
  std::string_view path;
  ParameterSpec spec;

  [[nodiscard]] tl::unexpected<Error> fail(std::string_view key, std::string_view what,
                                           std::string_view remedy) const {
    const Node* value = node.find(key);
    return fail_at(path, value != nullptr ? value->line : node.line,
                   fmt::format("parameter \"{}\": {}", spec.name, what), remedy);
  }
};

std::string_view type_word(ParameterType type) {
  constexpr std::array<std::string_view, 5> words{"int", "real", "ordinal", "categorical", "bool"};
  return words.at(static_cast<std::size_t>(type));
}

Expected<void> append_value(const Node& item, Draft& draft) {
  const ParameterType type = draft.spec.type;
  std::vector<Value>& values = draft.spec.values;
  const auto wrong = [&](std::string_view wanted) {
    return fail_at(
        draft.path, item.line,
        fmt::format("parameter \"{}\": {} is not {}", draft.spec.name, written(item), wanted),
        fmt::format("correct it, or choose another type than \"{}\"", type_word(type)));
  };
  if (type == ParameterType::integer) {
    constexpr auto most = static_cast<std::int64_t>(exact_integer_max);
    const bool beyond = item.kind == Node::Kind::integer
                            ? item.integer > most || item.integer < -most
                            : item.is_number() && std::abs(item.as_real()) > exact_integer_max;
    if (beyond) {
      return wrong("an integer within 2^53, 9007199254740992");
    }
    if (!item.is_integral()) return wrong("an integer");
    values.emplace_back(item.as_integer());
  } else if (type == ParameterType::real) {
    if (!item.is_number()) return wrong("a number");
    values.emplace_back(item.as_real());
  } else if (item.kind == Node::Kind::boolean) {
    values.emplace_back(item.boolean);
  } else if (type == ParameterType::boolean) {
    return wrong("true or false");
  } else if (item.kind == Node::Kind::string) {
    values.emplace_back(item.text);
  } else if (item.kind == Node::Kind::integer) {
    values.emplace_back(item.integer);
  } else {
    values.emplace_back(item.real);
  }
  return {};
}

// `[1, 2.5]`: an integer among reals is one of them, so that equal values have equal ids.
void unify_numbers(std::vector<Value>& values) {
  const auto is_real = [](const Value& v) { return std::holds_alternative<double>(v); };
  if (std::ranges::none_of(values, is_real)) return;
  for (Value& value : values) {
    if (const auto* integer = std::get_if<std::int64_t>(&value)) {
      value = static_cast<double>(*integer);
    }
  }
}

Expected<void> read_values(const Node& values, Draft& draft) {
  for (const Node& item : values.items) {
    SLURMTUNE_CHECK(append_value(item, draft));
  }
  unify_numbers(draft.spec.values);
  const std::set<Value> unique(draft.spec.values.begin(), draft.spec.values.end());
  if (unique.size() != draft.spec.values.size()) {
    return draft.fail("values", "a value stands there twice", "remove one of them");
  }
  const auto is_text = [](const Value& v) { return std::holds_alternative<std::string>(v); };
  const auto texts = std::ranges::count_if(unique, is_text);
  const bool mixed = texts != 0 && texts != static_cast<std::ptrdiff_t>(unique.size());
  if (draft.spec.type == ParameterType::ordinal && mixed) {
    return draft.fail("values", "strings and numbers have no order among them",
                      "write only the one or only the other, or type = \"categorical\"");
  }
  return {};
}

Expected<void> read_range(const Node& range, Draft& draft) {
  const ParameterType type = draft.spec.type;
  if (type != ParameterType::integer && type != ParameterType::real) {
    return draft.fail("range", fmt::format("type \"{}\" has no range", type_word(type)),
                      "write values = [...]");
  }
  for (const Node& bound : range.items) {
    if (std::abs(bound.as_real()) > exact_integer_max) {
      return draft.fail("range", fmt::format("the bound {} is beyond 2^53", written(bound)),
                        "write a smaller one");
    }
    if (type == ParameterType::integer && !bound.is_integral()) {
      return draft.fail("range", fmt::format("the bound {} is not an integer", written(bound)),
                        "write integers, or type = \"real\"");
    }
  }
  draft.spec.low = range.items[0].as_real();
  draft.spec.high = range.items[1].as_real();
  if (*draft.spec.low >= *draft.spec.high) {
    return draft.fail("range", "the lowest value is not below the highest",
                      "write range = [lowest, highest]");
  }
  if (draft.spec.scale == Scale::log && *draft.spec.low <= 0.0) {
    return draft.fail("range", "a logarithmic scale needs bounds above 0",
                      "raise the lowest value, or write scale = \"linear\"");
  }
  return {};
}

Expected<void> read_domain(Draft& draft) {
  const Node* values = draft.node.find("values");
  const Node* range = draft.node.find("range");
  if (values != nullptr && range != nullptr) {
    return draft.fail("values", "has both range and values", "remove one of them");
  }
  if (draft.node.find("scale") != nullptr && range == nullptr) {
    return draft.fail("scale", "scale is about a range, and there is none",
                      "remove scale, or write range = [lowest, highest]");
  }
  if (const Node* scale = draft.node.find("scale")) {
    draft.spec.scale = scale->text == "log" ? Scale::log : Scale::linear;
  }
  if (range != nullptr) return read_range(*range, draft);
  if (values != nullptr) return read_values(*values, draft);
  if (draft.spec.type != ParameterType::boolean) {
    return draft.fail(
        "name", "has neither range nor values",
        draft.spec.type == ParameterType::integer || draft.spec.type == ParameterType::real
            ? "write range = [lowest, highest] or values = [...]"
            : "write values = [...]");
  }
  draft.spec.values.emplace_back(false);
  draft.spec.values.emplace_back(true);
  return {};
}

bool is_config_path(std::string_view text) {
  while (!text.empty()) {
    const auto dot = text.find('.');
    if (!is_identifier(text.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    text.remove_prefix(dot + 1);
  }
  return false;
}

/// Whether writing one of two targets overwrites the other: they are the same, or places in a
/// config of which one holds the other.
bool do_clash(std::string_view a, std::string_view b) {
  if (a == b) return true;
  if (!a.starts_with("json:") || !b.starts_with("json:")) return false;
  if (a.size() > b.size()) std::swap(a, b);
  return b.starts_with(a) && b[a.size()] == '.';
}

/// Whether DeepSpeed would take what is written there.
Expected<void> check_config_values(std::string_view what, const Draft& draft) {
  for (const std::string_view key : {"values", "range"}) {
    const Node* values = draft.node.find(key);
    if (values == nullptr) continue;
    for (const Node& item : values->items) {
      SLURMTUNE_CHECK(check_ds_value(what, item, draft.path));
    }
  }
  if (draft.spec.type != ParameterType::boolean) return {};
  Node truth;
  truth.kind = Node::Kind::boolean;
  truth.line = draft.node.find("target")->line;
  return check_ds_value(what, truth, draft.path);
}

Expected<void> check_config_target(std::string_view what, const Node& study, const Draft& draft) {
  if (!is_config_path(what)) {
    return draft.fail("target", fmt::format("\"{}\" is not a path in a config", what),
                      "write target = \"json:zero_optimization.reduce_bucket_size\"");
  }
  if (study.find("deepspeed") == nullptr) {
    return draft.fail("target", "json: writes into the DeepSpeed config, and there is none",
                      "add a section [deepspeed], or use arg:, env: or file:");
  }
  const auto is_own = [&](std::string_view key) {
    return do_clash(draft.spec.target, fmt::format("json:{}", key));
  };
  if (std::ranges::any_of(own_config_keys, is_own)) {
    return draft.fail("target", fmt::format("\"{}\" is slurmtune's own to write", what),
                      "remove the parameter; see deepspeed.zero_stages and [batch]");
  }
  return check_config_values(what, draft);
}

Expected<void> check_target(const Node& study, const Draft& draft) {
  const std::string_view target = draft.spec.target;
  if (draft.node.find("target") == nullptr) return {};
  const auto colon = target.find(':');
  const std::string_view kind = target.substr(0, colon);
  const std::string_view what =
      colon == std::string_view::npos ? std::string_view{} : target.substr(colon + 1);
  if (kind == "json") return check_config_target(what, study, draft);
  if (kind == "arg") {
    if (what.size() > 1 && what.front() == '-' && what.find_first_of("= \t") == what.npos)
      return {};
    return draft.fail("target", fmt::format("\"{}\" is not a flag", what),
                      "write target = \"arg:--flag\"");
  }
  if (kind == "env") {
    if (what.starts_with("SLURMTUNE_") ||
        std::ranges::find(own_environment, what) != own_environment.end()) {
      return draft.fail("target", fmt::format("{} is set for every trial by slurmtune", what),
                        "use another variable");
    }
    if (is_identifier(what)) return {};
    return draft.fail("target", fmt::format("\"{}\" is not an environment variable", what),
                      "write target = \"env:NAME\"");
  }
  if (kind == "file") {
    const auto hash = what.rfind("#{");
    const bool shaped = hash != what.npos && hash > 0 && what.ends_with('}') &&
                        is_identifier(what.substr(hash + 2, what.size() - hash - 3));
    if (shaped && what.front() != '/' && what.find("..") == what.npos) return {};
    return draft.fail("target",
                      fmt::format("\"{}\" is not a file below workdir and a placeholder", what),
                      "write target = \"file:config.yaml#{name}\"");
  }
  return draft.fail("target", fmt::format("\"{}\" begins with no known kind", target),
                    "write json:PATH, arg:--flag, env:NAME or file:PATH#{placeholder}");
}

Expected<ParameterSpec> read_parameter(const Node& node, const Node& study, std::string_view path) {
  Draft draft{node, path, {}};
  draft.spec.name = text_or(node, "name", "");
  draft.spec.line = node.line;
  if (const Node* name = node.find("name")) draft.spec.line = name->line;
  if (const Node* when = node.find("when")) draft.spec.when_line = when->line;
  if (!is_identifier(draft.spec.name)) {
    return draft.fail("name", "a name is a letter, then letters, digits and underscores",
                      "write name = \"bucket\"");
  }
  const KeyRow& type_row = *study_keys().find("parameter")->table->find("type");
  draft.spec.type = static_cast<ParameterType>(word_index(type_row, text_or(node, "type", "")));
  SLURMTUNE_CHECK(read_domain(draft));
  draft.spec.role = text_or(node, "role", "");
  draft.spec.when = text_or(node, "when", "");
  draft.spec.target = text_or(node, "target", "");
  if (node.find("when") != nullptr && trimmed(draft.spec.when).empty()) {
    return draft.fail("when", "the condition is empty", "write when = \"zero_stage >= 1\"");
  }
  SLURMTUNE_CHECK(check_target(study, draft));
  return draft.spec;
}

int line_of_target(const Node& node) {
  const Node* target = node.find("target");
  return target != nullptr ? target->line : node.line;
}

/// The later of two parameters of one target would overwrite the earlier, so that configurations
/// that are told apart would be the same run.
Expected<void> check_own_target(const std::vector<ParameterSpec>& before, const Node& list,
                                const ParameterSpec& parameter, std::string_view path) {
  if (parameter.target.empty()) return {};
  const auto same = std::ranges::find_if(
      before, [&](const ParameterSpec& other) { return do_clash(other.target, parameter.target); });
  if (same == before.end()) return {};
  const auto first = static_cast<std::size_t>(same - before.begin());
  return fail_at(path, line_of_target(list.items[before.size()]),
                 fmt::format("parameter \"{}\": \"{}\" is already {} of \"{}\" (line {})",
                             parameter.name, parameter.target,
                             same->target == parameter.target
                                 ? std::string("the target")
                                 : fmt::format("written by the target \"{}\"", same->target),
                             same->name, line_of_target(list.items[first])),
                 "give it another target, or remove one of them");
}

}  // namespace

Expected<std::vector<ParameterSpec>> read_parameters(const Node& study, std::string_view path) {
  std::vector<ParameterSpec> parameters;
  const Node* list = study.find("parameter");
  if (list == nullptr) return parameters;
  for (const Node& node : list->items) {
    SLURMTUNE_TRY(ParameterSpec parameter, read_parameter(node, study, path));
    const auto same = std::ranges::find(parameters, parameter.name, &ParameterSpec::name);
    if (same != parameters.end()) {
      return fail_at(path, parameter.line,
                     fmt::format("a second parameter \"{}\" (the first is in line {})",
                                 parameter.name, same->line),
                     "give it another name");
    }
    SLURMTUNE_CHECK(check_own_target(parameters, *list, parameter, path));
    parameters.push_back(std::move(parameter));
  }
  return parameters;
}

}  // namespace slurmtune
