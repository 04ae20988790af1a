// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "slurmtune/input/study_input.hpp"
#include "slurmtune/model/history.hpp"
#include "slurmtune/model/memory/model_states.hpp"
#include "slurmtune/model/memory/peak.hpp"
#include "slurmtune/model/memory/training_setup.hpp"
#include "slurmtune/model/statistics.hpp"

namespace slurmtune {

/// What the user's ds_config says of memory: precision and grad_accum_dtype, optimizer, offload,
/// buckets, activation_checkpointing. "auto" precision counts as 16 bits, an optimizer that the
/// config does not name as Adam, buckets that are "auto" as DeepSpeed's defaults.
[[nodiscard]] TrainingSetup training_setup(const DeepSpeedSpec& spec);

/// The same, with what trial.command says in the flags of Hugging Face's Trainer:
/// --gradient_checkpointing, --attn_implementation, --optim, --bf16 and --fp16; and buckets that
/// are "auto" as Transformers resolves them from the hidden size. Source: transformers 4.46,
/// integrations/deepspeed.py (trainer_config_finalize).
[[nodiscard]] TrainingSetup training_setup(const StudySpec& spec);

[[nodiscard]] ParallelLayout parallel_layout(const StudySpec& spec);

/// The model's parameters: the user's figure, else what a trial told (the largest).
[[nodiscard]] std::optional<double> model_params(const StudySpec& spec, const History& history);

/// Memory that one rank may use, in bytes: the smallest that verdicts report, else the site's.
[[nodiscard]] std::optional<double> gpu_capacity(const Site& site, const History& history);

/// What the memory model is asked of a ZeRO stage; nothing if the model's shape is not known.
[[nodiscard]] std::optional<MemoryQuestion> memory_question(const StudySpec& spec,
                                                            const History& history, int zero_stage);

/// Why a ZeRO stage cannot fit whatever its micro-batch, with figures; empty if it may, or if
/// parameters or capacity are unknown: `model states need 18.0 GiB of 16.0 GiB (…)`. Where the
/// model's shape is known, also if the smallest micro-batch is predicted to need more than the
/// memory model may be wrong by (two standard deviations).
[[nodiscard]] std::string cannot_fit(const StudySpec& spec, const Site& site,
                                     const History& history, int zero_stage);

/// Peak bytes against micro-batch in a ZeRO stage, from what the model of memory says and measured
/// peaks (`calibrated`). The prior runs through the micro-batches `first` and `last`; where only
/// the number of parameters is known, one measured micro-batch is joined to the model states at
/// none. Nothing if neither says a slope.
[[nodiscard]] std::optional<AffineFit> memory_line(const StudyInput& input, const History& history,
                                                   int zero_stage, std::span<const Point> peaks,
                                                   double first, double last);

/// Probability that a micro-batch whose peak the fit predicts fits into `capacity` bytes.
/// The allocator needs room that no peak shows, 4 % give or take 3 %; away from the points the
/// slope may be wrong by 5 %.
[[nodiscard]] double fit_probability(const AffineFit& fit, double micro_batch, double capacity);

}  // namespace slurmtune
