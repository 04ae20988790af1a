// SPDX-License-Identifier: MIT
#include "slurmtune/runner/measure/step_report.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <nlohmann/json.hpp>

#include "slurmtune/record/json.hpp"

namespace slurmtune {

namespace {

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

/// The names that mean something, and where they go.
struct Place {
  std::string_view name;
  std::optional<double> StepReport::*place;
};
constexpr std::array<Place, 9> places{{{"step_s", &StepReport::step_s},
                                       {"samples", &StepReport::samples},
                                       {"peak_gpu_bytes", &StepReport::peak_gpu_bytes},
                                       {"gpu_bytes", &StepReport::gpu_bytes},
                                       {"params", &StepReport::params},
                                       {"layers", &StepReport::layers},
                                       {"hidden", &StepReport::hidden},
                                       {"sequence_length", &StepReport::sequence_length},
                                       {"flops_per_gpu", &StepReport::flops_per_gpu}}};

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

void read_metric(StepReport& report, const std::string& key, double value) {
  if (key == "loss") {
    report.loss = value;
  } else if (key == "step" || key == "skipped") {
    // Beyond 2^53 a double counts no more steps.
    constexpr double most = 9e15;
    if (value >= 0 && value <= most) {
      (key == "step" ? report.step : report.skipped) = std::llround(value);
    } else {
      report.refused[key] = value;
    }
  } else {
    const auto known = std::find_if(places.begin(), places.end(),
                                    [&](const Place& place) { return place.name == key; });
    if (known != places.end()) {
      // Where there is no GPU, its memory is 0.
      if (value == 0 && key.ends_with("_bytes")) return;
      take_positive(report.*known->place, report, key, value);
    } else if (std::isfinite(value)) {
      report.user[key] = value;
    }
  }
}

}  // namespace

void take_positive(std::optional<double>& place, StepReport& report, std::string_view name,
                   double value) {
  if (value > 0 && std::isfinite(value)) {
    place = value;
  } else {
    report.refused[std::string(name)] = value;
  }
}

std::optional<StepReport> parse_metrics_line(std::string_view line) {
  Json json = Json::parse(line, nullptr, false);
  if (json.is_discarded()) json = Json::parse(without_nan(line), nullptr, false);
  if (!json.is_object()) return std::nullopt;
  StepReport report;
  for (const auto& [key, value] : json.items()) {
    if (value.is_number()) read_metric(report, key, value.get<double>());
    if (value.is_null()) read_metric(report, key, not_a_number);
  }
  return report;
}

}  // namespace slurmtune
