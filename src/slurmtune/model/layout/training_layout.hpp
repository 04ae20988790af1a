// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "slurmtune/input/study_input.hpp"
#include "slurmtune/model/layout/roles.hpp"
#include "slurmtune/model/memory/training_setup.hpp"
#include "slurmtune/model/memory/transformer_shape.hpp"
#include "slurmtune/space/valid_set.hpp"

namespace slurmtune {

/// What a machine does, for each GPU. Defaults are those of an A100.
struct MachineRates {
  double matrix_flops = 312e12;  ///< dense products of 16-bit numbers, at most
  double memory_bytes_per_s = 1.5e12;
  /// Bus bandwidth of collectives among the GPUs of a node, and of all its GPUs' rings at once to
  /// other nodes.
  double node_bytes_per_s = 155e9;
  double network_bytes_per_s = 12.5e9;
  double host_bytes_per_s = 12e9;  ///< to host memory
  double launch_s = 4.5e-6;        ///< of a kernel, by the host
  double gpus_per_node = 8.0;
};

/// By a GPU's name, as drivers tell it: the peak of gpu_peak_flops, and what goes with its
/// generation (memory, links), at 80 to 90 % of the data sheets' bandwidths; the default's for a
/// name that is not known. A100: 155 GB/s is what all-reduces on eight of them do (PKU-DAIR/
/// Hetu-Galvatron, models/…/hardware profiles). Network: one link of 100 Gbit/s for each GPU, 400
/// from Hopper on, as their vendor's own nodes have.
[[nodiscard]] MachineRates machine_rates(std::string_view gpu);

/// What an objective counts, where it is a throughput.
enum class ThroughputUnit { samples, tokens, tokens_per_gpu };

/// What is known of a space's trainings besides their parameters.
struct LayoutFacts {
  TransformerShape shape;  ///< the nominal one (7 billion parameters), if it is not known
  bool shape_is_known = false;
  double expert_params = 0.0;    ///< of `shape.params`, those that experts hold
  double experts_per_token = 2;  ///< that a token is sent to; 8 in most models since 2024
  TrainingSetup setup;
  MachineRates rates;
  ThroughputUnit unit = ThroughputUnit::samples;
  std::optional<double> gpu_bytes;
  // What parameters do not say.
  std::optional<double> gpus;          ///< of a trial
  std::optional<double> global_batch;  ///< samples of a step
  double micro_batch = 1.0;
  std::optional<double> accumulation;
  int zero_stage = 1;
  double tensor = 1.0;
  double pipeline = 1.0;
  double sequence = 1.0;
};

/// Facts without a study: mixed precision with Adam, FSDP's gathering of layers at stage 3.
[[nodiscard]] LayoutFacts nominal_facts();

/// The facts that a study states: [model], [parallel], [batch], [trial], its ds_config and site.
/// `gpu` is a device's name, if it is known ("" = not). Parameters beyond those of the layers and
/// embeddings that [model] describes are taken to be experts'.
[[nodiscard]] LayoutFacts layout_facts(const StudyInput& input, std::string_view gpu);

/// What [model] describes, put into `facts`; nothing happens unless hidden, layers and
/// sequence_length are known.
void set_shape(LayoutFacts& facts, const ModelSpec& model);

/// One training, as a point of a space lays it out.
struct TrainingLayout {
  double micro_batch = 1.0;
  double micro_batches = 1.0;  ///< of a step, for each data-parallel rank
  double zero_stage = 1.0;
  double data = 1.0;
  double tensor = 1.0;
  double pipeline = 1.0;
  double chunks = 1.0;  ///< of a pipeline's stage
  double sequence = 1.0;
  double expert = 1.0;
  double checkpointing = 0.0;  ///< 0 none, 1 selective, 2 full
  double offload = 0.0;        ///< 0 none, 1 the optimizer's states, 2 parameters too
  double sequence_length = 0.0;
  double bucket = 0.0;           ///< elements; 0 = the setup's
  bool tensor_sequence = false;  ///< Megatron's sequence parallelism

  [[nodiscard]] double gpus() const { return data * tensor * pipeline * sequence; }
  [[nodiscard]] double samples() const { return data * micro_batch * micro_batches; }
};

/// Reads points of a space as layouts.
class LayoutReader {
 public:
  /// `sample`: points of the space, any number; where neither a parameter nor the facts say how
  /// many GPUs or micro-batches there are, the most that they need is taken for all.
  LayoutReader(std::span<const LevelParameter> parameters, LayoutFacts facts,
               std::span<const Levels> sample, RoleSource source);

  [[nodiscard]] TrainingLayout of(std::span<const std::int32_t> levels) const;
  [[nodiscard]] const LayoutFacts& facts() const { return facts_; }
  [[nodiscard]] const std::vector<RoledParameter>& parameters() const { return parameters_; }
  /// Whether any parameter is one of a layout.
  [[nodiscard]] bool is_layout() const;

 private:
  [[nodiscard]] std::optional<double> quantity(LayoutRole role,
                                               std::span<const std::int32_t> levels) const;
  void read_degrees(TrainingLayout& layout, std::span<const std::int32_t> levels) const;
  void read_batch(TrainingLayout& layout, std::span<const std::int32_t> levels) const;

  std::vector<RoledParameter> parameters_;
  LayoutFacts facts_;
  double nominal_gpus_ = 1.0;
  double nominal_micro_batches_ = 1.0;
};

}  // namespace slurmtune
