// SPDX-License-Identifier: MIT
#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "slurmtune/cli/command.hpp"
#include "slurmtune/cli/estimate_options.hpp"
#include "slurmtune/cli/open_study.hpp"
#include "slurmtune/cli/output.hpp"
#include "slurmtune/input/hf_config.hpp"
#include "slurmtune/model/memory/buffers.hpp"
#include "slurmtune/model/memory_model.hpp"
#include "slurmtune/report/estimate.hpp"
#include "slurmtune/space/space.hpp"
#include "slurmtune/study/files.hpp"
#include "slurmtune/tune/create_study.hpp"
#include "slurmtune/tune/model_config.hpp"

namespace slurmtune {

namespace {

namespace fs = std::filesystem;

/// All that is known before the command line is put over it.
struct Known {
  EstimateRequest request;
  ModelSpec model;
  std::vector<std::string> notes;
};

void take_measured(const History& history, Known& known) {
  std::size_t taken = 0;
  for (const Trial& trial : history.trials()) {
    const Configuration& configuration = trial.experiment.configuration;
    const auto stage = configuration.integer(zero_stage_parameter);
    const auto micro_batch = configuration.integer(micro_batch_parameter);
    if (!stage || *stage < 0 || *stage > 3 || !micro_batch || !trial.verdict) continue;
    const auto& peak = trial.verdict->metrics.peak_gpu_bytes;
    if (!peak || !is_comparable(*peak) || rule_of(trial.outcome()).memory != MemoryEvidence::fits) {
      continue;
    }
    known.request.measured.at(static_cast<std::size_t>(*stage))
        .push_back({static_cast<double>(*micro_batch), *peak});
    ++taken;
  }
  if (taken > 0) known.notes.push_back(fmt::format("{} peaks of the study are used", taken));
}

Expected<void> take_study(const std::string& path, Known& known) {
  std::error_code code;
  StudyInput input;
  History history;
  if (fs::is_directory(path, code)) {
    SLURMTUNE_TRY(OpenStudy study, open_study(path, LocalPart::bystander, SlurmNeed::when_asked));
    SLURMTUNE_TRY(input, study.autotuner->directory().read_input());
    SLURMTUNE_TRY(const StudyView view, study.autotuner->look(Autotuner::Queue::skip));
    if (!view.plan.stages.empty()) {
      for (const StageHistory& stage : history_of(view, view.plan.stages.size() - 1)) {
        history.add(stage.manifest, stage.verdicts);
      }
    }
  } else {
    SLURMTUNE_TRY(const LoadedStudy loaded, load_study(path, {}));
    input = loaded.input;
  }
  const StudySpec& spec = input.spec;
  if (!spec.deepspeed) {
    return invalid_input(
        fmt::format("{}: is no DeepSpeed study, so that nothing is known of its memory; give the "
                    "model by options",
                    path));
  }
  known.model = spec.model;
  known.model.params = model_params(spec, history);
  known.request.setup = training_setup(spec);
  known.request.layout = parallel_layout(spec);
  known.request.gpu_bytes = gpu_capacity(input.site, history).value_or(0.0);
  known.request.host_bytes = input.site.node_bytes;
  known.request.micro_batch = spec.deepspeed->micro_batch;
  known.request.micro_batch_cap = spec.batch.micro_batch_cap;
  known.notes = spec.notes;
  take_measured(history, known);
  return {};
}

Expected<void> take_model(const std::string& name, Known& known) {
  const auto config = find_model_config(name, fs::current_path());
  if (!config) {
    return invalid_input(fmt::format("--model: {}", not_found_in_words(name, fs::current_path())));
  }
  SLURMTUNE_TRY(std::string text, read_file(*config));
  const std::string path = config->lexically_normal().string();
  SLURMTUNE_TRY(const HfModel model, read_hf_config({path, std::move(text)}));
  const auto sequence = known.model.sequence_length;
  known.model = model.shape;
  known.model.sequence_length = sequence ? sequence : model.positions;
  known.notes.push_back(fmt::format("the model is that of {} ({})", path, model.model_type));
  return {};
}

/// A shape of which only the size may be known.
Expected<TransformerShape> shape_of(Known& known) {
  if (auto shape = transformer_shape(known.model)) return *shape;
  if (!known.model.params) {
    return invalid_input(
        "what is the model? Give --model CONFIG.json, or --params, --hidden, --layers and "
        "--sequence, or a study");
  }
  TransformerShape shape;
  shape.params = *known.model.params;
  shape.trainable = std::min(shape.params, known.model.trainable_params.value_or(shape.params));
  known.notes.emplace_back(
      "activations are not counted: --hidden, --layers and --sequence are needed for that");
  return shape;
}

Expected<ExitCode> estimate(const EstimateArguments& arguments) {
  Known known;
  known.request.setup.precision = Precision::bf16;
  if (!arguments.study.empty()) SLURMTUNE_CHECK(take_study(arguments.study, known));
  if (!arguments.model.empty()) SLURMTUNE_CHECK(take_model(arguments.model, known));
  SLURMTUNE_CHECK(arguments.apply(known.request, known.model));
  SLURMTUNE_TRY(known.request.shape, shape_of(known));
  if (arguments.framework.starts_with("fsdp")) {
    known.request.setup.buckets =
        fsdp_buckets(known.request.shape, known.request.layout,
                     arguments.framework == "fsdp" ? FsdpEmbeddings::root : FsdpEmbeddings::units);
  }
  if (!(known.request.gpu_bytes > 0.0)) {
    return invalid_input(
        "how much memory has a GPU? Give --gpu-memory 80GiB, or its name, as A100-80GB");
  }
  const TransformerShape& shape = known.request.shape;
  if (shape.hidden > 0.0 && !(shape.vocabulary > 0.0)) {
    known.notes.emplace_back("logits are not counted: --vocabulary is needed for that");
  }
  const auto rows = estimate_rows(known.request);
  const EstimateReport report{known.request, rows, known.notes};
  if (arguments.json) {
    print(estimate_json(report));
  } else {
    print(estimate_text(report, colour_of_output()));
  }
  return ExitCode::done;
}

}  // namespace

void add_estimate_command(CLI::App& app, Command& selected) {
  CLI::App* command = add_subcommand(
      app, "estimate", "Tell what fills the memory of a training step, and what fits",
      "  slurmtune estimate --params 7e9 --hidden 4096 --layers 32 --sequence 2048 "
      "--vocabulary 32000 \\\n"
      "      --gpu-memory A100-80GB --processes-per-node 8\n"
      "  slurmtune estimate --model config.json --sequence 4096 --gpu-memory 80GiB --nodes 2\n"
      "  slurmtune estimate slurmtune-gpt2               with the peaks that were measured");
  auto arguments = std::make_shared<EstimateArguments>();
  arguments->add_to(*command);
  command->callback([arguments, &selected] {
    selected = [arguments]() -> Expected<ExitCode> { return estimate(*arguments); };
  });
}

}  // namespace slurmtune
