// SPDX-License-Identifier: MIT
#include "slurmtune/runner/measure/sources/sources.hpp"

#include <cmath>

#include "slurmtune/runner/measure/sources/line_fields.hpp"

#include "tests/support/catch.hpp"

namespace slurmtune {

TEST_CASE("parse_deepspeed_line: its own speed is a metric, not the measurement", "[runner]") {
  const auto report = parse_deepspeed_line(
      "[2023-06-08 08:53:14,058] [INFO] [timer.py:199:stop] epoch=0/micro_step=20/global_step=10, "
      "RunningAvgSamplesPerSec=94.08651172, CurrSamplesPerSec=95.28384, MemAllocated=0.5GB, "
      "MaxMemAllocated=1.5GB");
  REQUIRE(report.has_value());
  CHECK(report->step == 10);
  CHECK_FALSE(report->step_s.has_value());
  CHECK_FALSE(report->samples.has_value());
  CHECK(report->user.at("deepspeed_samples_per_s") == Approx(95.28384));
}

TEST_CASE("parse_deepspeed_line: the pipeline engine has a line of its own", "[runner]") {
  const auto report =
      parse_deepspeed_line("steps: 30 loss: 2.3026 iter time (s): 0.512 samples/sec: 62.500");
  REQUIRE(report.has_value());
  CHECK(report->step == 30);
  CHECK(report->loss == 2.3026);
}

TEST_CASE("parse_hf_line: the bar tells the step, whichever way its speed is written", "[runner]") {
  for (const char* line : {"  5%|▌         | 5/100 [00:03<01:00,  1.57it/s]",
                           " 5%|5         | 5/100 [00:13<04:13,  2.67s/it]"}) {
    INFO(line);
    const auto report = parse_hf_line(line);
    REQUIRE(report.has_value());
    CHECK(report->step == 5);
    CHECK(report->steps_in_all == 100);
    CHECK_FALSE(report->step_s.has_value());
  }
  for (const char* line :
       {"", "  0%|          | 0/100 [00:00<?, ?it/s]",
        "Map: 100%|██████████| 1000/1000 [00:00<00:00, 20450.12 examples/s]",
        "Loading checkpoint shards: 100%|██████████| 2/2 [00:01<00:00,  1.57it/s]",
        "model.safetensors:  12%|█▏        | 120M/1.00G [00:03<00:25, 34.1MB/s]",
        "100%|██████████| 120M/120M [00:03<00:00, 34.1MB/s]", "5% of the data | 5/100 [it/s"}) {
    INFO(line);
    CHECK_FALSE(parse_hf_line(line).has_value());
  }
}

TEST_CASE("parse_hf_line: the dict tells the loss, the summary figures to compare with",
          "[runner]") {
  const auto report = parse_hf_line(
      "{'loss': 2.3456, 'grad_norm': 1.234, 'learning_rate': 4.9e-05, 'epoch': 0.01}");
  REQUIRE(report.has_value());
  CHECK(report->loss == 2.3456);
  CHECK_FALSE(report->ends_step());
  CHECK(parse_hf_line("{'loss': '0.6931', 'epoch': '0.02'}")->loss == 0.6931);
  CHECK(std::isnan(parse_hf_line("{'loss': nan, 'learning_rate': 0.0}")->loss.value()));
  const auto summary = parse_hf_line(
      "{'train_runtime': 12.3, 'train_samples_per_second': 81.2, 'train_steps_per_second': 10.15, "
      "'train_loss': 2.1, 'epoch': 1.0}");
  REQUIRE(summary.has_value());
  CHECK(summary->user.at("train_samples_per_second") == 81.2);
  CHECK_FALSE(summary->loss.has_value());
  CHECK_FALSE(summary->ends_step());
  CHECK_FALSE(parse_hf_line("{'eval_loss': 2.1, 'eval_runtime': 0.4}").has_value());
}

TEST_CASE("parse_megatron_line: a mean time, the batch, the loss and what was skipped",
          "[runner]") {
  const auto report = parse_megatron_line(
      " [2024-04-06 02:59:36] iteration       43/     100 | consumed samples:         5504 | "
      "elapsed time per iteration (ms): 5444.9 | throughput per GPU (TFLOP/s/GPU): 239.8 | "
      "learning "
      "rate: 8.600000E-06 | global batch size:   128 | lm loss: 1.825991E+00 | loss scale: 1.0 | "
      "grad norm: 1.426 | number of skipped iterations:   1 | number of nan iterations:   0 |");
  REQUIRE(report.has_value());
  CHECK(report->step == 43);
  CHECK(report->step_s == Approx(5.4449));
  CHECK(report->is_mean);
  CHECK(report->samples == 128.0);
  CHECK(report->loss == 1.825991);
  CHECK(report->skipped_now == 1);
  CHECK(report->flops_per_gpu == Approx(239.8e12));
}

TEST_CASE("parse_megatron_line: other lines say nothing, impossible values are refused",
          "[runner]") {
  CHECK_FALSE(parse_megatron_line("validation loss at iteration 100 | lm loss value: 2.1E+00"));
  CHECK_FALSE(parse_megatron_line("").has_value());
  const auto odd = parse_megatron_line(
      "iteration 5/ 100 | elapsed time per iteration (ms): 0.0 | global batch size: 8 | number of "
      "nan iterations: 2 |");
  REQUIRE(odd.has_value());
  CHECK(odd->step == 5);
  CHECK_FALSE(odd->step_s.has_value());
  CHECK(odd->refused.count("step_s") == 1);
  CHECK(std::isnan(odd->loss.value()));
}

TEST_CASE("parse_megatron_line: NeMo's lines, of both versions", "[runner]") {
  const auto first = parse_megatron_line(
      "Epoch 0: :  10%|█         | 10/100 [00:20<03:00, v_num=0, reduced_train_loss=9.120, "
      "global_step=9.000, consumed_samples=1280.0, train_step_timing in s=1.980]");
  REQUIRE(first.has_value());
  CHECK(first->step == 10);
  CHECK(first->step_s == 1.98);
  CHECK(first->loss == 9.12);
  const auto second = parse_megatron_line(
      "Training epoch 0, iteration 5/99 | lr: 1.2e-06 | global_batch_size: 512 | global_step: 5 | "
      "reduced_train_loss: 11.03 | train_step_timing in s: 12.63 | consumed_samples: 3072");
  REQUIRE(second.has_value());
  CHECK(second->step == 6);
  CHECK(second->step_s == 12.63);
  CHECK(second->samples == 512.0);
}

TEST_CASE("parse_nanotron_line: numbers for people become SI", "[runner]") {
  const auto report = parse_nanotron_line(
      "01/17/2024 14:02:16 [INFO|DP=0|PP=0|TP=0|n1]: iteration: 992 / 1000 | consumed_tokens: 635K "
      "| "
      "elapsed_time_per_iteration_ms: 1.27K | tokens_per_sec: 2.39K | tokens_per_sec_per_gpu: 298 "
      "| "
      "global_batch_size: 1.02K | lm_loss: 9.69 | lr: 1e-05 | model_tflops_per_gpu: 38.3 | "
      "hardware_tflops_per_gpu: 40.1 | grad_norm: 1.1 | cuda_memory_allocated: 90.9M | "
      "cuda_max_memory_reserved: 570M | hd_total_memory_tb: 312G");
  REQUIRE(report.has_value());
  CHECK(report->step == 992);
  CHECK_FALSE(report->step_s.has_value());
  CHECK(report->samples == 1020.0);
  CHECK(report->loss == 9.69);
  CHECK(report->flops_per_gpu == Approx(38.3e12));
  CHECK(report->peak_gpu_bytes == 570e6);
  CHECK(report->user.at("tokens_per_s_per_gpu") == 298.0);
  CHECK_FALSE(parse_nanotron_line("iteration: 5 / 100 | nothing else").has_value());
}

TEST_CASE("parse_torchtitan_line: with colours and without", "[runner]") {
  for (const char* line :
       {"[titan] 2026-02-24 19:46:17,508 - root - INFO - step:  4  loss:  7.62585  grad_norm: "
        "26.6250  memory: 66.91GiB(37.51%)  tps: 10,050  tflops: 314.71  mfu: 13.99%",
        "[titan] 2025-06-16 22:30:50,322 - root - INFO - \x1b[31mstep:  4  \x1b[32mloss:  7.62585  "
        "\x1b[33mmemory: 66.91GiB(37.51%)  \x1b[34mtps: 10,050  \x1b[36mtflops: 314.71  "
        "\x1b[35mmfu: 13.99%\x1b[39m"}) {
    INFO(line);
    const auto report = parse_torchtitan_line(line);
    REQUIRE(report.has_value());
    CHECK(report->step == 4);
    CHECK(report->loss == 7.62585);
    CHECK(report->peak_gpu_bytes == Approx(66.91 * 1024 * 1024 * 1024));
    CHECK(report->gpu_bytes == Approx(178.4 * 1024 * 1024 * 1024).epsilon(0.001));
    CHECK(report->user.at("tokens_per_s_per_gpu") == 10050.0);
    CHECK(report->flops_per_gpu == Approx(314.71e12));
    CHECK_FALSE(report->step_s.has_value());
  }
  CHECK_FALSE(parse_torchtitan_line("Dumping profiler traces at step 200").has_value());
  CHECK_FALSE(parse_torchtitan_line("validate step: 10  loss: 2.1").has_value());
}

TEST_CASE("human_number: thousands by commas and by letters", "[runner]") {
  CHECK(human_number("1,234 tokens") == 1234.0);
  CHECK(human_number(" 11.5K |") == 11500.0);
  CHECK(human_number("85.8G") == 85.8e9);
  CHECK(human_number("0.5B") == 0.5e9);
  CHECK(human_number("1e-05 |") == 1e-05);
  CHECK_FALSE(human_number("K").has_value());
  CHECK_FALSE(human_number("").has_value());
}

TEST_CASE("every source: no line of another trainer, cut anywhere, is a step", "[runner]") {
  const std::string line =
      "iteration: 5 / 9 | step: 7 loss: nan tps: , memory: GiB( [Rank 0] step=, skipped= {'loss': "
      "5%|| / [it/s elapsed time per iteration (ms): | elapsed_time_per_iteration_ms: \x1b[";
  for (std::size_t end = 0; end <= line.size(); ++end) {
    const std::string_view part = std::string_view(line).substr(0, end);
    CHECK_FALSE(parse_deepspeed_line(part).has_value());
    CHECK_FALSE(parse_megatron_line(part).has_value());
    const auto hf = parse_hf_line(part);
    CHECK((!hf || !hf->ends_step()));
  }
}

}  // namespace slurmtune
