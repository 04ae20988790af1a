// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <vector>

#include "slurmtune/input/key_table.hpp"

namespace slurmtune {

namespace {

constexpr std::string_view own_submits =
    "\"graph\", \"one-job\", \"allocation\", \"scripts\" or \"local\"";
constexpr std::array<Word, 7> submit_words{{{"auto"},
                                            {"graph"},
                                            {"step", own_submits},
                                            {"one-job"},
                                            {"allocation"},
                                            {"scripts"},
                                            {"local"}}};

// What [slurm] and a site file have in common: the fields of Site (site.hpp).
constexpr std::array<KeyRow, 24> site_rows{{
    {"partition", shape_token, "partition = \"gpu\"", "Partition; \"\" = Slurm's default."},
    {"reducer_partition", shape_token, "reducer_partition = \"small\"",
     "Partition of reducers; \"\" = partition."},
    {"account", shape_token, "account = \"m1234\"", "Account to charge."},
    {"qos", shape_token, "qos = \"regular\"", "Quality of service."},
    {"constraint", shape_token, "constraint = \"gpu\"", "Node features asked for."},
    {"exclude", shape_strings, "exclude = [\"n7\"]", "Nodes that no job shall get."},
    {"sbatch_options", shape_strings, "sbatch_options = [\"--licenses=scratch\"]",
     "Further sbatch options of every job."},
    {"array_options", shape_strings, "array_options = [\"--gpus-per-node=4\"]",
     "Further sbatch options of array jobs."},
    {"modules", shape_strings, "modules = [\"module load openmpi\"]",
     "Shell lines at the head of every job script."},
    {"exclusive", shape_boolean, "exclusive = true", "Array tasks ask for whole nodes."},
    {"gpus_per_node", shape_integer, "gpus_per_node = 4", "GPUs of one node.", {0, 1024}},
    {"gpu_bytes", shape_real, "gpu_bytes = 85e9", "Memory of one GPU, in bytes.", {0, 1e15, true}},
    {"cpus_per_node", shape_integer, "cpus_per_node = 128", "CPUs of one node.", {1, 1e6}},
    {"array_size_max",
     shape_integer,
     "array_size_max = 1001",
     "MaxArraySize of the controller.",
     {1, 4e6}},
    {"submit_jobs_max",
     shape_integer,
     "submit_jobs_max = 1000",
     "Jobs of one user, array tasks counted one by one.",
     {4, 1e9}},
    {"walltime_max_s",
     shape_integer,
     "walltime_max_s = 86400",
     "Longest job, in seconds.",
     {60, 1e9}},
    {"lanes", shape_integer, "lanes = 2", "Experiments that a task runs at once.", {1, 4096}},
    {"lanes_per_node",
     shape_integer,
     "lanes_per_node = 4",
     "Lanes that share a node, each with its part of the cores and GPUs.",
     {1, 1024}},
    {"min_task_minutes",
     shape_real,
     "min_task_minutes = 10",
     "Experiments are packed so that a task lasts this long.",
     {0, 1e5}},
    {"probe_tasks", shape_boolean, "probe_tasks = true",
     "Each task measures its nodes for a second before its trials."},
    {"reducer_minutes", shape_real, "reducer_minutes = 10", "Time limit of a reducer.", {1, 1e4}},
    {"fs_settle_s",
     shape_real,
     "fs_settle_s = 30",
     "How long a file of one node may stay unseen on another.",
     {0, 3600}},
    {"runner_launch", shape_strings, "runner_launch = [\"srun\", \"--mpi=pmix\"]",
     "Starts one runner rank a node in a job script."},
    {"trial_launch", shape_strings, "trial_launch = [\"srun\", \"--overlap\"]",
     "Starts a trial; the launcher adds counts and nodes."},
}};

constexpr std::array<KeyRow, 2> file_rows{{
    {"format", shape_integer, "format = 1", "Version of this format.", {1, 1e9}},
    {"name", shape_token, "name = \"mycluster\"", "Name of the site.", {}, {}, nullptr, true},
}};

constexpr std::array<KeyRow, 2> study_rows{{
    {"site", shape_token, "site = \"generic\"", "The site file: a name, or a path."},
    {"submit", shape_word, "submit = \"graph\"", "How jobs are submitted.", {}, submit_words},
}};

std::vector<KeyRow> joined(std::span<const KeyRow> first, std::span<const KeyRow> second) {
  std::vector<KeyRow> rows(first.begin(), first.end());
  rows.insert(rows.end(), second.begin(), second.end());
  return rows;
}

constexpr Bounds any_count{0, 1e12};

constexpr std::array<KeyRow, 4> model_info_rows{{
    {"profile", shape_boolean | shape_null, "\"profile\": false", not_used},
    {"num_params",
     shape_real | shape_null,
     "\"num_params\": 774030080",
     "Parameters of the model.",
     {0, 1e18, true}},
    {"hidden_size",
     shape_real | shape_null,
     "\"hidden_size\": 1280",
     "Hidden size of the model.",
     {0, 1e9, true}},
    {"num_layers", shape_real | shape_null, "\"num_layers\": 36", not_used, {0, 1e9}},
}};
constexpr KeyTable model_info_table{"\"autotuning.model_info\"", "autotuning.model_info.",
                                    model_info_rows};

// Source: deepspeed/autotuning/{config,constants}.py of DeepSpeed 0.14 to 0.19. Keys that only
// steer DeepSpeed's own tuner are known, so that a misspelt one is not; they move nothing here.
constexpr std::array<KeyRow, 23> autotuning_rows{{
    {"enabled", shape_boolean, "\"enabled\": true", not_used},
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
    {"max_train_micro_batch_size_per_gpu",
     shape_integer | shape_null,
     "\"max_train_micro_batch_size_per_gpu\": 64",
     "Largest micro-batch.",
     {1, 1e6}},
    {"mp_size", shape_integer, "\"mp_size\": 1", "Model-parallel size.", {1, 1e6}},
    {"model_info",
     shape_table | shape_null,
     "\"model_info\": {\"num_params\": 774030080}",
     "Facts about the model.",
     {},
     {},
     &model_info_table},
    {"min_train_batch_size", shape_integer | shape_null, "\"min_train_batch_size\": 1", not_used,
     any_count},
    {"min_train_micro_batch_size_per_gpu", shape_integer | shape_null,
     "\"min_train_micro_batch_size_per_gpu\": 1", not_used, any_count},
    {"num_tuning_micro_batch_sizes", shape_integer, "\"num_tuning_micro_batch_sizes\": 3", not_used,
     any_count},
    {"tuner_type", shape_string, "\"tuner_type\": \"gridsearch\"", not_used},
    {"tuner_early_stopping", shape_integer, "\"tuner_early_stopping\": 5", not_used, any_count},
    {"tuner_num_trials", shape_integer, "\"tuner_num_trials\": 50", not_used, any_count},
    {"results_dir", shape_string | shape_null, "\"results_dir\": \"autotuning_results\"", not_used},
    {"exps_dir", shape_string | shape_null, "\"exps_dir\": \"autotuning_exps\"", not_used},
    {"overwrite", shape_boolean, "\"overwrite\": true", not_used},
    {"start_profile_step", shape_integer, "\"start_profile_step\": 3", not_used, any_count},
    {"end_profile_step", shape_integer, "\"end_profile_step\": 5", not_used, any_count},
    {"start_step", shape_integer | shape_null, "\"start_step\": 3", not_used, any_count},
    {"end_step", shape_integer | shape_null, "\"end_step\": 5", not_used, any_count},
    {"metric_path", shape_string | shape_null, "\"metric_path\": null", not_used},
    {"model_info_path", shape_string | shape_null, "\"model_info_path\": null", not_used},
}};

}  // namespace

const KeyTable& site_keys() {
  static const std::vector<KeyRow> rows = joined(file_rows, site_rows);
  static const KeyTable table{"a site file", "", rows};
  return table;
}

const KeyTable& slurm_keys() {
  static const std::vector<KeyRow> rows = joined(study_rows, site_rows);
  static const KeyTable table{"[slurm]", "slurm.", rows};
  return table;
}

const KeyTable& autotuning_keys() {
  static const KeyTable table{"\"autotuning\"", "autotuning.", autotuning_rows};
  return table;
}

}  // namespace slurmtune
