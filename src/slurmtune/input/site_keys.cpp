// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <vector>

#include "slurmtune/input/key_table.hpp"

namespace slurmtune {

namespace {

constexpr std::array<Word, 7> submit_words{
    {{"auto"}, {"graph"}, {"step"}, {"one-job"}, {"allocation"}, {"scripts"}, {"local"}}};

// As GpuRequest.
constexpr std::array<Word, 4> gpu_requests{{{"none"}, {"constraint"}, {"gres"}, {"gpus-per-node"}}};

// What [slurm], a site file and its [[queue]]s have in common: the fields of Site (site.hpp).
constexpr std::array<KeyRow, 47> site_rows{{
    {"partition", shape_token, "partition = \"gpu\"", "Partition; \"\" = Slurm's default."},
    {"reducer_partition", shape_token, "reducer_partition = \"small\"",
     "Partition of reducers; \"\" = partition."},
    {"account", shape_token, "account = \"m1234\"", "Account to charge."},
    {"qos", shape_token, "qos = \"regular\"", "Quality of service."},
    {"constraint", shape_token, "constraint = \"gpu\"", "Node features asked for."},
    {"reservation", shape_token, "reservation = \"course\"", "Reservation that jobs run in."},
    {"licenses", shape_token, "licenses = \"scratch\"", "Licences of every job."},
    {"begin", shape_token, "begin = \"20:00\"", "The first jobs start no earlier; sbatch's words."},
    {"nice", shape_integer, "nice = 100", "Lowers the priority of jobs.", {0, 2'147'483'645}},
    {"exclude", shape_strings, "exclude = [\"n7\"]", "Nodes that no job shall get."},
    {"mail", shape_token, "mail = \"me@example.org\"",
     "Whom Slurm mails at the start, at a failure and at the end; \"\" = nobody."},
    {"sbatch_options", shape_strings, "sbatch_options = [\"--licenses=scratch\"]",
     "Further sbatch options of every job."},
    {"array_options", shape_strings, "array_options = [\"--gpus-per-node=4\"]",
     "Further sbatch options of array jobs."},
    {"reducer_options", shape_strings, "reducer_options = [\"--mem=2G\"]",
     "Further sbatch options of reducers, guard and final."},
    {"modules", shape_strings, "modules = [\"module load openmpi\"]",
     "Shell lines at the head of every job script."},
    {"exclusive", shape_boolean, "exclusive = true", "Array tasks ask for whole nodes."},
    {"gpu_request",
     shape_word,
     "gpu_request = \"gpus-per-node\"",
     "How array jobs ask for the GPUs of their nodes.",
     {},
     gpu_requests},
    {"gpu_type", shape_token, "gpu_type = \"a100\"", "Type of GPU that is asked for; \"\" = any."},
    {"cpus_per_task",
     shape_integer,
     "cpus_per_task = 16",
     "CPUs that array jobs ask for, for each process of a trial.",
     {1, 1e6}},
    {"mem", shape_token, "mem = \"0\"", "Memory of a node that array jobs ask for."},
    {"mem_per_cpu", shape_token, "mem_per_cpu = \"4G\"", "The same, for each CPU."},
    {"mem_per_gpu", shape_token, "mem_per_gpu = \"120G\"", "The same, for each GPU."},
    {"gpus_per_node", shape_integer, "gpus_per_node = 4", "GPUs of one node.", {0, 1024}},
    {"gpu_bytes", shape_real, "gpu_bytes = 85e9", "Memory of one GPU, in bytes.", {0, 1e15, true}},
    {"cpus_per_node", shape_integer, "cpus_per_node = 128", "CPUs of one node.", {1, 1e6}},
    {"node_bytes",
     shape_real,
     "node_bytes = 512e9",
     "Memory of one node, in bytes.",
     {0, 1e17, true}},
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
     {1, 1e9}},
    {"running_jobs_max",
     shape_integer,
     "running_jobs_max = 20",
     "Jobs of one user that run at once.",
     {1, 1e9}},
    {"jobs_can_submit", shape_boolean, "jobs_can_submit = true", "Jobs may submit jobs."},
    {"walltime_max_s",
     shape_integer,
     "walltime_max_s = 86400",
     "Longest job, in seconds.",
     {60, 1e9}},
    {"nodes_min", shape_integer, "nodes_min = 65", "Fewest nodes of a job.", {1, 1e6}},
    {"nodes_max", shape_integer, "nodes_max = 64", "Most nodes of a job.", {1, 1e6}},
    {"job_minutes_min",
     shape_real,
     "job_minutes_min = 60",
     "How long a job should last at least, by the centre's rules.",
     {0, 1e5}},
    {"jobs_per_minute_max",
     shape_integer,
     "jobs_per_minute_max = 10",
     "Jobs that may be submitted in a minute, by the centre's rules.",
     {1, 1e6}},
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
    {"mpi", shape_token, "mpi = \"pmix\"", "srun --mpi, where runner_launch is not given."},
    {"runner_launch", shape_strings, "runner_launch = [\"srun\", \"--mpi=pmix\"]",
     "Starts one runner rank a node in a job script."},
    {"trial_launch", shape_strings, "trial_launch = [\"srun\", \"--overlap\"]",
     "Starts a trial; the launcher adds counts and nodes."},
    {"balance_command", shape_strings, "balance_command = [\"sbalance\"]",
     "Prints what is left of the account."},
    {"balance_pattern", shape_string, "balance_pattern = 'left: (?<node_hours>[0-9.]+)'",
     "Finds the node-hours in that."},
}};

constexpr KeyTable queue_table{"[[queue]]", "queue.", site_rows};

constexpr std::array<KeyRow, 4> file_rows{{
    {"format", shape_integer, "format = 1", "Version of this format.", {1, 1e9}},
    {"name", shape_token, "name = \"mycluster\"", "Name of the site.", {}, {}, nullptr, true},
    {"ask", shape_string_map, "ask = { account = \"m1234\" }",
     "What [slurm] of a study has to give, each with an example."},
    {"queue",
     shape_tables,
     "[[queue]]",
     "What holds for jobs of one partition, QOS or constraint.",
     {},
     {},
     &queue_table},
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

const KeyTable& queue_keys() { return queue_table; }

const KeyTable& slurm_keys() {
  static const std::vector<KeyRow> rows = joined(study_rows, site_rows);
  static const KeyTable table{"[slurm]", "slurm.", rows};
  return table;
}

}  // namespace slurmtune
