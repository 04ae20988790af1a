// SPDX-License-Identifier: MIT
#include "slurmtune/runner/measure/step_report.hpp"

#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>
#include <system_error>

#include <nlohmann/json.hpp>

#include "slurmtune/record/json.hpp"

namespace slurmtune {

namespace {

constexpr double bytes_per_gib = 1024.0 * 1024.0 * 1024.0;

/// The number at the start of `text`.
template <class Number>
std::optional<Number> leading_number(std::string_view text) {
  Number value{};
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc{}) return std::nullopt;
  return value;
}

/// The number after `key`, where `key` does not continue a longer word.
template <class Number>
std::optional<Number> number_after(std::string_view line, std::string_view key) {
  for (std::size_t at = line.find(key); at != std::string_view::npos; at = line.find(key, at + 1)) {
    const bool whole = at == 0 || (std::isalnum(static_cast<unsigned char>(line[at - 1])) == 0 &&
                                   line[at - 1] != '_');
    if (whole) return leading_number<Number>(line.substr(at + key.size()));
  }
  return std::nullopt;
}

/// Replaces the words that Python writes for numbers that JSON has not, outside of strings.
std::string without_nan(std::string_view line) {
  std::string clean;
  bool in_string = false;
  for (std::size_t at = 0; at < line.size();) {
    std::size_t length = 0;
    if (!in_string) {
      for (const std::string_view word : {"-Infinity", "Infinity", "NaN"}) {
        if (line.substr(at).starts_with(word)) length = word.size();
        if (length != 0) break;
      }
    }
    if (length != 0) {
      clean += "null";
      at += length;
      continue;
    }
    const bool escaped = in_string && line[at] == '\\' && at + 1 < line.size();
    if (line[at] == '"') in_string = !in_string;
    clean += line[at++];
    if (escaped) clean += line[at++];
  }
  return clean;
}

void read_metric(StepReport& report, const std::string& key, double value) {
  if (key == "step_s") {
    if (value > 0) report.step_s = value;
  } else if (key == "samples") {
    if (value > 0) report.samples = value;
  } else if (key == "loss") {
    report.loss = value;
  } else if (key == "peak_gpu_bytes") {
    report.peak_gpu_bytes = value;
  } else if (key == "gpu_bytes") {
    report.gpu_bytes = value;
  } else if (key == "params") {
    report.params = value;
  } else if (key == "flops_per_gpu") {
    report.flops_per_gpu = value;
  } else {
    report.user[key] = value;
  }
}

}  // namespace

std::optional<StepReport> parse_deepspeed_line(std::string_view line) {
  StepReport report;
  if (line.find("SamplesPerSec=") != std::string_view::npos) {
    report.step = number_after<std::int64_t>(line, "global_step=");
    if (const auto gib = number_after<double>(line, "MaxMemAllocated=")) {
      if (*gib > 0) report.peak_gpu_bytes = *gib * bytes_per_gib;
    }
  } else if (line.find(", skipped=") != std::string_view::npos) {
    report.step = number_after<std::int64_t>(line, "step=");
    report.skipped = number_after<std::int64_t>(line, "skipped=");
  }
  if (!report.step || *report.step <= 0) return std::nullopt;
  return report;
}

std::optional<StepReport> parse_metrics_line(std::string_view line) {
  Json json = Json::parse(line, nullptr, false);
  if (json.is_discarded()) json = Json::parse(without_nan(line), nullptr, false);
  if (!json.is_object()) return std::nullopt;
  StepReport report;
  for (const auto& [key, value] : json.items()) {
    if (key == "loss" && value.is_null()) {
      report.loss = std::numeric_limits<double>::quiet_NaN();
    } else if (key == "step" && value.is_number()) {
      report.step = std::llround(value.get<double>());
    } else if (value.is_number() && std::isfinite(value.get<double>())) {
      read_metric(report, key, value.get<double>());
    }
  }
  return report;
}

}  // namespace slurmtune
