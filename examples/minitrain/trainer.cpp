// SPDX-License-Identifier: MIT
#include "trainer.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "samples.hpp"

namespace minitrain {
namespace {

Checkpointing checkpointing_of(const Options& options, const DsConfig& config) {
  const bool on = options.activation_checkpointing || config.activation_checkpointing;
  return on ? Checkpointing::on : Checkpointing::off;
}

}  // namespace

Trainer::Trainer(const Options& options, const DsConfig& config, const Ranks& ranks,
                 DeviceMemory& memory)
    : options_{options},
      config_{config},
      ranks_{ranks},
      memory_{memory},
      layout_{ShardLayout::make(unit_elements(options.model), ranks.size())},
      parameters_{make_parameter_store(layout_, config.zero, ranks, memory,
                                       [&](std::size_t unit, std::size_t index) {
                                         return initial_value(options.model, options.seed, unit,
                                                              index);
                                       })},
      gradients_{make_gradient_store(layout_, config.zero, ranks, memory)},
      adam_{config.adam,
            config.zero.stage == 0 ? layout_.padded_elements() : layout_.shard_elements(), memory},
      model_{options.model, checkpointing_of(options, config), memory},
      inputs_{memory, rows() * options.model.input},
      targets_{memory, rows() * options.model.input},
      staged_(memory.device().memory_is_host() ? 0 : 2 * rows() * options.model.input) {}

void Trainer::load_micro_batch(std::uint64_t step, std::size_t micro_batch, Spoil spoil) {
  const Batch& batch = config_.batch;
  const SampleShape shape = {options_.sequence, options_.model.input};
  const std::size_t sample_elements = shape.sequence * shape.input;
  const std::uint64_t first = (step - 1) * batch.global +
                              micro_batch * batch.micro * ranks_.size() +
                              ranks_.index() * batch.micro;
  const bool direct = staged_.empty();
  const std::span<float> staged{staged_};
  const std::span<float> inputs = direct ? inputs_.span() : staged.first(inputs_.size());
  const std::span<float> targets = direct ? targets_.span() : staged.last(targets_.size());
  for (std::size_t i = 0; i < batch.micro; ++i) {
    make_sample(options_.seed, first + i, shape,
                inputs.subspan(i * sample_elements, sample_elements),
                targets.subspan(i * sample_elements, sample_elements));
  }
  if (spoil == Spoil::loss) inputs[0] = std::numeric_limits<float>::quiet_NaN();
  if (direct) return;
  memory_.device().upload(inputs, inputs_.data());
  memory_.device().upload(targets, targets_.data());
}

StepOutcome Trainer::train_step(std::uint64_t step) {
  const double started_s = MPI_Wtime();
  Spoil spoil = Spoil::nothing;
  if (options_.fault) spoil = inject_fault(*options_.fault, step, ranks_, memory_);
  delay_step(options_.delay, ranks_);
  // The mean over this rank's share of the batch; the average over the ranks does the rest.
  const auto outputs = static_cast<double>(rows() * options_.model.input);
  const auto loss_factor =
      static_cast<float>(1.0 / (outputs * static_cast<double>(config_.batch.accumulation)));
  double squared_error = 0;
  for (std::size_t i = 0; i < config_.batch.accumulation; ++i) {
    load_micro_batch(step, i, spoil);
    squared_error += model_.forward(inputs_.span(), targets_.span(), rows(), *parameters_);
    model_.backward(loss_factor, *parameters_, *gradients_);
  }
  gradients_->finish_step();
  update_parameters();
  memory_.device().finish();
  return gather_outcome(step, MPI_Wtime() - started_s, squared_error);
}

void Trainer::update_parameters() {
  adam_.begin_step();
  for (std::size_t unit = 0; unit < layout_.units().size(); ++unit) {
    const Unit& place = layout_.units()[unit];
    const std::size_t first = config_.zero.stage == 0 ? place.offset : place.shard_offset;
    adam_.update(first, gradients_->owned(unit), parameters_->owned(unit));
  }
  gradients_->clear();
  parameters_->publish();
}

StepOutcome Trainer::gather_outcome(std::uint64_t step, double step_s, double squared_error) {
  constexpr int numbers = 3;
  const std::array<double, numbers> own = {step_s, squared_error,
                                           static_cast<double>(memory_.peak_bytes())};
  std::vector<double> all(numbers * ranks_.size());
  MPI_Gather(own.data(), numbers, MPI_DOUBLE, all.data(), numbers, MPI_DOUBLE, 0,
             ranks_.communicator);
  StepOutcome outcome = {.step = step,
                         .step_s = 0,
                         .loss = 0,
                         .peak_bytes = 0,
                         .allocated_bytes = memory_.allocated_bytes()};
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    const double* numbers_of_rank = all.data() + rank * numbers;
    outcome.step_s = std::max(outcome.step_s, numbers_of_rank[0]);
    outcome.loss += numbers_of_rank[1];
    outcome.peak_bytes =
        std::max(outcome.peak_bytes, static_cast<std::uint64_t>(numbers_of_rank[2]));
  }
  outcome.loss /=
      static_cast<double>(config_.batch.global * options_.sequence * options_.model.input);
  return outcome;
}

std::uint64_t Trainer::measure_activation_bytes() {
  load_micro_batch(1, 0, Spoil::nothing);
  const std::uint64_t before = memory_.allocated_bytes();
  const double squared_error =
      model_.forward(inputs_.span(), targets_.span(), rows(), *parameters_);
  static_cast<void>(squared_error);  // only the memory is of interest
  return memory_.allocated_bytes() - before;
}

}  // namespace minitrain
