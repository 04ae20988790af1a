// SPDX-License-Identifier: MIT
#include <array>
#include <vector>

#include "slurmtune/input/key_table.hpp"
#include "slurmtune/input/model_figures.hpp"

namespace slurmtune {

namespace {

// The order of words is that of the enumerators in study_spec.hpp.
constexpr std::array<Word, 2> mode_words{{{"tune"}, {"run"}}};
constexpr std::array<Word, 5> launcher_words{{
    {"auto"},
    {"torch"},
    {"srun"},
    {"mpirun"},
    {"command"},
}};
constexpr std::array<Word, 1> all_words{{{"all"}}};
constexpr std::array<Word, 1> free_words{{{"free"}}};
constexpr std::array<Word, 1> auto_words{{{"auto"}}};
constexpr std::array<Word, 5> type_words{
    {{"int"}, {"real"}, {"ordinal"}, {"categorical"}, {"bool"}}};
constexpr std::array<Word, 2> scale_words{{{"linear"}, {"log"}}};
constexpr std::array<Word, 8> role_words{{{"zero_stage"},
                                          {"micro_batch"},
                                          {"gradient_accumulation"},
                                          {"reduce_bucket_size"},
                                          {"allgather_bucket_size"},
                                          {"prefetch_bucket_size"},
                                          {"activation_checkpointing"},
                                          {"offload"}}};
constexpr std::array<Word, 7> source_words{{{"deepspeed"},
                                            {"hf"},
                                            {"megatron"},
                                            {"nanotron"},
                                            {"torchtitan"},
                                            {"metrics_file"},
                                            {"pattern"}}};
constexpr std::string_view own_strategies = "\"auto\", \"deepspeed\", \"grid\" or \"halving\"";
constexpr std::array<Word, 6> strategy_words{{{"auto"},
                                              {"deepspeed"},
                                              {"grid"},
                                              {"random", own_strategies},
                                              {"halving"},
                                              {"model", own_strategies}}};

constexpr Bounds count_bounds{1, 1e6};
constexpr Bounds batch_bounds{1, 1e12};
constexpr Bounds hours_bounds{0, 1e9, true};
constexpr Bounds seconds_bounds{0, 1e7, true};
constexpr Bounds stage_bounds{0, 3};

constexpr std::array<KeyRow, 11> trial_rows{{
    {"nodes", shape_integer, "nodes = 2", "Nodes of one experiment.", {1, 1e5}},
    {"processes_per_node",
     shape_integer,
     "processes_per_node = 4",
     "Processes (ranks) on each node.",
     {1, 1024}},
    {"launcher",
     shape_word,
     "launcher = \"auto\"",
     "How the processes are started; auto: srun in a Slurm job, else mpirun.",
     {},
     launcher_words},
    {"command",
     shape_strings,
     "command = [\"python3\", \"train.py\"]",
     "The program and its arguments, an argv, never a shell line.",
     {},
     {},
     nullptr,
     true},
    {"trial_args", shape_strings, "trial_args = [\"--max_steps\", \"1000\"]",
     "Arguments put after the command in experiments, not in the winner's command."},
    {"workdir", shape_string, "workdir = \".\"",
     "Where the command runs, relative to the directory of study.toml."},
    {"setup", shape_strings, "setup = [\"module load cuda\"]", "Shell lines, sourced once a task."},
    {"env", shape_string_map, "env = { OMP_NUM_THREADS = \"8\" }",
     "Environment variables of the command."},
    {"container", shape_strings, "container = [\"apptainer\", \"exec\", \"image.sif\"]",
     "Arguments put before the command."},
    {"snapshot", shape_strings, "snapshot = [\"*.py\"]",
     "Files below workdir, copied into the study and run from there."},
    {"dry_start", shape_strings, "dry_start = [\"--dry-run\"]",
     "Arguments with which the command only tells what it read; run once before anything else."},
}};
constexpr KeyTable trial_table{"[trial]", "trial.", trial_rows};

constexpr std::array<KeyRow, 4> deepspeed_rows{{
    {"config",
     shape_string,
     "config = \"ds_config.json\"",
     "The DeepSpeed configuration, relative to study.toml.",
     {},
     {},
     nullptr,
     true},
    {"fast", shape_boolean, "fast = true", "Tune ZeRO stage and batch only, not the knobs."},
    {"zero_stages", shape_integer | shape_integers | shape_word, "zero_stages = [1, 2]",
     "The ZeRO stages to try, or \"all\".", stage_bounds, all_words},
    {"arg_mappings", shape_string_map,
     "arg_mappings = { train_micro_batch_size_per_gpu = \"--batch\" }",
     "DeepSpeed key to the script's own flag that must agree with it."},
}};
constexpr KeyTable deepspeed_table{"[deepspeed]", "deepspeed.", deepspeed_rows};

constexpr std::array<KeyRow, 3> batch_rows{{
    {"global", shape_integer | shape_word, "global = 64", "The constant global batch, or \"free\".",
     batch_bounds, free_words},
    {"max_global", shape_integer, "max_global = 512",
     "With \"free\": the largest multiple under it is the global batch of all candidates.",
     batch_bounds},
    {"micro_batch",
     shape_integer | shape_integers | shape_word,
     "micro_batch = \"auto\"",
     "One micro-batch, exactly these, or \"auto\".",
     {1, 1e9},
     auto_words},
}};
constexpr KeyTable batch_table{"[batch]", "batch.", batch_rows};

constexpr std::array<KeyRow, 3> parallel_rows{{
    {"tensor", shape_integer, "tensor = 2", "Ranks that share each layer.", {1, 1e6}},
    {"pipeline", shape_integer, "pipeline = 2", "Stages of a pipeline of layers.", {1, 1e6}},
    {"sequence", shape_integer, "sequence = 2", "Ranks that share a sequence.", {1, 1e6}},
}};
constexpr KeyTable parallel_table{"[parallel]", "parallel.", parallel_rows};

constexpr std::array<KeyRow, 10> model_rows{{
    {"params", shape_real, "params = 774030080", "Parameters of the model.", {1, params_max}},
    {"hidden", shape_integer, "hidden = 1280", "Hidden size of the model.", {1, hidden_max}},
    {"layers", shape_integer, "layers = 36", "Layers of the model.", {1, layers_max}},
    {"config", shape_string, "config = \"config.json\"",
     "The config.json of a Hugging Face model, or its directory; other keys here win over it."},
    {"trainable_params",
     shape_real,
     "trainable_params = 4194304",
     "Parameters that are trained, where not all are (LoRA).",
     {1, params_max}},
    {"heads", shape_integer, "heads = 20", "Attention heads.", {1, heads_max}},
    {"kv_heads",
     shape_integer,
     "kv_heads = 4",
     "Heads of keys and values, where fewer.",
     {1, heads_max}},
    {"intermediate",
     shape_integer,
     "intermediate = 5120",
     "Width of the MLP.",
     {1, intermediate_max}},
    {"vocabulary",
     shape_integer,
     "vocabulary = 50257",
     "Words of the vocabulary.",
     {1, vocabulary_max}},
    {"sequence_length",
     shape_integer,
     "sequence_length = 1024",
     "Tokens of one sample.",
     {1, sequence_max}},
}};
constexpr KeyTable model_table{"[model]", "model.", model_rows};

constexpr std::array<KeyRow, 8> parameter_rows{{
    {"name",
     shape_token,
     "name = \"bucket\"",
     "A name for expressions and {p:NAME}.",
     {},
     {},
     nullptr,
     true},
    {"type", shape_word, "type = \"int\"", "What kind of values.", {}, type_words, nullptr, true},
    {"range", shape_pair, "range = [1, 64]", "The lowest and the highest value."},
    {"values", shape_scalars, "values = [1, 2, 4]", "Exactly these values."},
    {"scale", shape_word, "scale = \"log\"", "How a range is walked.", {}, scale_words},
    {"role",
     shape_word,
     "role = \"reduce_bucket_size\"",
     "What it means to the models.",
     {},
     role_words},
    {"when", shape_string, "when = \"zero_stage >= 1\"",
     "An expression: the parameter is there only where it holds."},
    {"target", shape_string, "target = \"arg:--bucket\"",
     "Where the value goes: json:PATH, arg:--flag, env:NAME or file:PATH#{placeholder}."},
}};
constexpr KeyTable parameter_table{"[[parameter]]", "parameter.", parameter_rows};

constexpr std::array<KeyRow, 1> constraint_rows{{
    {"expr",
     shape_string,
     "expr = \"micro_batch <= 8\"",
     "An expression that must hold.",
     {},
     {},
     nullptr,
     true},
}};
constexpr KeyTable constraint_table{"[[constraint]]", "constraint.", constraint_rows};

constexpr std::array<KeyRow, 3> objective_rows{{
    {"maximize", shape_string | shape_strings, "maximize = \"throughput\"",
     "A metric, or an expression over metrics."},
    {"minimize", shape_string | shape_strings, "minimize = \"step_s\"",
     "A metric, or an expression over metrics."},
    {"subject_to", shape_strings, "subject_to = [\"peak_gpu_bytes <= 0.95 * gpu_bytes\"]",
     "Expressions over metrics that must hold."},
}};
constexpr KeyTable objective_table{"[objective]", "objective.", objective_rows};

constexpr std::array<KeyRow, 8> measure_rows{{
    {"source",
     shape_word,
     "source = \"metrics_file\"",
     "Where step times come from.",
     {},
     source_words},
    {"pattern", shape_string, "pattern = \"step (?<step>[0-9]+) took (?<step_s>[0-9.]+)\"",
     "With source = \"pattern\": a regular expression with named groups."},
    {"min_steps", shape_integer, "min_steps = 8", "Fewest measured steps.", count_bounds},
    {"max_steps", shape_integer, "max_steps = 40", "Most measured steps.", count_bounds},
    {"interval",
     shape_real,
     "interval = 0.01",
     "Wanted relative width of the 95 % interval of the step time.",
     {0, 1, true}},
    {"startup_s", shape_real, "startup_s = 900", "Seconds until the first step, at most.",
     seconds_bounds},
    {"stall_s", shape_real, "stall_s = 180", "Seconds between steps, at most.", seconds_bounds},
    {"total_s", shape_real, "total_s = 1200", "Seconds of one experiment, at most.",
     seconds_bounds},
}};
constexpr KeyTable measure_table{"[measure]", "measure.", measure_rows};

constexpr std::array<KeyRow, 6> search_rows{{
    {"strategy",
     shape_word,
     "strategy = \"auto\"",
     "How configurations are proposed.",
     {},
     strategy_words},
    {"rounds", shape_integer, "rounds = 4", "Rounds of a repeated stage, at most.", {1, 1000}},
    {"width", shape_integer, "width = 8", "Experiments proposed a round.", {1, 1e5}},
    {"stop_gain",
     shape_real,
     "stop_gain = 0.01",
     "Stop when a round gains less than this.",
     {0, 1}},
    {"knob_experiments",
     shape_integer,
     "knob_experiments = 50",
     "Experiments of the knobs stage, at most.",
     {1, 1e6}},
    {"knob_patience",
     shape_integer,
     "knob_patience = 20",
     "End the knobs stage after so many experiments without a new best; 0: never.",
     {0, 1e6}},
}};
constexpr KeyTable search_table{"[search]", "search.", search_rows};

constexpr std::array<Word, 2> over_budget_words{{{"trim"}, {"refuse"}}};
constexpr std::array<KeyRow, 7> budget_rows{{
    {"max_node_hours", shape_real, "max_node_hours = 40", "Node-hours, at most.", hours_bounds},
    {"max_gpu_hours", shape_real, "max_gpu_hours = 160", "GPU-hours, at most.", hours_bounds},
    {"max_experiments", shape_integer, "max_experiments = 100", "Experiments, at most.", {1, 1e9}},
    {"max_concurrent_nodes",
     shape_integer,
     "max_concurrent_nodes = 16",
     "Nodes in use at once, at most.",
     {1, 1e6}},
    {"finish_by", shape_string, "finish_by = \"07:30\"",
     "HH:MM on the submitting host, or RFC 3339."},
    {"window", shape_string, "window = \"20:00-07:00\"", "Trials run only between these times."},
    {"if_over", shape_word, "if_over = \"refuse\"", "Plans above it.", {}, over_budget_words},
}};
constexpr KeyTable budget_table{"[budget]", "budget.", budget_rows};

constexpr std::array<KeyRow, 1> training_rows{{
    {"walltime_minutes",
     shape_real,
     "walltime_minutes = 720",
     "Time limit of the training's own job; absent = the longest of the site.",
     {1, 1e6}},
}};
constexpr KeyTable training_table{"[training]", "training.", training_rows};

constexpr std::array<KeyRow, 16> root_rows{{
    {"format", shape_integer, "format = 1", "Version of this format.", {1, 1e9}, {}, nullptr, true},
    {"name",
     shape_token,
     "name = \"my-study\"",
     "Name of the study: letters, digits, dot, dash, underscore.",
     {},
     {},
     nullptr,
     true},
    {"mode",
     shape_word,
     "mode = \"tune\"",
     "tune, or run: tune, then launch the training once with the best.",
     {},
     mode_words},
    {"seed", shape_integer, "seed = 1", "Seed of everything random.", {0, 9.0e18}},
    {"trial",
     shape_table,
     "a section [trial]",
     "How one experiment runs.",
     {},
     {},
     &trial_table,
     true},
    {"deepspeed",
     shape_table,
     "a section [deepspeed]",
     "A DeepSpeed study.",
     {},
     {},
     &deepspeed_table},
    {"parallel",
     shape_table,
     "a section [parallel]",
     "How ranks share the model.",
     {},
     {},
     &parallel_table},
    {"batch", shape_table, "a section [batch]", "Batch sizes.", {}, {}, &batch_table},
    {"model", shape_table, "a section [model]", "Facts about the model.", {}, {}, &model_table},
    {"parameter",
     shape_tables,
     "sections [[parameter]]",
     "What varies besides.",
     {},
     {},
     &parameter_table},
    {"constraint",
     shape_tables,
     "sections [[constraint]]",
     "What must hold.",
     {},
     {},
     &constraint_table},
    {"objective", shape_table, "a section [objective]", "What is best.", {}, {}, &objective_table},
    {"measure",
     shape_table,
     "a section [measure]",
     "How an experiment is measured.",
     {},
     {},
     &measure_table},
    {"search",
     shape_table,
     "a section [search]",
     "How the space is searched.",
     {},
     {},
     &search_table},
    {"budget",
     shape_table,
     "a section [budget]",
     "What the study may cost.",
     {},
     {},
     &budget_table},
    {"training",
     shape_table,
     "a section [training]",
     "The training that mode = \"run\" launches.",
     {},
     {},
     &training_table},
}};

}  // namespace

const KeyTable& study_keys() {
  static const std::vector<KeyRow> rows = [] {
    std::vector<KeyRow> all(root_rows.begin(), root_rows.end());
    all.push_back({"slurm",
                   shape_table,
                   "a section [slurm]",
                   "Overrides of the site file.",
                   {},
                   {},
                   &slurm_keys()});
    return all;
  }();
  static const KeyTable table{"study.toml", "", rows};
  return table;
}

}  // namespace slurmtune
