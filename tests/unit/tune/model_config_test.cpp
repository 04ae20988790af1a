// SPDX-License-Identifier: MIT
#include "slurmtune/tune/model_config.hpp"

#include <cstdlib>

#include "slurmtune/tune/create_study.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace slurmtune;

namespace {

constexpr std::string_view gpt2 =
    R"({"model_type":"gpt2","n_embd":64,"n_layer":2,"n_head":2,"vocab_size":100})";

/// A hub cache of its own for one test.
class HubCache {
 public:
  explicit HubCache(const std::string& path) { ::setenv("HF_HUB_CACHE", path.c_str(), 1); }
  HubCache(const HubCache&) = delete;
  HubCache& operator=(const HubCache&) = delete;
  ~HubCache() { ::unsetenv("HF_HUB_CACHE"); }
};

StudySpec spec_with(std::vector<std::string> command) {
  StudySpec spec;
  spec.deepspeed.emplace();
  spec.trial.command = std::move(command);
  return spec;
}

}  // namespace

TEST_CASE("find_model_config: a file, a directory, a model in the cache", "[tune]") {
  const TemporaryDirectory directory;
  const HubCache cache(directory / "hub");
  directory.write("model/config.json", gpt2);
  CHECK(find_model_config("model", directory.path()) == directory / "model/config.json");
  CHECK(find_model_config("model/config.json", directory.path()) ==
        directory / "model/config.json");
  CHECK_FALSE(find_model_config("acme/tiny", directory.path()));
  const std::string hub = "hub/models--acme--tiny/";
  directory.write(hub + "snapshots/aaa/config.json", gpt2);
  directory.write(hub + "snapshots/bbb/config.json", gpt2);
  CHECK(find_model_config("acme/tiny", directory.path()) ==
        directory / (hub + "snapshots/aaa/config.json"));
  directory.write(hub + "refs/main", "bbb\n");
  CHECK(find_model_config("acme/tiny", directory.path()) ==
        directory / (hub + "snapshots/bbb/config.json"));
  CHECK_FALSE(find_model_config("../hub/models--acme--tiny", directory.path()));
  CHECK_FALSE(find_model_config("", directory.path()));
}

TEST_CASE("load_model_config: the study's word, else the command's model", "[tune]") {
  const TemporaryDirectory directory;
  const HubCache cache(directory / "hub");
  directory.write("a/config.json", gpt2);
  directory.write("b/config.json", gpt2);
  const auto load = [&](const std::optional<std::string>& named, std::vector<std::string> command) {
    return load_model_config(named, spec_with(std::move(command)),
                             {"study.toml", "[model]\nhidden = 1\nconfig = \"nowhere\"\n"},
                             directory.path());
  };
  const auto named = load("a", {"train.py", "--model_name_or_path", "b"});
  REQUIRE(named);
  REQUIRE(named->text);
  CHECK(named->text->path == directory / "a/config.json");
  CHECK(named->note.empty());
  const auto found = load(std::nullopt, {"train.py", "--model_name_or_path=b"});
  REQUIRE(found);
  REQUIRE(found->text);
  CHECK(found->text->path == directory / "b/config.json");
  const auto nothing = load(std::nullopt, {"train.py", "--model_name_or_path", "gpt2"});
  REQUIRE(nothing);
  CHECK_FALSE(nothing->text);
  CHECK(nothing->note ==
        "the model's shape is not known: --model_name_or_path gpt2 is no file and no directory "
        "with a config.json below " +
            directory.path().string() + ", and no model in " + (directory / "hub") +
            "; the network is not asked: download it (huggingface-cli download gpt2 config.json), "
            "or give the figures themselves");
  const auto missing = load("nowhere", {"train.py"});
  REQUIRE_FALSE(missing);
  CHECK(missing.error().kind == ErrorKind::invalid_input);
  CHECK(missing.error().message.starts_with("study.toml:3: model.config: nowhere is no file"));
}

TEST_CASE("load_study: the model's config is read, and its shape known", "[tune]") {
  const TemporaryDirectory directory;
  directory.write("ds_config.json", "{}");
  directory.write("model/config.json", gpt2);
  const std::string path = directory.write("study.toml", R"(format = 1
name = "s"
[trial]
command = ["train.py", "{ds_config}", "--model_name_or_path", "model", "--block_size", "32"]
[deepspeed]
config = "ds_config.json"
[slurm]
submit = "local"
)");
  const auto study = load_study(path, {});
  if (!study) FAIL(study.error().message);
  CHECK(study->sources.model_config);
  CHECK(study->input.spec.model.layers == 2.0);
  CHECK(study->input.spec.model.sequence_length == 32.0);
}
