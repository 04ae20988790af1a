// SPDX-License-Identifier: MIT
#include "slurmtune/execute/sbatch_directives.hpp"

#include "tests/support/catch.hpp"

using namespace slurmtune;

TEST_CASE("read_directives: those before the first command count", "[execute]") {
  const auto directives = read_directives(
      "#!/bin/bash\n"
      "# a comment\n"
      "#SBATCH --nodes=2 --exclusive # and a remark\n"
      "\n"
      "#SBATCH --comment=\"two words\" --account='m 1'\n"
      "#SBATCH\n"
      "date\n"
      "#SBATCH --nodes=9\n");
  REQUIRE(directives);
  CHECK(*directives ==
        std::vector<SbatchDirective>{
            {"nodes", "2"}, {"exclusive", ""}, {"comment", "two words"}, {"account", "m 1"}});
}

TEST_CASE("read_directives: what it would misread is refused", "[execute]") {
  CHECK_FALSE(read_directives("#SBATCH -N 2\n"));
  CHECK_FALSE(read_directives("#SBATCH --comment=\"open\n"));
}

TEST_CASE("directive_value: the last one counts", "[execute]") {
  const std::vector<SbatchDirective> directives{{"time", "1"}, {"qos", "a"}, {"time", "2"}};
  CHECK(directive_value(directives, "time") == "2");
  CHECK_FALSE(directive_value(directives, "nodes"));
}

TEST_CASE("render_directive: read_directives gives back what was rendered", "[execute]") {
  for (const SbatchDirective& directive :
       {SbatchDirective{"exclusive", ""}, SbatchDirective{"gres", "gpu:a100:4"},
        SbatchDirective{"output", "/a b/%A_%a.out"}, SbatchDirective{"constraint", "a&b|c"}}) {
    const auto line = render_directive(directive);
    REQUIRE(line);
    const auto read = read_directives(*line + "\n");
    REQUIRE(read);
    CHECK(*read == std::vector{directive});
  }
}

TEST_CASE("parse_site_option: what cannot stand in a job script is refused", "[execute]") {
  CHECK(*parse_site_option("--gpus-per-node=4") == SbatchDirective{"gpus-per-node", "4"});
  CHECK(*parse_site_option("--comment=a=b") == SbatchDirective{"comment", "a=b"});
  for (const char* option : {"-N2", "gres=gpu:1", "--", "--gres =1", "--comment=a\nb",
                             "--comment=\"a\"", "--comment=a#b", "--comment=a\\b"}) {
    const auto parsed = parse_site_option(option);
    INFO(option);
    REQUIRE_FALSE(parsed);
    CHECK(parsed.error().kind == ErrorKind::invalid_input);
  }
  CHECK_FALSE(parse_site_option("--arra=0-3"));  // sbatch would take it for --array
  const auto ours = parse_site_option("--array=0-3");
  REQUIRE_FALSE(ours);
  CHECK(ours.error().message ==
        "sbatch option --array is set by slurmtune for each job; take it out of the options");
}

TEST_CASE("parse_walltime: every form of sbatch", "[execute]") {
  using std::chrono::seconds;
  CHECK(parse_walltime("30") == seconds(1800));
  CHECK(parse_walltime("30:15") == seconds(1815));
  CHECK(parse_walltime("01:02:03") == seconds(3723));
  CHECK(parse_walltime("2-3") == seconds(51 * 3600));
  CHECK(parse_walltime("2-3:4") == seconds(51 * 3600 + 240));
  CHECK(parse_walltime("2-03:04:05") == seconds(51 * 3600 + 245));
  for (const char* text : {"", "1:2:3:4", "x", "1-", "-1", "UNLIMITED"}) {
    INFO(text);
    CHECK_FALSE(parse_walltime(text));
  }
}

TEST_CASE("format_walltime: parse_walltime gives it back", "[execute]") {
  CHECK(format_walltime(std::chrono::seconds(1800)) == "00:30:00");
  for (const int s : {0, 59, 3'600, 86'399, 360'001}) {
    CHECK(parse_walltime(format_walltime(std::chrono::seconds(s))) == std::chrono::seconds(s));
  }
}

TEST_CASE("fill_output_pattern: Slurm's placeholders", "[execute]") {
  const OutputNames names{.job = "12", .task = "3", .name = "st"};
  CHECK(fill_output_pattern("/a/%x-%A_%a.%j%%.out%", names) == "/a/st-12_3.12%.out%");
  CHECK(fill_output_pattern("%N", names) == "%N");
}
