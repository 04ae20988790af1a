// SPDX-License-Identifier: MIT
#include "slurmtune/input/ds_config_keys.hpp"

#include <array>

namespace slurmtune {

namespace {

constexpr double integer_max = 9223372036854775807.0;  // Python's sys.maxsize is a default
constexpr Bounds count{0, 1e18};
constexpr Bounds at_least_one{1, 1e18};
constexpr Bounds share{0, 1};
constexpr Bounds not_negative{0, 1e18};

constexpr KeyRow flag(std::string_view key, std::string_view example) {
  return {key, shape_boolean, example, ""};
}
constexpr KeyRow number(std::string_view key, std::string_view example, Bounds bounds = count) {
  return {key, shape_integer, example, "", bounds};
}
constexpr KeyRow real(std::string_view key, std::string_view example,
                      Bounds bounds = not_negative) {
  return {key, shape_real, example, "", bounds};
}
/// A value that a knob of slurmtune's writes (templates/): a list of them is what it chooses from.
constexpr KeyRow chosen(KeyRow row) {
  row.shapes |= shape_choices;
  return row;
}
constexpr KeyRow free_form(std::string_view key) { return {key, shape_anything, "", ""}; }
constexpr KeyRow section(std::string_view key, std::string_view example, const KeyTable& table) {
  return {key, shape_table, example, "", {}, {}, &table};
}

constexpr std::array<Word, 3> device_words{{{"none"}, {"cpu"}, {"nvme"}}};
constexpr KeyRow device_row{
    "device", shape_word | shape_choices, "\"device\": \"cpu\"", "", {}, device_words, nullptr};
constexpr KeyRow nvme_path_row{"nvme_path", shape_string, "\"nvme_path\": \"/local/nvme\"", ""};

constexpr std::array<KeyRow, 6> offload_param_rows{{
    device_row,
    nvme_path_row,
    number("buffer_count", "\"buffer_count\": 5"),
    number("buffer_size", "\"buffer_size\": 100000000"),
    number("max_in_cpu", "\"max_in_cpu\": 1000000000"),
    chosen(flag("pin_memory", "\"pin_memory\": true")),
}};
constexpr KeyTable offload_param_table{"\"zero_optimization.offload_param\"",
                                       "zero_optimization.offload_param.", offload_param_rows};

constexpr std::array<KeyRow, 11> offload_optimizer_rows{{
    device_row,
    nvme_path_row,
    number("buffer_count", "\"buffer_count\": 4"),
    chosen(flag("pin_memory", "\"pin_memory\": true")),
    flag("pipeline_read", "\"pipeline_read\": false"),
    flag("pipeline_write", "\"pipeline_write\": false"),
    flag("fast_init", "\"fast_init\": false"),
    chosen(real("ratio", "\"ratio\": 1.0", share)),
    flag("super_offload", "\"super_offload\": false"),
    flag("convert_grad_on_cpu", "\"convert_grad_on_cpu\": true"),
    real("cpuadam_cores_perc", "\"cpuadam_cores_perc\": 0.8", share),
}};
constexpr KeyTable offload_optimizer_table{"\"zero_optimization.offload_optimizer\"",
                                           "zero_optimization.offload_optimizer.",
                                           offload_optimizer_rows};

constexpr std::array<KeyRow, 45> zero_rows{{
    free_form("stage"),  // read_ds_config reads it
    chosen(flag("contiguous_gradients", "\"contiguous_gradients\": true")),
    chosen(flag("reduce_scatter", "\"reduce_scatter\": true")),
    chosen(number("reduce_bucket_size", "\"reduce_bucket_size\": 500000000")),
    flag("use_multi_rank_bucket_allreduce", "\"use_multi_rank_bucket_allreduce\": true"),
    flag("allgather_partitions", "\"allgather_partitions\": true"),
    chosen(number("allgather_bucket_size", "\"allgather_bucket_size\": 500000000")),
    chosen(flag("overlap_comm", "\"overlap_comm\": true")),
    flag("load_from_fp32_weights", "\"load_from_fp32_weights\": true"),
    flag("elastic_checkpoint", "\"elastic_checkpoint\": false"),
    section("offload_param", "\"offload_param\": {\"device\": \"cpu\"}", offload_param_table),
    section("offload_optimizer", "\"offload_optimizer\": {\"device\": \"cpu\"}",
            offload_optimizer_table),
    free_form("zenflow"),
    chosen(number("sub_group_size", "\"sub_group_size\": 1000000000")),
    flag("cpu_offload_param", "\"offload_param\": {\"device\": \"cpu\"}"),
    flag("cpu_offload_use_pin_memory", "\"cpu_offload_use_pin_memory\": false"),
    flag("cpu_offload", "\"offload_optimizer\": {\"device\": \"cpu\"}"),
    chosen(number("stage3_prefetch_bucket_size", "\"stage3_prefetch_bucket_size\": 50000000")),
    chosen(number("stage3_param_persistence_threshold",
                  "\"stage3_param_persistence_threshold\": 100000")),
    number("stage3_model_persistence_threshold",
           "\"stage3_model_persistence_threshold\": 1000000000", {0, integer_max}),
    chosen(number("stage3_max_live_parameters", "\"stage3_max_live_parameters\": 1000000000")),
    chosen(number("stage3_max_reuse_distance", "\"stage3_max_reuse_distance\": 1000000000")),
    flag("stage3_gather_16bit_weights_on_model_save",
         "\"stage3_gather_16bit_weights_on_model_save\": true"),
    number("stage3_module_granularity_threshold", "\"stage3_module_granularity_threshold\": 0",
           {-1e18, 1e18}),
    flag("stage3_use_all_reduce_for_fetch_params",
         "\"stage3_use_all_reduce_for_fetch_params\": false"),
    flag("stage3_allgather_sequential", "\"stage3_allgather_sequential\": false"),
    number("stage3_partition_stream_chunk_size", "\"stage3_partition_stream_chunk_size\": 0"),
    flag("stage3_gather_fp16_weights_on_model_save",
         "\"stage3_gather_16bit_weights_on_model_save\": true"),
    flag("ignore_unused_parameters", "\"ignore_unused_parameters\": true"),
    flag("legacy_stage1", "\"legacy_stage1\": false"),
    chosen(flag("round_robin_gradients", "\"round_robin_gradients\": false")),
    chosen(number("zero_hpz_partition_size", "\"zero_hpz_partition_size\": 1")),
    chosen(flag("zero_quantized_weights", "\"zero_quantized_weights\": false")),
    flag("zero_quantized_nontrainable_weights", "\"zero_quantized_nontrainable_weights\": false"),
    chosen(flag("zero_quantized_gradients", "\"zero_quantized_gradients\": false")),
    free_form("zeropp_loco_param"),
    number("mics_shard_size", "\"mics_shard_size\": -1", {-1e18, 1e18}),
    flag("mics_hierarchical_params_gather", "\"mics_hierarchical_params_gather\": false"),
    flag("memory_efficient_linear", "\"memory_efficient_linear\": true"),
    flag("pipeline_loading_checkpoint", "\"pipeline_loading_checkpoint\": false"),
    flag("override_module_apply", "\"override_module_apply\": true"),
    flag("log_trace_cache_warnings", "\"log_trace_cache_warnings\": false"),
    flag("enable_sanity_checks", "\"enable_sanity_checks\": false"),
    flag("save_muon_momentum_buffer_in_memory", "\"save_muon_momentum_buffer_in_memory\": false"),
    free_form("leaf_module"),
}};
constexpr KeyTable zero_table{"\"zero_optimization\"", "zero_optimization.", zero_rows};

constexpr std::array<KeyRow, 9> fp16_rows{{
    flag("enabled", "\"enabled\": true"),
    flag("auto_cast", "\"auto_cast\": false"),
    real("loss_scale", "\"loss_scale\": 0"),
    real("initial_scale_power", "\"initial_scale_power\": 16", {-1000, 1000}),
    real("loss_scale_window", "\"loss_scale_window\": 1000"),
    real("hysteresis", "\"hysteresis\": 2"),
    flag("consecutive_hysteresis", "\"consecutive_hysteresis\": false"),
    real("min_loss_scale", "\"min_loss_scale\": 1"),
    flag("fp16_master_weights_and_grads", "\"fp16_master_weights_and_grads\": false"),
}};
constexpr KeyTable fp16_table{"\"fp16\"", "fp16.", fp16_rows};

constexpr std::array<KeyRow, 2> bf16_rows{{
    flag("enabled", "\"enabled\": true"),
    flag("immediate_grad_update", "\"immediate_grad_update\": false"),
}};
constexpr KeyTable bf16_table{"\"bf16\"", "bf16.", bf16_rows};
constexpr KeyTable bfloat16_table{"\"bfloat16\"", "bfloat16.", bf16_rows};

constexpr std::array<KeyRow, 1> amp_rows{{flag("enabled", "\"enabled\": true")}};
constexpr KeyTable amp_table{"\"amp\"", "amp.", amp_rows};

constexpr std::array<KeyRow, 4> optimizer_params_rows{{
    real("lr", "\"lr\": 5e-5"),
    real("eps", "\"eps\": 1e-8"),
    real("weight_decay", "\"weight_decay\": 0.01"),
    real("momentum", "\"momentum\": 0.9"),
}};
constexpr KeyTable optimizer_params_table{"\"optimizer.params\"", "optimizer.params.",
                                          optimizer_params_rows};
constexpr std::array<KeyRow, 3> optimizer_rows{{
    {"type", shape_string, "\"type\": \"AdamW\"", ""},
    section("params", "\"params\": {\"lr\": 5e-5}", optimizer_params_table),
    flag("legacy_fusion", "\"legacy_fusion\": false"),
}};
constexpr KeyTable optimizer_table{"\"optimizer\"", "optimizer.", optimizer_rows};

constexpr std::array<KeyRow, 2> scheduler_rows{{
    {"type", shape_string, "\"type\": \"WarmupLR\"", ""},
    free_form("params"),
}};
constexpr KeyTable scheduler_table{"\"scheduler\"", "scheduler.", scheduler_rows};

constexpr std::array<KeyRow, 6> checkpointing_rows{{
    chosen(flag("partition_activations", "\"partition_activations\": true")),
    flag("contiguous_memory_optimization", "\"contiguous_memory_optimization\": false"),
    chosen(flag("cpu_checkpointing", "\"cpu_checkpointing\": false")),
    // Many configs write false, and DeepSpeed asks only whether it is 0.
    {"number_checkpoints", shape_integer | shape_boolean | shape_choices,
     "\"number_checkpoints\": 24", "", count},
    flag("synchronize_checkpoint_boundary", "\"synchronize_checkpoint_boundary\": false"),
    flag("profile", "\"profile\": false"),
}};
constexpr KeyTable checkpointing_table{"\"activation_checkpointing\"", "activation_checkpointing.",
                                       checkpointing_rows};

constexpr std::array<Word, 3> type_words{{{"fp16"}, {"bf16"}, {"fp32"}}};

constexpr std::array<KeyRow, 22> root_rows{{
    section("zero_optimization", "\"zero_optimization\": {\"stage\": 2}", zero_table),
    section("fp16", "\"fp16\": {\"enabled\": true}", fp16_table),
    section("bf16", "\"bf16\": {\"enabled\": true}", bf16_table),
    section("bfloat16", "\"bf16\": {\"enabled\": true}", bfloat16_table),
    section("amp", "\"amp\": {\"enabled\": true}", amp_table),
    section("optimizer", "\"optimizer\": {\"type\": \"AdamW\", \"params\": {\"lr\": 5e-5}}",
            optimizer_table),
    section("scheduler", "\"scheduler\": {\"type\": \"WarmupLR\"}", scheduler_table),
    section("activation_checkpointing",
            "\"activation_checkpointing\": {\"partition_activations\": true}", checkpointing_table),
    real("gradient_clipping", "\"gradient_clipping\": 1.0"),
    flag("prescale_gradients", "\"prescale_gradients\": false"),
    real("gradient_predivide_factor", "\"gradient_predivide_factor\": 1.0"),
    flag("sparse_gradients", "\"sparse_gradients\": false"),
    number("steps_per_print", "\"steps_per_print\": 10", at_least_one),
    flag("wall_clock_breakdown", "\"wall_clock_breakdown\": false"),
    flag("memory_breakdown", "\"memory_breakdown\": false"),
    flag("dump_state", "\"dump_state\": false"),
    flag("disable_allgather", "\"disable_allgather\": false"),
    flag("dataloader_drop_last", "\"dataloader_drop_last\": false"),
    flag("zero_allow_untested_optimizer", "\"zero_allow_untested_optimizer\": true"),
    flag("zero_force_ds_cpu_optimizer", "\"zero_force_ds_cpu_optimizer\": true"),
    {"communication_data_type",
     shape_word | shape_choices,
     "\"communication_data_type\": \"fp16\"",
     "",
     {},
     type_words},
    {"seq_parallel_communication_data_type",
     shape_word,
     "\"seq_parallel_communication_data_type\": \"fp32\"",
     "",
     {},
     type_words},
}};
constexpr KeyTable root_table{"the config", "", root_rows};

}  // namespace

const KeyTable& ds_config_keys() { return root_table; }

}  // namespace slurmtune
