// SPDX-License-Identifier: MIT
#include "slurmtune/space/expression.hpp"

#include <map>
#include <string>

#include "tests/support/catch.hpp"

using namespace slurmtune;

namespace {

const std::map<std::string, double> variables{
    {"zero_stage", 1.0},
    {"micro_batch", 3.0},
    {"optimizer", expression_value(std::string("adam"))},
    {"largest", 9007199254740991.0},
};

double value_of(const std::string& text) {
  const auto expression = Expression::compile(text, "study.toml:4");
  INFO((expression ? text : expression.error().message));
  REQUIRE(expression.has_value());
  const auto result = expression->evaluate(variables);
  REQUIRE(result.has_value());
  return *result;
}

std::string error_of(const std::string& text) {
  const auto expression = Expression::compile(text, "study.toml:4");
  if (!expression) return expression.error().message;
  const auto result = expression->evaluate(variables);
  return result ? "accepted" : result.error().message;
}

}  // namespace

TEST_CASE("Expression: operators and functions", "[space]") {
  CHECK(value_of("7 % micro_batch") == 1.0);
  CHECK(value_of("mod(7, micro_batch)") == 1.0);
  CHECK(value_of("2 + 7 % 4 * 2") == 8.0);
  CHECK(value_of("zero_stage == 1 && micro_batch != 4") == 1.0);
  CHECK(value_of("zero_stage > 1 || micro_batch <= 2") == 0.0);
  CHECK(value_of("!(zero_stage == 1)") == 0.0);
  CHECK(value_of("zero_stage >= 1 ? 5 : 6") == 5.0);
  CHECK(value_of("2 ^ 3 + min(4, 5) - floor(7 / 2)") == 9.0);
  CHECK(value_of("true && !false") == 1.0);
  CHECK(value_of("1e9 == 1000000000") == 1.0);
}

TEST_CASE("Expression: integers are exact up to 2^53", "[space]") {
  CHECK(value_of("largest % 2") == 1.0);
  CHECK(value_of("largest - 1 == largest") == 0.0);
  CHECK(expression_value(std::int64_t{9007199254740991}) == 9007199254740991.0);
}

TEST_CASE("Expression: texts are compared for equality only", "[space]") {
  CHECK(value_of("optimizer == \"adam\"") == 1.0);
  CHECK(value_of("\"sgd\" != optimizer") == 1.0);
  CHECK(value_of("optimizer == \"sgd\"") == 0.0);
  CHECK(value_of("optimizer == \"a == b\"") == 0.0);
  CHECK(error_of("optimizer < \"adam\"") ==
        "study.toml:4: the expression \"optimizer < \"adam\"\": a text can only be compared; write "
        "== or != beside it");
  CHECK(error_of("optimizer == \"adam").find("not closed") != std::string::npos);
}

TEST_CASE("Expression: what cannot be read or evaluated says where and what to write", "[space]") {
  CHECK(error_of("zero_stage = 1").find("write == to compare") != std::string::npos);
  CHECK(error_of("zero_stge == 1") ==
        "study.toml:4: the expression \"zero_stge == 1\": unknown name \"zero_stge\"; did you mean "
        "\"zero_stage\"?");
  CHECK(error_of("xyz == 1").find("known are largest, micro_batch") != std::string::npos);
  CHECK(error_of("1 / (zero_stage - 1)").find("not a finite number") != std::string::npos);
  CHECK(error_of("micro_batch % 0").find("not a finite number") != std::string::npos);
  CHECK(error_of("1, 2").find("more than one result") != std::string::npos);
  for (const char* broken : {"", "(1", "1 +", "a[1]", "foo(3)", "1 2", "x'", "sin(1); 3"}) {
    INFO(broken);
    const std::string message = error_of(broken);
    CHECK(message.starts_with("study.toml:4: the expression \""));
    CHECK(message.find("; ") != std::string::npos);
  }
  CHECK(error_of(std::string(5000, '(')).find("more than 4096 characters") != std::string::npos);
  CHECK(error_of(std::string(4000, '(')).starts_with("study.toml:4: "));
}

TEST_CASE("Expression: names its variables, and checks them", "[space]") {
  const auto expression = Expression::compile("min(b, 2) * a + b", "study.toml:4");
  REQUIRE(expression.has_value());
  CHECK(expression->variables() == std::vector<std::string>{"a", "b"});
  CHECK(expression->check_names({"a", "b", "c"}).has_value());
  CHECK_FALSE(expression->check_names({"a"}).has_value());
  CHECK(is_reserved_in_expressions("min"));
  CHECK(is_reserved_in_expressions("true"));
  CHECK_FALSE(is_reserved_in_expressions("bucket"));
}
