// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string_view>

#include "slurmtune/runner/measure/step_report.hpp"

namespace slurmtune {

// One parser a trainer: what a line of its output says of a step; nothing if it is no step line.
// Lines come without launcher prefixes. Units become seconds, bytes and FLOP/s.

/// Reads the step lines of DeepSpeed, each printed every `steps_per_print` steps:
///
///     [...] [Rank 0] step=10, skipped=0, lr=[0.001], mom=[(0.9, 0.999)]
///     [...] epoch=0/micro_step=10/global_step=10, RunningAvgSamplesPerSec=…, MaxMemAllocated=1.5GB
///     steps: 10 loss: 2.3000 iter time (s): 0.512 samples/sec: 62.5       (pipeline engine)
///
/// They are timed by their arrival: DeepSpeed's own figure is a mean over steps that it chooses,
/// and is kept beside as the metric `deepspeed_samples_per_s`. Step 0 is no step that ended. Memory
/// is in GiB although DeepSpeed writes GB. Source: deepspeed/runtime/engine.py (_report_progress),
/// deepspeed/utils/timer.py (ThroughputTimer.stop), deepspeed/runtime/pipe/engine.py, 0.9 to 0.17.
[[nodiscard]] std::optional<StepReport> parse_deepspeed_line(std::string_view line);

/// Reads what the Trainer of Hugging Face Transformers shows: its progress bar, which tells the
/// step, timed by its arrival (the runner splits at carriage returns), and the dict of a log step,
/// which tells the loss. The bar has no description and counts `it/s` or `s/it`; `steps_in_all` is
/// its end, by which bars of evaluations are told apart. The summary at the end (train_samples_per_
/// second, train_steps_per_second) is kept as metrics, to compare with. Source: transformers/
/// trainer_callback.py (ProgressCallback), 4.20 to 5.0; tqdm/std.py (format_meter).
[[nodiscard]] std::optional<StepReport> parse_hf_line(std::string_view line);

/// Reads the iteration lines of Megatron-LM (and of Megatron-DeepSpeed):
///
///      [2024-04-06 02:59:36] iteration       43/     100 | consumed samples:         5504 |
///      elapsed time per iteration (ms): 5444.9 | … | global batch size:   128 | lm loss: 1.8E+00 |
///      … | number of skipped iterations:   0 | number of nan iterations:   0 |
///
/// The time is the mean since the line before (log_interval), without evaluations and saves; so are
/// the counts. Also of NeMo: `train_step_timing in s`, behind a bar (1.x: key=value) or between
/// bars (2.x: key: value). Source: megatron/training/training.py (training_log); nemo/utils/
/// callbacks, nemo/lightning.
[[nodiscard]] std::optional<StepReport> parse_megatron_line(std::string_view line);

/// Reads the iteration lines of nanotron:
///
///     … iteration: 992 / 1000 | consumed_tokens: 635K | elapsed_time_per_iteration_ms: 268 |
///     tokens_per_sec: 2.39K | … | global_batch_size: 20 | lm_loss: 9.69 | … |
///     model_tflops_per_gpu: 0.00755 | hardware_tflops_per_gpu: 0.00761 | grad_norm: 1.1
///
/// Its numbers have three digits: steps are timed by the lines' arrival. Source: nanotron/
/// trainer.py (train_step_logs), nanotron/logging (human_format).
[[nodiscard]] std::optional<StepReport> parse_nanotron_line(std::string_view line);

/// Reads the step lines of torchtitan, with or without colours:
///
///     … step: 10  loss:  7.62585  grad_norm: 26.6250  memory: 66.91GiB(37.51%)  tps: 10,050
///     tflops: 314.71  mfu: 13.99%
///
/// Timed by their arrival, shared among the steps since the line before (metrics.log_freq).
/// Source: torchtitan/components/metrics.py (MetricsProcessor.log).
[[nodiscard]] std::optional<StepReport> parse_torchtitan_line(std::string_view line);

}  // namespace slurmtune
