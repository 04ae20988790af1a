// SPDX-License-Identifier: MIT
#include <string>

#include "slurmtune/input/study_input.hpp"

#include "tests/support/catch.hpp"

using namespace slurmtune;

namespace {

const std::string study_head = R"(format = 1
name = "s"
[trial]
command = ["python3", "run_clm.py", "--deepspeed", "{ds_config}", "--block_size", "512"]
[deepspeed]
config = "ds_config.json"
[model]
)";

const std::string gpt2 = R"({"model_type": "gpt2", "n_embd": 1280, "n_layer": 36, "n_head": 20,
  "vocab_size": 50257})";

Expected<StudyInput> read_with(const std::string& model, const std::string& config) {
  StudySources sources;
  sources.study = {"study.toml", study_head + model};
  sources.ds_config = SourceText{"ds_config.json", "{}"};
  sources.site = {"site.toml", "name = \"generic\"\n"};
  if (!config.empty()) sources.model_config = SourceText{"model/config.json", config};
  return read_study(sources);
}

}  // namespace

TEST_CASE("[model]: the model's config fills what the study does not say", "[input]") {
  const auto input = read_with("hidden = 1024\nconfig = \"model\"\n", gpt2);
  if (!input) FAIL(input.error().message);
  const ModelSpec& model = input->spec.model;
  CHECK(model.hidden == 1024.0);
  CHECK(model.layers == 36.0);
  CHECK(model.heads == 20.0);
  CHECK(model.params == 774030080.0);
  CHECK(model.gated_mlp == false);
  CHECK(model.sequence_length == 512.0);
  REQUIRE_FALSE(input->spec.notes.empty());
  const std::string& note = input->spec.notes.back();
  CHECK(note.find("params = 774030080") != std::string::npos);
  CHECK(note.find("hidden") == std::string::npos);
  CHECK(note.ends_with("from model/config.json (gpt2)"));
}

TEST_CASE("[model]: every key is taken, and wins over flags", "[input]") {
  const auto input = read_with(
      "params = 7e9\ntrainable_params = 4194304\nheads = 32\nkv_heads = 8\n"
      "intermediate = 14336\nvocabulary = 128256\nsequence_length = 2048\n",
      "");
  if (!input) FAIL(input.error().message);
  const ModelSpec& model = input->spec.model;
  CHECK(model.params == 7e9);
  CHECK(model.trainable_params == 4194304.0);
  CHECK(model.heads == 32.0);
  CHECK(model.kv_heads == 8.0);
  CHECK(model.intermediate == 14336.0);
  CHECK(model.vocabulary == 128256.0);
  CHECK(model.sequence_length == 2048.0);
}

TEST_CASE("[model]: a config that was asked for must be readable, another is noted", "[input]") {
  const auto asked = read_with("config = \"model\"\n", R"({"model_type": "mamba"})");
  REQUIRE_FALSE(asked);
  CHECK(asked.error().message.starts_with("model/config.json:1: how a model of type \"mamba\""));
  const auto found = read_with("", R"({"model_type": "mamba"})");
  if (!found) FAIL(found.error().message);
  CHECK(found->spec.notes.back().starts_with("the model's shape is not known: model/config.json"));
  CHECK_FALSE(found->spec.model.params);
}

TEST_CASE("[model]: the path of a config is handed to whoever reads files", "[input]") {
  const auto files =
      referenced_files({"study.toml", study_head + "config = \"models/gpt2/config.json\"\n"});
  REQUIRE(files);
  CHECK(files->model == "models/gpt2/config.json");
}
