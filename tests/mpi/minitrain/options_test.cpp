// SPDX-License-Identifier: MIT
#include "examples/minitrain/options.hpp"

#include <string>
#include <vector>

#include "tests/support/catch.hpp"

using minitrain::FailKind;
using minitrain::Invocation;

namespace {

Invocation parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "minitrain");
  return minitrain::parse_command_line(static_cast<int>(arguments.size()), arguments.data());
}

}  // namespace

TEST_CASE("parse_command_line: reads all flags in both spellings", "[minitrain]") {
  const Invocation invocation =
      parse({"--deepspeed_config=c.json", "--steps", "7", "--layers=3", "--hidden", "32",
             "--input=8", "--sequence", "2", "--seed=5", "--memory-limit", "48MiB",
             "--activation-checkpointing", "--fail-at-step=3", "--fail-kind", "nan",
             "--fail-rank=1", "--step-delay-ms=2.5", "--step-delay-rank=1"});
  REQUIRE(!invocation.exit_code.has_value());
  const minitrain::Options& options = invocation.options;
  CHECK(options.ds_config_file == "c.json");
  CHECK(options.steps == 7);
  CHECK(options.model.layers == 3);
  CHECK(options.model.hidden == 32);
  CHECK(options.model.input == 8);
  CHECK(options.sequence == 2);
  CHECK(options.seed == 5);
  CHECK(options.memory_limit_bytes == 48ULL << 20U);
  CHECK(options.activation_checkpointing);
  REQUIRE(options.fault.has_value());
  CHECK(options.fault->step == 3);
  CHECK(options.fault->kind == FailKind::nan);
  CHECK(options.fault->rank == 1);
  CHECK(options.delay.delay_ms == 2.5);
  CHECK(options.delay.rank == 1);
}

TEST_CASE("parse_command_line: the configuration as DeepSpeed and its users give it",
          "[minitrain]") {
  CHECK(parse({"--deepspeed", "c.json"}).options.ds_config_file == "c.json");
  const Invocation both = parse({"--local_rank=1", "--deepspeed", "--deepspeed_config", "c.json"});
  CHECK(!both.exit_code.has_value());
  CHECK(both.options.ds_config_file == "c.json");
}

TEST_CASE("parse_command_line: of a flag that is given twice the last one counts", "[minitrain]") {
  const Invocation invocation = parse({"--deepspeed_config", "c.json", "--steps=3", "--steps=9"});
  CHECK(!invocation.exit_code.has_value());
  CHECK(invocation.options.steps == 9);
}

TEST_CASE("parse_command_line: wrong flags end with code 2 and say why", "[minitrain]") {
  using Arguments = std::vector<const char*>;
  const Arguments arguments = GENERATE(
      Arguments{}, Arguments{"--deepspeed_config", "c.json", "--bogus"},
      Arguments{"--deepspeed_config", "c.json", "--memory-limit", "lots"},
      Arguments{"--deepspeed_config", "c.json", "--steps", "0"},
      Arguments{"--deepspeed_config", "c.json", "--layers", "-1"},
      Arguments{"--deepspeed_config", "c.json", "--fail-at-step", "3"},
      Arguments{"--deepspeed_config", "c.json", "--fail-at-step", "3", "--fail-kind", "sulk"},
      Arguments{"--deepspeed_config", "c.json", "--fail-at-step", "3", "--fail-kind", "oom"},
      Arguments{"--deepspeed_config", "c.json", "--layers", "512", "--hidden", "16384"});
  const Invocation invocation = parse(arguments);
  CHECK(invocation.exit_code == 2);
  CHECK(invocation.text.rfind("minitrain: ", 0) == 0);
  CHECK(invocation.text.find("--help") != std::string::npos);
}

TEST_CASE("parse_command_line: help is no error", "[minitrain]") {
  const Invocation invocation = parse({"--help"});
  CHECK(invocation.exit_code == 0);
  CHECK(invocation.text.find("--fail-kind") != std::string::npos);
}
