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
constexpr std::array<KeyRow, 25> site_rows{{
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
    {"no_queue", shape_boolean, "no_queue = false",
     "Jobs start at once: many small rounds in place of few large ones."},
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

}  // namespace slurmtune
