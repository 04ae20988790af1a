// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "slurmtune/input/study_spec.hpp"

namespace slurmtune {

/// Largest figures of a model that are believed; the largest published models stay a factor of a
/// hundred below them, and sums and products of them are finite.
inline constexpr double params_max = 1e15;
inline constexpr double hidden_max = 1e7;
inline constexpr double layers_max = 1e5;
inline constexpr double heads_max = 1e5;
inline constexpr double intermediate_max = 1e8;
inline constexpr double vocabulary_max = 1e9;
inline constexpr double sequence_max = 1e10;

/// A figure that cannot be, or contradicts another one: `heads`, `is 7, which does not divide …`.
struct FigureProblem {
  std::string_view field;  ///< as in [model]
  std::string what;
};

/// Whether a head's size is hidden / heads, or a figure of its own (head_dim, d_kv).
enum class HeadSize { of_hidden, its_own };

/// What is wrong with a model's figures, as far as they are known; nothing if they can be those of
/// a model.
[[nodiscard]] std::optional<FigureProblem> problem_of(const ModelSpec& model, HeadSize head_size);

/// The same of pipeline stages, each of which holds a layer at least.
[[nodiscard]] std::optional<FigureProblem> problem_of_pipeline(const ModelSpec& model,
                                                               std::int64_t pipeline);

}  // namespace slurmtune
