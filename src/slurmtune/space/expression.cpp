// SPDX-License-Identifier: MIT
#include "slurmtune/space/expression.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <optional>

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <muParser.h>

#include "slurmtune/base/hash.hpp"
#include "slurmtune/base/units.hpp"

namespace slurmtune {

namespace {

constexpr std::size_t text_max = 4096;

// std::fmod, which is slow, and the same for whole numbers.
double remainder_of(double a, double b) {
  constexpr double exact = 9007199254740992.0;  // 2^53
  if (a >= 0.0 && a < exact && b >= 1.0 && b < exact) {
    const auto whole_a = static_cast<std::int64_t>(a);
    const auto whole_b = static_cast<std::int64_t>(b);
    if (static_cast<double>(whole_a) == a && static_cast<double>(whole_b) == b) {
      return static_cast<double>(whole_a % whole_b);
    }
  }
  return std::fmod(a, b);
}
double logical_not(double a) { return a == 0.0 ? 1.0 : 0.0; }
double floor_of(double a) { return std::floor(a); }
double ceil_of(double a) { return std::ceil(a); }
double round_of(double a) { return std::round(a); }

// A parser that knows our functions and constants, and no variable. To copy it is less work than to
// make it.
mu::Parser make_parser() {
  mu::Parser parser;
  parser.DefineOprt("%", remainder_of, mu::prMUL_DIV, mu::oaLEFT);
  parser.DefineInfixOprt("!", logical_not);
  parser.DefineFun("mod", remainder_of);
  parser.DefineFun("floor", floor_of);
  parser.DefineFun("ceil", ceil_of);
  parser.DefineFun("round", round_of);
  parser.DefineConst("true", 1.0);
  parser.DefineConst("false", 0.0);
  return parser;
}

const mu::Parser& prototype() {
  static const mu::Parser parser = make_parser();
  return parser;
}

// A number between 2^52 and 2^53, negative, exact in a double, that only an equal text has (but for
// a chance of 2^-52).
double text_value(std::string_view text) {
  const std::string digits = sha256_hex(text).substr(0, 13);
  std::uint64_t bits = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), bits, 16);
  return -static_cast<double>((std::uint64_t{1} << 52U) + bits);
}

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

bool is_equality(std::string_view two) { return two == "==" || two == "!="; }

/// The text as muParser can read it: texts in quotes have become constants.
struct Prepared {
  std::string text;
  std::vector<std::string> constants;  ///< contents of the texts, by number
};

std::string constant_name(std::size_t number) { return fmt::format("text_{}_", number); }

// The two characters before `at` and from `at`, without white space.
std::string two_before(std::string_view text, std::size_t at) {
  while (at > 0 && is_space(text[at - 1])) --at;
  return at >= 2 ? std::string(text.substr(at - 2, 2)) : std::string();
}
std::string two_after(std::string_view text, std::size_t at) {
  while (at < text.size() && is_space(text[at])) ++at;
  return std::string(text.substr(at, 2));
}

/// Errors: what is wrong, and what to write.
Expected<Prepared> prepare(std::string_view text) {
  Prepared prepared;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '"') {
      const auto end = text.find('"', at + 1);
      if (end == std::string_view::npos) {
        return invalid_input("a text is not closed; write the second quote");
      }
      if (!is_equality(two_before(text, at)) && !is_equality(two_after(text, end + 1))) {
        return invalid_input("a text can only be compared; write == or != beside it");
      }
      prepared.text += constant_name(prepared.constants.size());
      prepared.constants.emplace_back(text.substr(at + 1, end - at - 1));
      at = end;
      continue;
    }
    const std::string_view two = text.substr(at, 2);
    if (is_equality(two) || two == "<=" || two == ">=") {
      prepared.text += two;
      ++at;
      continue;
    }
    if (c == '=') return invalid_input("= would assign; write == to compare");
    prepared.text += is_space(c) ? ' ' : c;
  }
  return prepared;
}

ExpressionStep step_of(Operation operation, std::size_t arity) {
  return {.operation = operation, .arity = arity};
}

ExpressionStep number_step(double number) {
  return {.operation = Operation::number, .number = number};
}

// Codes 0 to 12 of the library, in its order.
constexpr std::array<Operation, 13> binary_operations{
    Operation::less_equal, Operation::greater_equal, Operation::not_equal, Operation::equal,
    Operation::less,       Operation::greater,       Operation::add,       Operation::subtract,
    Operation::multiply,   Operation::divide,        Operation::power,     Operation::logical_and,
    Operation::logical_or};

/// A function that the bytecode calls; no operation if it takes more than three values.
ExpressionStep call_step(const mu::SToken& token) {
  const auto function = token.Fun.cb;
  const int count = token.Fun.argc;
  ExpressionStep step = step_of(Operation::call, static_cast<std::size_t>(std::abs(count)));
  // Identity only, never called through this pointer.
  step.function_id = reinterpret_cast<const void*>(function._pRawFun);  // NOLINT(*reinterpret-cast)
  if (step.function_id == reinterpret_cast<const void*>(&remainder_of)) {  // NOLINT(*reinterpret*)
    step.operation = Operation::remainder;
  } else if (step.function_id == reinterpret_cast<const void*>(&logical_not)) {  // NOLINT(*rein*)
    step.operation = Operation::logical_not;
  } else if (count < 0) {
    step.function = [function, count](const double* values) {
      return function.call_multfun(values, -count);
    };
  } else if (count == 1) {
    step.function = [function](const double* values) { return function.call_fun<1>(values[0]); };
  } else if (count == 2) {
    step.function = [function](const double* values) {
      return function.call_fun<2>(values[0], values[1]);
    };
  }
  return step;
}

/// What one code of the library makes. False if it is none that we know.
bool add_steps(const mu::SToken& token, const std::vector<double>& slots,
               std::vector<ExpressionStep>& steps) {
  const auto add_variable = [&] {
    ExpressionStep step = step_of(Operation::variable, 0);
    step.variable = static_cast<std::size_t>(token.Val.ptr - slots.data());
    steps.push_back(std::move(step));
  };
  const auto add_product = [&](std::size_t factors) {
    add_variable();
    for (std::size_t i = 1; i < factors; ++i) {
      add_variable();
      steps.push_back(step_of(Operation::multiply, 2));
    }
  };
  switch (token.Cmd) {
    case mu::cmVAR: add_variable(); return true;
    case mu::cmVAL: steps.push_back(number_step(token.Val.data2)); return true;
    case mu::cmVARPOW2: add_product(2); return true;
    case mu::cmVARPOW3: add_product(3); return true;
    case mu::cmVARPOW4: add_product(4); return true;
    case mu::cmVARMUL:
      add_variable();
      steps.push_back(number_step(token.Val.data));
      steps.push_back(step_of(Operation::multiply, 2));
      steps.push_back(number_step(token.Val.data2));
      steps.push_back(step_of(Operation::add, 2));
      return true;
    case mu::cmIF:
    case mu::cmELSE: return true;  // both branches are on the stack when the choice is made
    case mu::cmENDIF: steps.push_back(step_of(Operation::select, 3)); return true;
    case mu::cmFUNC:
      steps.push_back(call_step(token));
      return steps.back().operation != Operation::call || steps.back().function != nullptr;
    default: break;
  }
  if (token.Cmd < 0 || token.Cmd >= static_cast<int>(binary_operations.size())) return false;
  steps.push_back(step_of(binary_operations.at(static_cast<std::size_t>(token.Cmd)), 2));
  return true;
}

/// What the library has compiled; empty if it has codes that we do not know.
std::vector<ExpressionStep> steps_of(const mu::Parser& parser, const std::vector<double>& slots) {
  std::vector<ExpressionStep> steps;
  for (const mu::SToken* token = parser.GetByteCode().GetBase(); token->Cmd != mu::cmEND; ++token) {
    if (!add_steps(*token, slots, steps)) return {};
  }
  return steps;
}

}  // namespace

struct Expression::Compiled {
  std::string text;
  std::string where;
  std::vector<std::string> names;  // sorted
  std::vector<double> slots;       // one a name; the parser holds their addresses
  mu::Parser parser = prototype();

  [[nodiscard]] tl::unexpected<Error> fail(std::string_view what) const {
    return invalid_input(fmt::format("{}: the expression \"{}\": {}", where, text, what));
  }

  [[nodiscard]] tl::unexpected<Error> fail_unknown(const std::string& name,
                                                   const std::vector<std::string>& known) const {
    const std::string_view nearest = nearest_word(name, known);
    if (!nearest.empty()) {
      return fail(fmt::format("unknown name \"{}\"; did you mean \"{}\"?", name, nearest));
    }
    return fail(fmt::format("unknown name \"{}\"; known are {}", name, fmt::join(known, ", ")));
  }

  // Reads the text, finds its names and gives each a slot.
  Expected<void> compile() {
    auto prepared = prepare(text);
    if (!prepared) return fail(prepared.error().message);
    try {
      for (std::size_t i = 0; i < prepared->constants.size(); ++i) {
        parser.DefineConst(constant_name(i), text_value(prepared->constants[i]));
      }
      parser.SetExpr(prepared->text);
      for (const auto& [name, unused] : parser.GetUsedVar()) names.push_back(name);
      std::ranges::sort(names);
      slots.assign(names.size(), 1.0);
      for (std::size_t i = 0; i < names.size(); ++i) parser.DefineVar(names[i], &slots[i]);
      int results = 0;
      parser.Eval(results);
      if (results != 1) return fail("it has more than one result; write && between conditions");
    } catch (const mu::ParserError& error) {
      return fail(fmt::format("{}; correct it", error.GetMsg()));
    }
    return {};
  }
};

Expression::Expression(std::shared_ptr<Compiled> compiled) : compiled_(std::move(compiled)) {}

Expected<Expression> Expression::compile(std::string_view text, std::string_view where) {
  auto compiled = std::make_shared<Compiled>();
  compiled->text = text;
  compiled->where = where;
  if (text.size() > text_max) {
    compiled->text = fmt::format("{}…", text.substr(0, 40));
    return compiled->fail(fmt::format("it has more than {} characters; split it", text_max));
  }
  SLURMTUNE_CHECK(compiled->compile());
  return Expression(std::move(compiled));
}

Expected<double> Expression::evaluate(const std::map<std::string, double>& variables) const {
  for (std::size_t i = 0; i < compiled_->names.size(); ++i) {
    const auto found = variables.find(compiled_->names[i]);
    if (found == variables.end()) {
      std::vector<std::string> known;
      known.reserve(variables.size());
      for (const auto& [name, unused] : variables) known.push_back(name);
      return compiled_->fail_unknown(compiled_->names[i], known);
    }
    compiled_->slots[i] = found->second;
  }
  try {
    const double result = compiled_->parser.Eval();
    if (std::isfinite(result)) return result;
  } catch (const mu::ParserError& error) {
    return compiled_->fail(fmt::format("{}; correct it", error.GetMsg()));
  }
  return compiled_->fail("the result is not a finite number; see whether it divides by zero");
}

Expected<bool> Expression::holds(const std::map<std::string, double>& variables) const {
  SLURMTUNE_TRY(const double result, evaluate(variables));
  return result != 0.0;
}

Expected<void> Expression::check_names(const std::vector<std::string>& known) const {
  for (const std::string& name : compiled_->names) {
    if (std::ranges::find(known, name) == known.end()) {
      return compiled_->fail_unknown(name, known);
    }
  }
  return {};
}

std::vector<ExpressionStep> Expression::steps() const {
  auto steps = steps_of(compiled_->parser, compiled_->slots);
  if (!steps.empty()) return steps;
  // A code that this version of the library does not have: the whole is one function.
  for (std::size_t i = 0; i < compiled_->slots.size(); ++i) {
    steps.push_back({.operation = Operation::variable, .variable = i});
  }
  steps.push_back({.operation = Operation::call,
                   .arity = compiled_->slots.size(),
                   .function =
                       [compiled = compiled_.get()](const double* values) {
                         std::copy_n(values, compiled->slots.size(), compiled->slots.begin());
                         return compiled->parser.Eval();
                       },
                   .function_id = compiled_.get()});
  return steps;
}

const std::vector<std::string>& Expression::variables() const { return compiled_->names; }
const std::string& Expression::text() const { return compiled_->text; }
const std::string& Expression::where() const { return compiled_->where; }

double expression_value(const Value& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? 1.0 : 0.0;
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    return static_cast<double>(*integer);
  }
  if (const auto* real = std::get_if<double>(&value)) return *real;
  return text_value(std::get<std::string>(value));
}

bool is_reserved_in_expressions(std::string_view name) {
  const std::string text(name);
  return prototype().GetFunDef().contains(text) || prototype().GetConst().contains(text) ||
         name.starts_with("text_");
}

}  // namespace slurmtune
