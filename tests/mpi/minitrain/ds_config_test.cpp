// SPDX-License-Identifier: MIT
#include "examples/minitrain/ds_config.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include "tests/support/catch.hpp"

using minitrain::BatchKeys;
using minitrain::DsConfig;
using minitrain::parse_ds_config;
using minitrain::resolve_batch;

namespace {

DsConfig good(const std::string& text) {
  const auto config = parse_ds_config(text, "ds_config.json", 2);
  INFO((config ? "" : config.error()));
  REQUIRE(config.has_value());
  return *config;
}

/// The message for a configuration that must be refused.
std::string refusal(const std::string& text) {
  const auto config = parse_ds_config(text, "ds_config.json", 2);
  REQUIRE(!config.has_value());
  return config.error();
}

bool mentions(const std::string& text, const std::string& part) {
  INFO(text);
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("resolve_batch: what is missing is derived as DeepSpeed does", "[minitrain]") {
  using Key = std::optional<std::int64_t>;
  struct Case {
    BatchKeys keys;
    std::size_t global, micro, accumulation;
  };
  const Case expected =
      GENERATE(Case{{Key{64}, Key{4}, Key{8}}, 64, 4, 8}, Case{{Key{64}, Key{4}, Key{}}, 64, 4, 8},
               Case{{Key{64}, Key{}, Key{8}}, 64, 4, 8}, Case{{Key{}, Key{4}, Key{8}}, 64, 4, 8},
               Case{{Key{64}, Key{}, Key{}}, 64, 32, 1}, Case{{Key{}, Key{4}, Key{}}, 8, 4, 1});
  const auto batch = resolve_batch(expected.keys, 2);
  REQUIRE(batch.has_value());
  CHECK(batch->global == expected.global);
  CHECK(batch->micro == expected.micro);
  CHECK(batch->accumulation == expected.accumulation);
}

TEST_CASE("resolve_batch: contradictions are refused in DeepSpeed's words", "[minitrain]") {
  const auto wrong = resolve_batch({64, 4, 4}, 2);
  REQUIRE(!wrong.has_value());
  CHECK(wrong.error() ==
        "Check batch related parameters. train_batch_size is not equal to micro_batch_per_gpu * "
        "gradient_acc_step * world_size 64 != 4 * 4 * 2");
  CHECK(!resolve_batch({10, 4, std::nullopt}, 2).has_value());  // 10 / 4 / 2 leaves a rest
  CHECK(!resolve_batch({1, std::nullopt, std::nullopt}, 2).has_value());  // less than the ranks
  CHECK(!resolve_batch({std::nullopt, std::nullopt, 4}, 2).has_value());
  CHECK(!resolve_batch({std::nullopt, 0, std::nullopt}, 2).has_value());
  CHECK(!resolve_batch({-8, std::nullopt, std::nullopt}, 2).has_value());
}

TEST_CASE("parse_ds_config: reads every key that it acts on", "[minitrain]") {
  const DsConfig config = good(R"({
    "train_batch_size": 64, "train_micro_batch_size_per_gpu": 4,
    "zero_optimization": {"stage": 2, "reduce_bucket_size": 5e4, "allgather_bucket_size": 1000,
                          "reduce_scatter": false, "offload_optimizer": {"device": "none"}},
    "optimizer": {"type": "AdamW", "params": {"lr": 0.01, "betas": [0.8, 0.95], "eps": 1e-6,
                                              "weight_decay": 0.1}},
    "activation_checkpointing": {"enabled": true}, "steps_per_print": 3})");
  CHECK(config.batch.accumulation == 8);
  CHECK(config.zero.stage == 2);
  CHECK(config.zero.reduce_bucket_size == 50000);
  CHECK(config.zero.allgather_bucket_size == 1000);
  CHECK(!config.zero.reduce_scatter);
  CHECK(config.adam.lr == 0.01);
  CHECK(config.adam.beta1 == 0.8);
  CHECK(config.adam.beta2 == 0.95);
  CHECK(config.adam.eps == 1e-6);
  CHECK(config.adam.weight_decay == 0.1);
  CHECK(config.activation_checkpointing);
  CHECK(config.steps_per_print == 3);
  CHECK(!config.model_info_path.has_value());
  CHECK(config.warnings.empty());
}

TEST_CASE("parse_ds_config: the defaults are DeepSpeed's", "[minitrain]") {
  const DsConfig config = good(R"({"train_batch_size": 8})");
  CHECK(config.zero.stage == 0);
  CHECK(config.zero.reduce_bucket_size == 500'000'000);
  CHECK(config.zero.reduce_scatter);
  CHECK(config.steps_per_print == 10);
  CHECK(!config.activation_checkpointing);
  CHECK(config.adam.decoupled_decay);  // DeepSpeed's "Adam" is AdamW unless told otherwise
  CHECK(!good(R"({"train_batch_size": 8,
                  "optimizer": {"type": "Adam", "params": {"adam_w_mode": false}}})")
             .adam.decoupled_decay);
}

TEST_CASE("parse_ds_config: a model-info run must be enabled and asked for", "[minitrain]") {
  const auto path = [](const std::string& autotuning) {
    return good(R"({"train_batch_size": 8, "autotuning": )" + autotuning + "}").model_info_path;
  };
  CHECK(
      path(R"({"enabled": true, "model_info_path": "m.json", "model_info": {"profile": true}})") ==
      "m.json");
  CHECK(path(R"({"enabled": true, "model_info": {"profile": true}})") ==
        "autotuning_model_info.json");
  CHECK(!path(R"({"enabled": false, "model_info": {"profile": true}})").has_value());
  CHECK(!path(R"({"enabled": true, "model_info": {"profile": false}})").has_value());
  CHECK(!path(R"({"enabled": true, "fast": true})").has_value());
}

TEST_CASE("parse_ds_config: what is wrong is named by file and key", "[minitrain]") {
  CHECK(mentions(refusal(R"({"train_batch_size": "auto"})"),
                 "ds_config.json: train_batch_size: is \"auto\""));
  CHECK(mentions(refusal(R"({"train_batch_size": 8.5})"), "must be a whole number, not 8.5"));
  CHECK(mentions(refusal(R"({"train_batch_size": 8, "zero_optimization": {"stage": "all"}})"),
                 "zero_optimization.stage: must be a whole number, not \"all\""));
  CHECK(mentions(refusal(R"({"train_batch_size": 8, "zero_optimization": {"stage": 4}})"),
                 "must be 0, 1, 2 or 3, not 4"));
  CHECK(mentions(refusal(R"({"train_batch_size": 8, "zero_optimization": true})"),
                 "zero_optimization: must be an object"));
  CHECK(mentions(refusal(R"({"train_batch_size": 8, "optimizer": {"type": "Lamb"}})"),
                 "optimizer.type"));
  CHECK(mentions(refusal(R"({"train_batch_size": 8, "optimizer": {"params": {"lr": "auto"}}})"),
                 "optimizer.params.lr: is \"auto\""));
  CHECK(mentions(refusal(R"({"train_batch_size": 8, "optimizer": {"params": {"betas": [1]}}})"),
                 "optimizer.params.betas"));
  CHECK(mentions(refusal(R"({"train_batch_size": 8, "fp16": {"enabled": true}})"), "fp16"));
  CHECK(mentions(refusal(R"({"train_batch_size": 8, "steps_per_print": 0})"), "steps_per_print"));
  CHECK(mentions(refusal(R"({"train_batch_size": 8,
                             "zero_optimization": {"offload_optimizer": {"device": "cpu"}}})"),
                 "cannot offload"));
  CHECK(mentions(refusal(R"({"train_batch_size": 8,
                             "zero_optimization": {"reduce_bucket_size": 0}})"),
                 "zero_optimization.reduce_bucket_size"));
  CHECK(mentions(refusal(R"({"train_batch_size": 8, "train_batch_size": 16})"), "given twice"));
  CHECK(mentions(refusal("{\n\"train_batch_size\": 8,,\n}"), "line 2"));
  CHECK(mentions(refusal("[]"), "must hold an object"));
}

TEST_CASE("parse_ds_config: keys without effect are warned of, not refused", "[minitrain]") {
  const DsConfig config = good(R"({"train_batch_size": 8, "gradient_clipping": 1.0,
                                   "zero_optimization": {"overlap_comm": true}})");
  REQUIRE(config.warnings.size() == 2);
  const auto warned = [&](const std::string& key) {
    return std::any_of(config.warnings.begin(), config.warnings.end(), [&](const auto& warning) {
      return warning == "ds_config.json: " + key + " has no effect in minitrain";
    });
  };
  CHECK(warned("gradient_clipping"));
  CHECK(warned("zero_optimization.overlap_comm"));
}
