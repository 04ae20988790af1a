// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <exception>
#include <regex>

#include <fmt/format.h>
#include <toml++/toml.h>

#include "slurmtune/base/embedded.hpp"
#include "slurmtune/record/name_table.hpp"
#include "slurmtune/runner/judge/failure_rules.hpp"

namespace slurmtune {

namespace {

constexpr std::string_view rule_file = "src/slurmtune/runner/judge/failure-rules.toml";

constexpr NameTable<RuleScope, 5> scopes{
    {"any", "before_first_step", "no_rank_failed", "exit_2", "memory_short"}};
constexpr NameTable<RuleKind, 3> kinds{{"cause", "consequence", "system"}};
constexpr std::array<std::string_view, 5> known_keys{"name", "outcome", "when", "kind",
                                                     "expression"};

/// Reads the keys of one [[rule]]; the first problem is kept.
class RuleReader {
 public:
  RuleReader(const toml::table& table, std::string_view where)
      : table_(table), where_(where), line_(table.source().begin.line) {}

  std::string text(const char* key) {
    const auto value = table_[key].value<std::string>();
    if (!value) fail(fmt::format("a rule lacks its {}", key));
    return value.value_or("");
  }

  template <class Table>
  auto word(const char* key, const Table& names, std::string_view absent) {
    const std::string value = table_[key].value_or(std::string(absent));
    const auto found = names.named(value);
    if (!found) fail(fmt::format("{} = \"{}\" is not known", key, value));
    return *(found ? found : names.named(absent));
  }

  void check_keys() {
    for (const auto& [key, value] : table_) {
      if (std::ranges::find(known_keys, key.str()) != known_keys.end()) continue;
      fail(fmt::format("a rule has no key \"{}\"", key.str()));
    }
  }

  void fail(const std::string& what) {
    if (problem_.empty()) problem_ = fmt::format("{}:{}: {}", where_, line_, what);
  }

  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  const toml::table& table_;
  std::string_view where_;
  toml::source_index line_;
  std::string problem_;
};

Expected<FailureRule> read_rule(const toml::table& table, std::string_view where) {
  RuleReader reader(table, where);
  reader.check_keys();
  FailureRule rule;
  rule.name = reader.text("name");
  const std::string outcome = reader.text("outcome");
  rule.expression = reader.text("expression");
  rule.scope = reader.word("when", scopes, "any");
  rule.kind = reader.word("kind", kinds, "cause");
  const auto named = outcome_named(outcome);
  if (!named || *named == Outcome::ok) {
    reader.fail(fmt::format("outcome = \"{}\" is no failure's", outcome));
  }
  rule.outcome = named.value_or(Outcome::crashed);
  try {
    const std::regex compiled(rule.expression, std::regex::ECMAScript);
  } catch (const std::regex_error& error) {
    reader.fail(fmt::format("the expression of \"{}\": {}", rule.name, error.what()));
  }
  if (!reader.problem().empty()) return invalid_input(reader.problem());
  return rule;
}

Expected<std::vector<FailureRule>> read_rules(const toml::table& root, std::string_view where) {
  std::vector<FailureRule> rules;
  const toml::array* tables = root["rule"].as_array();
  if (tables == nullptr || root.size() != 1 || !tables->is_array_of_tables()) {
    return invalid_input(fmt::format("{}:1: sections [[rule]], and nothing else, go here", where));
  }
  for (const toml::node& node : *tables) {
    SLURMTUNE_TRY(FailureRule rule, read_rule(*node.as_table(), where));
    if (std::ranges::find(rules, rule.name, &FailureRule::name) != rules.end()) {
      return invalid_input(fmt::format("{}:{}: a second rule has the name \"{}\"", where,
                                       node.source().begin.line, rule.name));
    }
    rules.push_back(std::move(rule));
  }
  return rules;
}

}  // namespace

Expected<std::vector<FailureRule>> parse_failure_rules(std::string_view text,
                                                       std::string_view where) {
  try {
    const toml::table root = toml::parse(text, where);
    return read_rules(root, where);
  } catch (const toml::parse_error& error) {
    return invalid_input(fmt::format("{}:{}: this is not TOML: {}", where,
                                     error.source().begin.line, error.description()));
  } catch (const std::exception& error) {
    return invalid_input(fmt::format("{}:1: this is not TOML: {}", where, error.what()));
  }
}

std::span<const FailureRule> failure_rules() {
  static const std::vector<FailureRule> rules = [] {
    const auto text = embedded_file(rule_file);
    SLURMTUNE_ASSERT(text.has_value());
    auto parsed = parse_failure_rules(*text, rule_file);
    // What is embedded was tested (failure_rules_test.cpp).
    SLURMTUNE_ASSERT(parsed.has_value());
    return *std::move(parsed);
  }();
  return rules;
}

}  // namespace slurmtune
