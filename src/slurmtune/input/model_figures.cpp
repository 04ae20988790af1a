// SPDX-License-Identifier: MIT
#include "slurmtune/input/model_figures.hpp"

#include <array>
#include <cmath>

#include <fmt/core.h>

namespace slurmtune {

namespace {

enum class Whole { yes, no };

/// One figure, and what it may be.
struct Figure {
  std::string_view name;
  std::optional<double> ModelSpec::*field;
  double most;
  Whole whole = Whole::yes;
};

// Parameters are often written as 1.3e9, which is no exact count.
constexpr std::array<Figure, 9> figures{
    {{"params", &ModelSpec::params, params_max, Whole::no},
     {"trainable_params", &ModelSpec::trainable_params, params_max, Whole::no},
     {"hidden", &ModelSpec::hidden, hidden_max},
     {"layers", &ModelSpec::layers, layers_max},
     {"heads", &ModelSpec::heads, heads_max},
     {"kv_heads", &ModelSpec::kv_heads, heads_max},
     {"intermediate", &ModelSpec::intermediate, intermediate_max},
     {"vocabulary", &ModelSpec::vocabulary, vocabulary_max},
     {"sequence_length", &ModelSpec::sequence_length, sequence_max}}};

bool divides(double part, double whole) { return std::fmod(whole, part) == 0.0; }

}  // namespace

std::optional<FigureProblem> problem_of(const ModelSpec& model, HeadSize head_size) {
  for (const Figure& figure : figures) {
    const std::optional<double>& value = model.*figure.field;
    if (!value) continue;
    const bool within = *value >= 1.0 && *value <= figure.most;  // a NaN is not
    if (within && (figure.whole == Whole::no || std::trunc(*value) == *value)) continue;
    return FigureProblem{figure.name,
                         fmt::format("is {:.12g}, but must be a {}number from 1 to {:g}", *value,
                                     figure.whole == Whole::yes ? "whole " : "", figure.most)};
  }
  if (model.params && model.trainable_params && *model.trainable_params > *model.params) {
    return FigureProblem{"trainable_params",
                         fmt::format("is {:.12g}, more than all parameters, {:.12g}",
                                     *model.trainable_params, *model.params)};
  }
  if (model.heads && model.hidden && head_size == HeadSize::of_hidden &&
      !divides(*model.heads, *model.hidden)) {
    return FigureProblem{"heads", fmt::format("is {:g}, which does not divide the hidden size {:g}",
                                              *model.heads, *model.hidden)};
  }
  if (model.heads && model.kv_heads && !divides(*model.kv_heads, *model.heads)) {
    return FigureProblem{"kv_heads", fmt::format("is {:g}, which does not divide the {:g} heads",
                                                 *model.kv_heads, *model.heads)};
  }
  return std::nullopt;
}

std::optional<FigureProblem> problem_of_pipeline(const ModelSpec& model, std::int64_t pipeline) {
  if (!model.layers || static_cast<double>(pipeline) <= *model.layers) return std::nullopt;
  return FigureProblem{"pipeline", fmt::format("is {}, but the model has {:g} layers, and each "
                                               "stage holds one at least",
                                               pipeline, *model.layers)};
}

}  // namespace slurmtune
