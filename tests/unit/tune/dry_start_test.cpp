// SPDX-License-Identifier: MIT
#include "slurmtune/tune/dry_start.hpp"

#include <fstream>
#include <string>

#include "tests/support/catch.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace slurmtune;

namespace {

/// What a dry start of a script says: "accepted", or the error.
std::string dry_start(const std::string& script, std::string_view arguments,
                      std::chrono::milliseconds limit = std::chrono::seconds(20)) {
  const TemporaryDirectory place;
  const auto put = [&](const char* name, const std::string& text) {
    std::ofstream(place.path() / name) << text;
  };
  put("trial.sh", script);
  put("ds_config.json", R"({"train_micro_batch_size_per_gpu": "auto",
    "zero_optimization": {"stage": [1, 2]}})");
  put("study.toml", R"(format = 1
name = "dry"
[trial]
nodes = 2
processes_per_node = 2
command = ["bash", "trial.sh", "{ds_config}", "--mbs", "2")" +
                        std::string(arguments) + R"(]
dry_start = ["--dry-run"]
setup = ["export FROM_SETUP=yes"]
[deepspeed]
config = "ds_config.json"
arg_mappings = { train_micro_batch_size_per_gpu = "--mbs" }
)");
  StudyOptions options;
  options.submit = SubmitMode::local;
  const auto study = load_study(place.path() / "study.toml", options);
  REQUIRE(study.has_value());
  const auto checked = check_dry_start(*study, limit);
  return checked ? "accepted" : checked.error().message;
}

const std::string honest = R"(
[[ $RANK = 0 && $WORLD_SIZE = 4 && $LOCAL_WORLD_SIZE = 2 && $FROM_SETUP = yes ]] || exit 9
[[ ${@: -1} = --dry-run ]] || exit 8
micro=$(grep -o '"train_micro_batch_size_per_gpu": [0-9]*' "$1" | grep -o '[0-9]*$')
[[ $micro = "$3" ]] || { echo "flag $3 is not $micro" >&2; exit 7; }
)";

}  // namespace

TEST_CASE("dry start: the trial is started as rank 0 with its own config and flags", "[tune]") {
  CHECK(dry_start(honest, "") == "accepted");
  CHECK(dry_start(honest + R"(echo '{"ds_config": {"train_micro_batch_size_per_gpu": '$micro'.0,
"unknown": 1}}')",
                  "") == "accepted");
}

TEST_CASE("dry start: what the trial reads otherwise is named, ours and theirs", "[tune]") {
  CHECK(
      dry_start(R"(echo 'loading'; echo '{"ds_config": {"train_micro_batch_size_per_gpu": 8}}')",
                "")
          .find("trial.dry_start: z1_gas1_tmbspg2: the trial reads train_micro_batch_size_per_gpu "
                "= 8, but 2 was written for it; name its own flag in deepspeed.arg_mappings") !=
      std::string::npos);
  // Of the baseline it reads what is right; only the second configuration shows that it never
  // changes.
  CHECK(dry_start(
            R"(echo '{"ds_config": {"zero_optimization": {"stage": 1}}}' >$SLURMTUNE_METRICS)", "")
            .find("the trial reads zero_optimization.stage = 1, but 2 was written for it") !=
        std::string::npos);
  CHECK(dry_start(R"(echo '{"ds_config": {"train_batch_size": 16}}')", "")
            .find("train_batch_size = 16, but 8 was written") != std::string::npos);
}

TEST_CASE("dry start: a command that fails or does not end is refused", "[tune]") {
  const std::string failed = dry_start("echo 'no such flag: --mbs' >&2; exit 2", "");
  CHECK(failed.find("the command ended with exit code 2: no such flag: --mbs") !=
        std::string::npos);
  CHECK(dry_start("sleep 60", "", std::chrono::seconds(1))
            .find("the command did not end within 1 s") != std::string::npos);
}
