// SPDX-License-Identifier: MIT
#include "slurmtune/input/hf_config.hpp"

#include <array>
#include <string>

#include "tests/support/catch.hpp"

using namespace slurmtune;

namespace {

struct PublishedModel {
  const char* name;
  const char* config;  ///< the keys that matter, as published
  double params;       ///< as the authors, or Transformers, count them
};

constexpr std::array<PublishedModel, 16> published{{
    {"gpt2-large",
     R"({"model_type":"gpt2","n_embd":1280,"n_layer":36,"n_head":20,"n_positions":1024,)"
     R"("n_inner":null,"vocab_size":50257})",
     774030080.0},
    {"EleutherAI/pythia-1.4b",
     R"({"model_type":"gpt_neox","hidden_size":2048,"num_hidden_layers":24,)"
     R"("num_attention_heads":16,"intermediate_size":8192,"vocab_size":50304,)"
     R"("max_position_embeddings":2048,"tie_word_embeddings":false})",
     1414647808.0},
    {"meta-llama/Llama-2-7b-hf",
     R"({"model_type":"llama","hidden_size":4096,"num_hidden_layers":32,)"
     R"("num_attention_heads":32,"num_key_value_heads":32,"intermediate_size":11008,)"
     R"("vocab_size":32000,"max_position_embeddings":4096,"tie_word_embeddings":false})",
     6738415616.0},
    {"meta-llama/Llama-3.1-8B",
     R"({"model_type":"llama","hidden_size":4096,"num_hidden_layers":32,)"
     R"("num_attention_heads":32,"num_key_value_heads":8,"intermediate_size":14336,)"
     R"("vocab_size":128256,"attention_bias":false})",
     8030261248.0},
    {"meta-llama/Llama-3.2-3B",
     R"({"model_type":"llama","hidden_size":3072,"num_hidden_layers":28,)"
     R"("num_attention_heads":24,"num_key_value_heads":8,"intermediate_size":8192,)"
     R"("vocab_size":128256,"head_dim":128,"tie_word_embeddings":true})",
     3212749824.0},
    {"mistralai/Mistral-7B-v0.1",
     R"({"model_type":"mistral","hidden_size":4096,"num_hidden_layers":32,)"
     R"("num_attention_heads":32,"num_key_value_heads":8,"intermediate_size":14336,)"
     R"("vocab_size":32000})",
     7241732096.0},
    {"Qwen/Qwen2-7B",
     R"({"model_type":"qwen2","hidden_size":3584,"num_hidden_layers":28,)"
     R"("num_attention_heads":28,"num_key_value_heads":4,"intermediate_size":18944,)"
     R"("vocab_size":152064,"tie_word_embeddings":false})",
     7615616512.0},
    {"google/gemma-2b",
     R"({"model_type":"gemma","hidden_size":2048,"num_hidden_layers":18,)"
     R"("num_attention_heads":8,"num_key_value_heads":1,"intermediate_size":16384,)"
     R"("head_dim":256,"vocab_size":256000})",
     2506172416.0},
    {"microsoft/Phi-3-mini-4k-instruct",
     R"({"model_type":"phi3","hidden_size":3072,"num_hidden_layers":32,)"
     R"("num_attention_heads":32,"num_key_value_heads":32,"intermediate_size":8192,)"
     R"("vocab_size":32064})",
     3821079552.0},
    {"bert-base-uncased",
     R"({"model_type":"bert","hidden_size":768,"num_hidden_layers":12,)"
     R"("num_attention_heads":12,"intermediate_size":3072,"vocab_size":30522,)"
     R"("max_position_embeddings":512,"type_vocab_size":2})",
     109482240.0},
    {"facebook/opt-125m",
     R"({"model_type":"opt","hidden_size":768,"num_hidden_layers":12,)"
     R"("num_attention_heads":12,"ffn_dim":3072,"vocab_size":50272,)"
     R"("max_position_embeddings":2048,"word_embed_proj_dim":768})",
     125239296.0},
    {"bigscience/bloom-560m",
     R"({"model_type":"bloom","hidden_size":1024,"n_layer":24,"n_head":16,"vocab_size":250880})",
     559214592.0},
    {"tiiuae/falcon-7b",
     R"({"model_type":"falcon","hidden_size":4544,"num_hidden_layers":32,)"
     R"("num_attention_heads":71,"vocab_size":65024,"multi_query":true,"parallel_attn":true,)"
     R"("bias":false,"new_decoder_architecture":false})",
     6921720704.0},
    {"t5-small",
     R"({"model_type":"t5","d_model":512,"d_ff":2048,"num_heads":8,"d_kv":64,"num_layers":6,)"
     R"("vocab_size":32128})",
     60506624.0},
    {"t5-large",
     R"({"model_type":"t5","d_model":1024,"d_ff":4096,"num_heads":16,"d_kv":64,)"
     R"("num_layers":24,"num_decoder_layers":24,"vocab_size":32128})",
     737668096.0},
    {"t5-3b",
     R"({"model_type":"t5","d_model":1024,"d_ff":16384,"num_heads":32,"d_kv":128,)"
     R"("num_layers":24,"vocab_size":32128})",
     2851598336.0},
}};

std::string refusal(const std::string& text) {
  const auto read = read_hf_config({"model/config.json", text});
  REQUIRE_FALSE(read);
  CHECK(read.error().kind == ErrorKind::invalid_input);
  return read.error().message;
}

}  // namespace

TEST_CASE("read_hf_config: counts parameters as the authors do", "[input]") {
  for (const PublishedModel& model : published) {
    CAPTURE(model.name);
    const auto read = read_hf_config({"config.json", model.config});
    REQUIRE(read);
    REQUIRE(read->shape.params);
    CHECK(*read->shape.params == model.params);
    CHECK(read->shape.hidden);
    CHECK(read->shape.layers);
    CHECK(read->shape.vocabulary);
    CHECK_FALSE(read->shape.sequence_length);
  }
}

TEST_CASE("read_hf_config: the shape of a gated model with fewer keys", "[input]") {
  const auto read = read_hf_config({"config.json", published[3].config});
  REQUIRE(read);
  CHECK(read->model_type == "llama");
  CHECK(read->shape.kv_heads == 8.0);
  CHECK(read->shape.intermediate == 14336.0);
  CHECK(read->shape.gated_mlp == true);
}

TEST_CASE("read_hf_config: what is wrong is said with its line and what to do", "[input]") {
  CHECK(refusal("{\n\"vocab_size\": 1}") ==
        "model/config.json:1: there is no \"model_type\" in it; give the config.json of a Hugging "
        "Face model");
  const std::string unknown = refusal("{\n\"model_type\": \"mamba\"}");
  CHECK(unknown.starts_with("model/config.json:2: how a model of type \"mamba\" is built is not"));
  CHECK(unknown.find("llama, mistral") != std::string::npos);
  const std::string missing = refusal(R"({"model_type": "llama", "hidden_size": 4096})");
  CHECK(missing.find("a model of type llama has \"num_hidden_layers\", which is missing") !=
        std::string::npos);
  const std::string wrong = refusal("{\"model_type\": \"gpt2\",\n\"n_embd\": -3}");
  CHECK(
      wrong.starts_with("model/config.json:2: \"n_embd\" is -3, no whole number from 1 to 1e+10"));
  CHECK(refusal("{").starts_with("model/config.json:1"));
  CHECK(refusal("[]").starts_with("model/config.json:1"));
}
