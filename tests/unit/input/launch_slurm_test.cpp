// SPDX-License-Identifier: MIT
#include "slurmtune/input/launch_slurm.hpp"

#include "tests/support/catch.hpp"

using namespace slurmtune;
using Catch::Matchers::Contains;

namespace {

std::string refusal_of(const std::vector<std::string>& assignments) {
  const auto lines = slurm_lines(assignments);
  return lines ? "accepted" : lines.error().message;
}

}  // namespace

TEST_CASE("slurm_lines: texts are quoted, numbers are not", "[input]") {
  CHECK(*slurm_lines({}) == "");
  CHECK(*slurm_lines({"account=abc@h100", "lanes=2", "exclusive=false", "constraint=gpu&hbm80g",
                      "min_task_minutes=0.5"}) ==
        "account = \"abc@h100\"\nlanes = 2\nexclusive = false\nconstraint = \"gpu&hbm80g\"\n"
        "min_task_minutes = 0.5\n");
}

TEST_CASE("slurm_lines: what is no key, or no value of one line, is refused", "[input]") {
  CHECK(refusal_of({"acount=m1"}) ==
        "--slurm acount=m1: \"acount\" is no key of [slurm]; did you mean \"account\"?");
  CHECK_THAT(refusal_of({"account"}), Contains("has no value; write KEY=VALUE"));
  CHECK_THAT(refusal_of({"account=a", "account=b"}), Contains("given twice"));
  CHECK_THAT(refusal_of({"site=lumi-g"}), Contains("write --site instead"));
  CHECK_THAT(refusal_of({"submit=graph"}), Contains("write --submit instead"));
  CHECK_THAT(refusal_of({"exclude=n7"}), Contains("cannot be given so"));
  CHECK_THAT(refusal_of({"account=a\"\nlanes = 3"}), Contains("cannot be given so"));
  CHECK_THAT(refusal_of({"lanes=2\nqos = 1"}), Contains("cannot be given so"));
}
