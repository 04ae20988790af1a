// SPDX-License-Identifier: MIT
#include "slurmtune/base/shell_quote.hpp"

#include <vector>

#include "slurmtune/base/random.hpp"
#include "slurmtune/execute/process.hpp"

#include "tests/support/catch.hpp"

namespace slurmtune {

TEST_CASE("shell_quote: plain words stay as they are", "[runner]") {
  const std::vector<std::string> argv{"python3", "train.py", "--lr", "0.1", "/a/b-c_d.json"};
  CHECK(shell_quote(argv) == "python3 train.py --lr 0.1 /a/b-c_d.json");
  CHECK(shell_quote(std::string_view("")) == "''");
  CHECK(shell_quote(std::string_view("it's")) == "'it'\\''s'");
  CHECK(shell_quote(std::string_view("a=b")) == "'a=b'");
  CHECK(shell_quote(std::string_view("--a=b")) == "--a=b");
}

TEST_CASE("shell_quote: a shell reads back any words", "[runner]") {
  Random random(Seed{21});
  constexpr std::string_view letters = " \t\n'\"\\$`!*?[]{}()<>|&;#~=%-aZ0";
  std::vector<std::string> words;
  for (int i = 0; i < 200; ++i) {
    std::string word;
    for (std::uint64_t n = random.below(12); n > 0; --n)
      word += letters[random.below(letters.size())];
    words.push_back(word);
  }
  ProcessRequest request;
  request.call.argv = {"sh", "-c", "printf '%s\\0' " + shell_quote(words)};
  const auto result = run_process(request);
  REQUIRE(result.has_value());
  std::string expected;
  for (const std::string& word : words) expected += word + '\0';
  CHECK(result->out == expected);
}

}  // namespace slurmtune
