// SPDX-License-Identifier: MIT
#include <array>

#include "slurmtune/input/key_table.hpp"
#include "slurmtune/input/model_figures.hpp"

namespace slurmtune {

namespace {

constexpr Bounds any_count{0, 1e12};

constexpr std::array<Word, 3> tuner_words{{{"gridsearch"}, {"random"}, {"model_based"}}};

constexpr std::array<KeyRow, 5> model_info_rows{{
    {"profile", shape_boolean | shape_null, "\"profile\": false",
     "Not used: the baseline tells the model's facts."},
    {"num_params",
     shape_real | shape_null,
     "\"num_params\": 774030080",
     "Parameters of the model.",
     {1, params_max}},
    {"hidden_size",
     shape_integer | shape_null,
     "\"hidden_size\": 1280",
     "Hidden size of the model.",
     {1, hidden_max}},
    {"num_layers",
     shape_integer | shape_null,
     "\"num_layers\": 36",
     "Layers of the model.",
     {1, layers_max}},
    {"activation_mem_per_gpu", shape_real | shape_null, "\"activation_mem_per_gpu\": 1e9",
     "Not used: peaks are measured."},
}};
constexpr KeyTable model_info_table{"\"autotuning.model_info\"", "autotuning.model_info.",
                                    model_info_rows};

// Source: deepspeed/autotuning/{config,constants}.py of DeepSpeed 0.14 to 0.19. A key that moves
// nothing here says why; it is known, so that a misspelt one is not.
constexpr std::array<KeyRow, 23> autotuning_rows{{
    {"enabled", shape_boolean, "\"enabled\": true", "Not used: who calls slurmtune wants to tune."},
    {"fast", shape_boolean, "\"fast\": true", "Tune ZeRO stage and batch only."},
    {"metric", shape_string, "\"metric\": \"throughput\"", "throughput, latency or FLOPS."},
    {"arg_mappings", shape_string_map | shape_null,
     "\"arg_mappings\": {\"train_micro_batch_size_per_gpu\": \"--batch\"}",
     "DeepSpeed key to the script's own flag."},
    {"max_train_batch_size",
     shape_integer | shape_null,
     "\"max_train_batch_size\": 512",
     "As batch.max_global.",
     {1, 1e12}},
    {"min_train_batch_size", shape_integer | shape_null, "\"min_train_batch_size\": 1",
     "Smallest global batch.", any_count},
    {"max_train_micro_batch_size_per_gpu",
     shape_integer | shape_null,
     "\"max_train_micro_batch_size_per_gpu\": 64",
     "Largest micro-batch.",
     {1, 1e6}},
    {"min_train_micro_batch_size_per_gpu",
     shape_integer | shape_null,
     "\"min_train_micro_batch_size_per_gpu\": 1",
     "Smallest micro-batch.",
     {0, 1e6}},
    {"mp_size", shape_integer, "\"mp_size\": 1", "As parallel.tensor.", {1, 1e6}},
    {"model_info",
     shape_table | shape_null,
     "\"model_info\": {\"num_params\": 774030080}",
     "Facts about the model.",
     {},
     {},
     &model_info_table},
    {"tuner_type",
     shape_word,
     "\"tuner_type\": \"gridsearch\"",
     "Not used: [search] strategy says how the space is searched.",
     {},
     tuner_words},
    {"tuner_num_trials",
     shape_integer,
     "\"tuner_num_trials\": 50",
     "As search.knob_experiments.",
     {1, 1e6}},
    {"tuner_early_stopping",
     shape_integer,
     "\"tuner_early_stopping\": 5",
     "As search.knob_patience.",
     {0, 1e6}},
    {"num_tuning_micro_batch_sizes", shape_integer, "\"num_tuning_micro_batch_sizes\": 3",
     "Not used: which micro-batches are worth a run follows from what was measured.", any_count},
    {"results_dir", shape_string | shape_null, "\"results_dir\": \"autotuning_results\"",
     "Not used: results are in the study's directory."},
    {"exps_dir", shape_string | shape_null, "\"exps_dir\": \"autotuning_exps\"",
     "Not used: experiments are in the study's directory."},
    {"overwrite", shape_boolean, "\"overwrite\": true", "Not used: nothing is ever deleted."},
    {"start_profile_step", shape_integer, "\"start_profile_step\": 3",
     "Not used: warm-up ends when the step time has settled.", any_count},
    {"end_profile_step", shape_integer, "\"end_profile_step\": 5",
     "Not used: [measure] says how many steps are timed.", any_count},
    {"start_step", shape_integer | shape_null, "\"start_step\": 3",
     "Not used: DeepSpeed does not look at it either.", any_count},
    {"end_step", shape_integer | shape_null, "\"end_step\": 5",
     "Not used: DeepSpeed does not look at it either.", any_count},
    {"metric_path", shape_string | shape_null, "\"metric_path\": null",
     "Not used: every experiment has a file of its own."},
    {"model_info_path", shape_string | shape_null, "\"model_info_path\": null",
     "Not used: every experiment has a file of its own."},
}};

}  // namespace

const KeyTable& autotuning_keys() {
  static const KeyTable table{"\"autotuning\"", "autotuning.", autotuning_rows};
  return table;
}

}  // namespace slurmtune
