// SPDX-License-Identifier: MIT
#include "slurmtune/input/hf_config.hpp"

#include <array>
#include <span>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "slurmtune/base/units.hpp"
#include "slurmtune/input/model_figures.hpp"
#include "slurmtune/input/node.hpp"

namespace slurmtune {

namespace {

/// No single figure of a config is larger.
constexpr double figure_max = 1e10;

/// Takes figures out of a config; keeps the first thing that is wrong with it.
class ConfigReader {
 public:
  ConfigReader(const Node& config, std::string path, std::string_view type)
      : config_(config), path_(std::move(path)), type_(type) {}

  /// The number under the first of `names` that is there and not null.
  double need(std::initializer_list<std::string_view> names) {
    for (const std::string_view name : names) {
      if (const auto value = number(name)) return *value;
    }
    complain(1,
             fmt::format("a model of type {} has \"{}\", which is missing", type_, *names.begin()));
    return 1.0;
  }
  double get(std::string_view name, double fallback) { return number(name).value_or(fallback); }
  std::optional<double> number(std::string_view name) {
    const Node* node = config_.find(name);
    if (node == nullptr || node->kind == Node::Kind::other) return std::nullopt;
    if (node->is_integral() && node->as_real() >= 1.0 && node->as_real() <= figure_max) {
      return node->as_real();
    }
    complain(node->line, fmt::format("\"{}\" is {}, no whole number from 1 to {:g}", name,
                                     written(*node), figure_max));
    return std::nullopt;
  }
  [[nodiscard]] bool flag(std::string_view name, bool fallback) const {
    const Node* node = config_.find(name);
    return node != nullptr && node->kind == Node::Kind::boolean ? node->boolean : fallback;
  }
  [[nodiscard]] std::string text(std::string_view name) const {
    const Node* node = config_.find(name);
    return node != nullptr && node->kind == Node::Kind::string ? node->text : "";
  }
  [[nodiscard]] const std::optional<Error>& problem() const { return problem_; }

 private:
  void complain(int line, const std::string& what) {
    if (problem_) return;
    problem_ = fail_at(path_, line, what,
                       "give the config.json of a model that Transformers can load, or write the "
                       "figures in [model]")
                   .value();
  }

  const Node& config_;
  std::string path_;
  std::string_view type_;
  std::optional<Error> problem_;
};

/// A matrix and its bias.
double linear(double in, double out) { return in * out + out; }

/// The usual block with biases and two LayerNorms: attention h to h four times, MLP to f and back.
double block_with_biases(double hidden, double inner) {
  return 4.0 * linear(hidden, hidden) + linear(hidden, inner) + linear(inner, hidden) +
         4.0 * hidden;
}

void set(ModelSpec& shape, double hidden, double layers, double heads, double inner,
         double vocabulary) {
  shape.hidden = hidden;
  shape.layers = layers;
  shape.heads = heads;
  shape.kv_heads = heads;
  shape.intermediate = inner;
  shape.vocabulary = vocabulary;
  shape.gated_mlp = false;
}

HfModel read_gpt2(ConfigReader& config) {
  HfModel model;
  const double h = config.need({"n_embd", "hidden_size"});
  const double layers = config.need({"n_layer", "num_hidden_layers"});
  const double inner = config.get("n_inner", 4.0 * h);
  const double vocabulary = config.need({"vocab_size"});
  const double positions = config.get("n_positions", 1024.0);
  set(model.shape, h, layers, config.need({"n_head", "num_attention_heads"}), inner, vocabulary);
  model.shape.params =
      (vocabulary + positions) * h + layers * block_with_biases(h, inner) + 2.0 * h;
  model.positions = positions;
  return model;
}

HfModel read_gpt_neox(ConfigReader& config) {
  HfModel model;
  const double h = config.need({"hidden_size"});
  const double layers = config.need({"num_hidden_layers"});
  const double inner = config.need({"intermediate_size"});
  const double vocabulary = config.need({"vocab_size"});
  set(model.shape, h, layers, config.need({"num_attention_heads"}), inner, vocabulary);
  const double embeddings = config.flag("tie_word_embeddings", false) ? 1.0 : 2.0;
  model.shape.params = embeddings * vocabulary * h + layers * block_with_biases(h, inner) + 2.0 * h;
  model.positions = config.number("max_position_embeddings");
  return model;
}

/// Llama and those like it: RMSNorm, rotary positions, a gated MLP, fewer keys than queries.
HfModel read_llama(ConfigReader& config, std::string_view type) {
  HfModel model;
  const bool gemma = type == "gemma" || type == "gemma2";
  const double h = config.need({"hidden_size"});
  const double layers = config.need({"num_hidden_layers"});
  const double heads = config.need({"num_attention_heads"});
  const double inner = config.need({"intermediate_size"});
  const double vocabulary = config.need({"vocab_size"});
  const double kv_heads = config.get("num_key_value_heads", heads);
  const double usual_head = gemma ? 256.0 : type == "qwen3" ? 128.0 : h / heads;
  const double head = config.get("head_dim", usual_head);
  set(model.shape, h, layers, heads, inner, vocabulary);
  model.shape.kv_heads = kv_heads;
  model.shape.gated_mlp = true;

  const double queries = heads * head;
  const double keys = kv_heads * head;
  double layer = 2.0 * h * queries + 2.0 * h * keys + 3.0 * h * inner;
  layer += (type == "gemma2" ? 4.0 : 2.0) * h;
  if (type == "qwen2" || config.flag("attention_bias", false)) layer += queries + 2.0 * keys;
  if (type != "qwen2" && config.flag("attention_bias", false)) layer += h;
  if (type == "qwen3") layer += 2.0 * head;
  const double embeddings = config.flag("tie_word_embeddings", gemma) ? 1.0 : 2.0;
  model.shape.params = embeddings * vocabulary * h + layers * layer + h;
  model.positions = config.number("max_position_embeddings");
  return model;
}

HfModel read_bert(ConfigReader& config) {
  HfModel model;
  const double h = config.need({"hidden_size"});
  const double layers = config.need({"num_hidden_layers"});
  const double inner = config.need({"intermediate_size"});
  const double vocabulary = config.need({"vocab_size"});
  const double positions = config.get("max_position_embeddings", 512.0);
  const double types = config.get("type_vocab_size", 2.0);
  set(model.shape, h, layers, config.need({"num_attention_heads"}), inner, vocabulary);
  model.shape.params = (vocabulary + positions + types) * h + 2.0 * h +
                       layers * block_with_biases(h, inner) + linear(h, h);
  model.positions = positions;
  return model;
}

HfModel read_opt(ConfigReader& config) {
  HfModel model;
  const double h = config.need({"hidden_size"});
  const double layers = config.need({"num_hidden_layers"});
  const double inner = config.need({"ffn_dim"});
  const double vocabulary = config.need({"vocab_size"});
  const double positions = config.get("max_position_embeddings", 2048.0);
  const double words = config.get("word_embed_proj_dim", h);
  set(model.shape, h, layers, config.need({"num_attention_heads"}), inner, vocabulary);
  // The table of positions begins with two that are not used.
  double params = vocabulary * words + (positions + 2.0) * h;
  params += layers * block_with_biases(h, inner);
  if (config.flag("do_layer_norm_before", true)) params += 2.0 * h;
  if (words != h) params += 2.0 * words * h;
  model.shape.params = params;
  model.positions = positions;
  return model;
}

HfModel read_bloom(ConfigReader& config) {
  HfModel model;
  const double h = config.need({"hidden_size", "n_embed"});
  const double layers = config.need({"n_layer", "num_hidden_layers"});
  const double vocabulary = config.need({"vocab_size"});
  set(model.shape, h, layers, config.need({"n_head", "num_attention_heads"}), 4.0 * h, vocabulary);
  model.shape.params = vocabulary * h + 2.0 * h + layers * block_with_biases(h, 4.0 * h) + 2.0 * h;
  model.positions = config.number("seq_length");
  return model;
}

HfModel read_falcon(ConfigReader& config) {
  HfModel model;
  const double h = config.need({"hidden_size"});
  const double layers = config.need({"num_hidden_layers", "n_layer"});
  const double heads = config.need({"num_attention_heads", "n_head"});
  const double vocabulary = config.need({"vocab_size"});
  const double inner = config.get("ffn_hidden_size", 4.0 * h);
  const bool new_architecture = config.flag("new_decoder_architecture", false);
  double kv_heads = heads;
  if (new_architecture) {
    kv_heads = config.get("num_kv_heads", heads);
  } else if (config.flag("multi_query", true)) {
    kv_heads = 1.0;
  }
  set(model.shape, h, layers, heads, inner, vocabulary);
  model.shape.kv_heads = kv_heads;
  const double bias = config.flag("bias", false) ? 1.0 : 0.0;
  const double keys = kv_heads * h / heads;
  double layer = h * (h + 2.0 * keys) + h * h + 2.0 * h * inner;
  layer += bias * (h + 2.0 * keys + h + inner + h);
  const bool two_norms = new_architecture || !config.flag("parallel_attn", true);
  layer += (two_norms ? 4.0 : 2.0) * h;
  model.shape.params = vocabulary * h + layers * layer + 2.0 * h;
  model.positions = config.number("max_position_embeddings");
  return model;
}

HfModel read_t5(ConfigReader& config) {
  HfModel model;
  const double h = config.need({"d_model"});
  const double inner = config.need({"d_ff"});
  const double heads = config.need({"num_heads"});
  const double width = heads * config.need({"d_kv"});
  const double encoder = config.need({"num_layers"});
  const double decoder = config.get("num_decoder_layers", encoder);
  const double vocabulary = config.need({"vocab_size"});
  const double buckets = config.get("relative_attention_num_buckets", 32.0);
  const bool gated = config.text("feed_forward_proj").starts_with("gated");
  set(model.shape, h, encoder + decoder, heads, inner, vocabulary);
  model.shape.gated_mlp = gated;
  const double mlp = (gated ? 3.0 : 2.0) * h * inner;
  const double attention = 4.0 * h * width;
  double params = encoder * (attention + mlp + 2.0 * h);
  params += decoder * (2.0 * attention + mlp + 3.0 * h);
  params += 2.0 * h + 2.0 * buckets * heads;
  params += (config.flag("tie_word_embeddings", true) ? 1.0 : 2.0) * vocabulary * h;
  model.shape.params = params;
  return model;
}

/// What a figure of [model] is called in configs, for the line of a message.
struct OtherName {
  std::string_view field;
  std::string_view key;
};
constexpr std::array<OtherName, 14> other_names{{{"hidden", "hidden_size"},
                                                 {"hidden", "n_embd"},
                                                 {"hidden", "d_model"},
                                                 {"layers", "num_hidden_layers"},
                                                 {"layers", "n_layer"},
                                                 {"layers", "num_layers"},
                                                 {"heads", "num_attention_heads"},
                                                 {"heads", "n_head"},
                                                 {"heads", "num_heads"},
                                                 {"kv_heads", "num_key_value_heads"},
                                                 {"kv_heads", "num_kv_heads"},
                                                 {"intermediate", "intermediate_size"},
                                                 {"intermediate", "n_inner"},
                                                 {"vocabulary", "vocab_size"}}};

/// Figures that each may be right, and are those of no model together.
Expected<void> check_figures(const HfModel& model, const Node& config, std::string_view type,
                             std::string_view path) {
  const bool its_own = type == "t5" || config.find("head_dim") != nullptr ||
                       type.starts_with("gemma") || type == "qwen3";
  const auto problem = problem_of(model.shape, its_own ? HeadSize::its_own : HeadSize::of_hidden);
  if (!problem) return {};
  for (const auto& [field, key] : other_names) {
    const Node* node = field == problem->field ? config.find(key) : nullptr;
    if (node == nullptr) continue;
    return fail_at(path, node->line, fmt::format("\"{}\" {}", key, problem->what),
                   "give the config.json of a model that Transformers can load");
  }
  return fail_at(path, 1, fmt::format("the model's {} {}", problem->field, problem->what),
                 "give the config.json of a model that Transformers can load");
}

constexpr std::array<std::string_view, 14> known_types{
    "gpt2",  "gpt_neox", "llama", "mistral", "qwen2", "qwen3",  "phi3",
    "gemma", "gemma2",   "bert",  "opt",     "bloom", "falcon", "t5"};

HfModel read_type(ConfigReader& config, std::string_view type) {
  if (type == "gpt2") return read_gpt2(config);
  if (type == "gpt_neox") return read_gpt_neox(config);
  if (type == "bert") return read_bert(config);
  if (type == "opt") return read_opt(config);
  if (type == "bloom") return read_bloom(config);
  if (type == "falcon") return read_falcon(config);
  if (type == "t5") return read_t5(config);
  return read_llama(config, type);
}

}  // namespace

Expected<HfModel> read_hf_config(const SourceText& source) {
  SLURMTUNE_TRY(const Node config, parse_json_source(source));
  const Node* type = config.find("model_type");
  if (type == nullptr || type->kind != Node::Kind::string) {
    return fail_at(source.path, 1, "there is no \"model_type\" in it",
                   "give the config.json of a Hugging Face model");
  }
  std::string known;
  bool is_known = false;
  for (const std::string_view name : known_types) {
    known += fmt::format("{}{}", known.empty() ? "" : ", ", name);
    is_known = is_known || name == type->text;
  }
  if (!is_known) {
    return fail_at(source.path, type->line,
                   fmt::format("how a model of type \"{}\" is built is not known here ({} are)",
                               type->text, known),
                   "write params, hidden, layers, heads, intermediate and vocabulary yourself");
  }
  ConfigReader reader(config, source.path, type->text);
  HfModel model = read_type(reader, type->text);
  if (reader.problem()) return tl::unexpected<Error>(*reader.problem());
  SLURMTUNE_CHECK(check_figures(model, config, type->text, source.path));
  model.model_type = type->text;
  return model;
}

}  // namespace slurmtune
