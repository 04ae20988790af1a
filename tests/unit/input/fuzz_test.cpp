// SPDX-License-Identifier: MIT
#include <array>
#include <cmath>
#include <string>

#include "slurmtune/base/random.hpp"

#include "tests/support/catch.hpp"
#include "tests/unit/input/study_texts.hpp"

using namespace slurmtune;

namespace {

const std::string good_study = deepspeed_study(R"(zero_stages = [1, 2]
[batch]
max_global = 512
[[parameter]]
name   = "bucket"
type   = "real"
range  = [1.0, 1e9]
scale  = "log"
target = "json:zero_optimization.reduce_bucket_size"
[[constraint]]
expr = "micro_batch * gradient_accumulation * data_parallel == global_batch"
[measure]
interval = 0.01
startup_s = 900
[budget]
max_node_hours = 40.0
)");

const std::string good_config = R"({
  "train_micro_batch_size_per_gpu": "auto",
  "zero_optimization": {"stage": [1, 2], "reduce_bucket_size": 5e8},
  "autotuning": {"enabled": true, "max_train_batch_size": 512, "model_info": {"num_params": 1e9}}
})";

// Some bytes that mean something to the parsers, and any other.
char any_byte(Random& random) {
  constexpr std::string_view meaningful = "\"'[]{}=,.#:\n -+eE0123456789nainf_\\";
  if (random.below(2) == 0) return meaningful[random.below(meaningful.size())];
  return static_cast<char>(random.below(256));
}

std::string mutated(std::string text, Random& random) {
  const std::uint64_t edits = 1 + random.below(4);
  for (std::uint64_t i = 0; i < edits && !text.empty(); ++i) {
    const std::size_t at = random.below(text.size());
    switch (random.below(4)) {
      case 0: text[at] = any_byte(random); break;
      case 1: text.insert(at, 1, any_byte(random)); break;
      case 2: text.erase(at, 1 + random.below(8)); break;
      default: text.insert(at, text.substr(random.below(text.size()), random.below(16))); break;
    }
  }
  return text;
}

// What validation promises of every accepted study.
bool is_sound(const StudyInput& input) {
  const StudySpec& spec = input.spec;
  bool sound = std::isfinite(spec.measure.interval) && spec.measure.interval > 0.0 &&
               std::isfinite(spec.measure.startup_s) && spec.measure.startup_s > 0.0 &&
               std::isfinite(spec.search.stop_gain) && spec.trial.nodes >= 1 && spec.ranks() >= 1 &&
               !spec.trial.command.empty() && !spec.name.empty() &&
               spec.measure.min_steps <= spec.measure.max_steps;
  if (spec.budget.max_node_hours) sound = sound && std::isfinite(*spec.budget.max_node_hours);
  if (spec.model.params) sound = sound && std::isfinite(*spec.model.params);
  for (const ParameterSpec& parameter : spec.parameters) {
    if (parameter.low) sound = sound && std::isfinite(*parameter.low);
    if (parameter.high) sound = sound && *parameter.high > *parameter.low;
    for (const Value& value : parameter.values) {
      if (const auto* real = std::get_if<double>(&value)) sound = sound && std::isfinite(*real);
    }
  }
  if (spec.deepspeed) {
    sound = sound && !spec.deepspeed->zero_stages.empty() && spec.deepspeed->micro_batch >= 1 &&
            spec.deepspeed->gradient_accumulation >= 1;
  }
  return sound;
}

}  // namespace

TEST_CASE("read_study: mutated texts are refused with a line or make a sound study", "[input]") {
  Random random(Seed{20261130});
  int accepted = 0;
  for (int round = 0; round < 2000; ++round) {
    const bool mutate_study = random.below(3) != 0;
    const std::string study = mutate_study ? mutated(good_study, random) : good_study;
    const std::string config = mutate_study ? good_config : mutated(good_config, random);
    const auto input = read_texts(study, config);
    INFO("study:\n" << study << "\nconfig:\n" << config);
    if (input) {
      ++accepted;
      REQUIRE(is_sound(*input));
      continue;
    }
    INFO(input.error().message);
    REQUIRE(input.error().kind == ErrorKind::invalid_input);
    const std::string& message = input.error().message;
    const bool placed =
        message.starts_with("study.toml:") || message.starts_with("ds_config.json:");
    REQUIRE(placed);
    REQUIRE(message.find("; ") != std::string::npos);
  }
  // The mutations are small enough that both answers occur.
  CHECK(accepted > 20);
  CHECK(accepted < 1980);
}
