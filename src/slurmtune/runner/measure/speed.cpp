// SPDX-License-Identifier: MIT
#include "slurmtune/runner/measure/speed.hpp"

#include <fmt/format.h>

namespace slurmtune {

Speed judge_speed(const SpeedInput& input) {
  const auto counted_at = [&](const std::optional<double>& step_s) -> std::optional<double> {
    if (!step_s || !input.samples) return std::nullopt;
    return achieved_flops_per_gpu(input.shape, {*step_s, *input.samples, input.gpus});
  };
  const auto counted = counted_at(input.step_s);
  const auto peak = gpu_peak_flops(input.gpu);
  Speed speed;
  const auto believe = [&](const std::optional<double>& flops, std::string_view whose) {
    if (!flops || speed.flops_per_gpu) return;
    if (!peak || *flops <= *peak) {
      speed.flops_per_gpu = flops;
      return;
    }
    if (!speed.note.empty()) speed.note += "; ";
    speed.note +=
        fmt::format("flops_per_gpu {:.3g} ({}) is above the peak of {:.3g} of {}: refused", *flops,
                    whose, *peak, input.gpu);
  };
  believe(counted, "counted from the model's shape");
  if (counted && !speed.flops_per_gpu) {
    const auto by_arrival = counted_at(input.arrival_step_s);
    constexpr double twice = 2.0;
    speed.impossible_times = by_arrival && *by_arrival <= *peak && *counted > twice * *by_arrival;
  }
  believe(input.told_flops_per_gpu, "told by the trial");
  return speed;
}

ModelShape shape_of(const ModelSpec& model, const ModelShape& told) {
  ModelShape shape = told;
  if (model.params) shape.params = model.params;
  if (model.layers) shape.layers = model.layers;
  if (model.hidden) shape.hidden = model.hidden;
  if (model.sequence_length) shape.sequence_length = model.sequence_length;
  return shape;
}

std::string describe_refused(const StepMeter& meter) {
  std::string text;
  for (const auto& [name, refused] : meter.refused()) {
    if (!text.empty()) text += ", ";
    text += refused.count == 1
                ? fmt::format("{} once ({:g})", name, refused.last)
                : fmt::format("{} {} times (last {:g})", name, refused.count, refused.last);
  }
  return text;
}

}  // namespace slurmtune
