// SPDX-License-Identifier: MIT
#include "report.hpp"

#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <string_view>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace minitrain {
namespace {

/// DeepSpeed's throughput timer leaves the first steps out.
constexpr std::uint64_t untimed_steps = 2;
constexpr double bytes_per_gib = 1024.0 * 1024.0 * 1024.0;

void log_line(std::string_view level, std::string_view source, std::string_view text) {
  const auto now = std::chrono::system_clock::now();
  const auto since = now.time_since_epoch();
  const auto milliseconds =
      std::chrono::duration_cast<std::chrono::milliseconds>(since).count() % 1000;
  const std::tm local = fmt::localtime(std::chrono::system_clock::to_time_t(now));
  const std::string line = fmt::format("[{:%Y-%m-%d %H:%M:%S},{:03}] [{}] [{}] {}\n", local,
                                       milliseconds, level, source, text);
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fflush(stdout);  // whoever watches the run times its steps by these lines
}

void plain_line(std::string_view text) {
  const std::string line = fmt::format("{}\n", text);
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fflush(stdout);
}

}  // namespace

Expected<Report> Report::open(const DsConfig& config, const RunFacts& facts,
                              const std::string& metrics_file) {
  Report report(config, facts);
  if (!metrics_file.empty()) {
    report.metrics_name_ = metrics_file;
    report.metrics_.reset(std::fopen(metrics_file.c_str(), "a"));
    if (!report.metrics_) {
      return tl::unexpected(fmt::format("SLURMTUNE_METRICS: {}: cannot be opened: {}", metrics_file,
                                        std::strerror(errno)));
    }
  }
  return report;
}

void Report::begin(std::size_t ranks) {
  for (const std::string& warning : config_.warnings) {
    log_line("WARNING", "ds_config.cpp:minitrain", warning);
  }
  plain_line(
      fmt::format("minitrain: world_size={} zero_stage={} train_batch_size={} micro_batch={} "
                  "gradient_accumulation_steps={} params={}",
                  ranks, config_.zero.stage, config_.batch.global, config_.batch.micro,
                  config_.batch.accumulation, facts_.parameters));
  if (!facts_.device.empty()) plain_line(fmt::format("minitrain: device={}", facts_.device));
  progress(0);
}

void Report::progress(std::uint64_t step) {
  log_line("INFO", "logging.py:96:log_dist",
           fmt::format("[Rank 0] step={}, skipped=0, lr=[{}], mom=[({}, {})]", step,
                       config_.adam.lr, config_.adam.beta1, config_.adam.beta2));
}

double Report::average_samples_per_s() const {
  if (timed_steps_ == 0) return 0;
  return static_cast<double>(config_.batch.global) * static_cast<double>(timed_steps_) / timed_s_;
}

void Report::throughput(const StepOutcome& outcome) {
  log_line(
      "INFO", "timer.py:260:stop",
      fmt::format("epoch=0/micro_step={}/global_step={}, RunningAvgSamplesPerSec={}, "
                  "CurrSamplesPerSec={}, MemAllocated={:.6g}GB, MaxMemAllocated={:.6g}GB",
                  outcome.step * config_.batch.accumulation, outcome.step, average_samples_per_s(),
                  static_cast<double>(config_.batch.global) / outcome.step_s,
                  static_cast<double>(outcome.allocated_bytes) / bytes_per_gib,
                  static_cast<double>(outcome.peak_bytes) / bytes_per_gib));
}

Expected<void> Report::step(const StepOutcome& outcome) {
  last_ = outcome;
  if (outcome.step > untimed_steps) {
    ++timed_steps_;
    timed_s_ += outcome.step_s;
  }
  if (outcome.step % static_cast<std::uint64_t>(config_.steps_per_print) == 0) {
    progress(outcome.step);
    if (timed_steps_ > 0) throughput(outcome);
    plain_line(
        fmt::format("minitrain: loss={:.9g} after optimizer step {}", outcome.loss, outcome.step));
  }
  return append_metrics(outcome);
}

Expected<void> Report::append_metrics(const StepOutcome& outcome) {
  if (!metrics_) return {};
  nlohmann::ordered_json line = {{"step", outcome.step},
                                 {"step_s", outcome.step_s},
                                 {"samples", config_.batch.global},
                                 {"loss", nullptr},
                                 {"peak_gpu_bytes", outcome.peak_bytes}};
  if (std::isfinite(outcome.loss)) line["loss"] = outcome.loss;  // JSON has no NaN
  if (facts_.memory_limit_bytes) line["gpu_bytes"] = *facts_.memory_limit_bytes;
  line["params"] = facts_.parameters;
  const std::string text = line.dump() + "\n";
  const bool written = std::fwrite(text.data(), 1, text.size(), metrics_.get()) == text.size();
  if (written && std::fflush(metrics_.get()) == 0) return {};
  return tl::unexpected(fmt::format("SLURMTUNE_METRICS: {}: cannot be written: {}", metrics_name_,
                                    std::strerror(errno)));
}

void Report::end() {
  plain_line(
      fmt::format("minitrain: done steps={} loss={:.9g} samples_per_s={:.6g} "
                  "peak_bytes={}",
                  last_.step, last_.loss, average_samples_per_s(), last_.peak_bytes));
}

std::string render_model_info(std::size_t parameters, std::uint64_t activation_bytes) {
  const nlohmann::ordered_json info = {{"num_params", parameters},
                                       {"trainable_num_params", parameters},
                                       {"activation_mem_per_gpu", activation_bytes},
                                       {"rank", 0}};
  return info.dump() + "\n";
}

}  // namespace minitrain
