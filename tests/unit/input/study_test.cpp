// SPDX-License-Identifier: MIT
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tests/support/catch.hpp"
#include "tests/unit/input/study_texts.hpp"

using namespace slurmtune;

namespace {

// Everything that formats.md shows, with words that this version supports.
const std::string full_study = R"toml(format = 1
name   = "gpt2-large"
mode   = "run"
seed   = 7
[trial]
nodes              = 2
processes_per_node = 4
launcher           = "srun"
command            = ["python3", "train.py", "--deepspeed", "{ds_config}", "--bucket", "{p:bucket}"]
workdir            = "code"
setup              = ["module load cuda/12.4"]
env                = { OMP_NUM_THREADS = "8" }
container          = ["apptainer", "exec"]
snapshot           = ["*.py"]
[deepspeed]
config       = "ds_config.json"
fast         = false
zero_stages  = [2, 1, 2]
arg_mappings = { train_micro_batch_size_per_gpu = "--per_device_train_batch_size" }
[batch]
global      = 64
micro_batch = [4, 1, 2]
[model]
params = 774030080
hidden = 1280
[[parameter]]
name   = "bucket"
type   = "int"
range  = [1_000_000, 1e9]
scale  = "log"
role   = "reduce_bucket_size"
when   = "zero_stage >= 1"
[[constraint]]
expr = "micro_batch <= 4"
[objective]
minimize   = "step_s"
subject_to = ["peak_gpu_bytes <= 0.95 * gpu_bytes"]
[measure]
source    = "pattern"
pattern   = "took (?<step_s>[0-9.]+)"
min_steps = 5
max_steps = 50
interval  = 0.02
startup_s = 600
stall_s   = 60
total_s   = 900
[search]
strategy  = "grid"
rounds    = 2
width     = 4
stop_gain = 0
[budget]
max_node_hours       = 40.5
max_gpu_hours        = 160
max_experiments      = 100
max_concurrent_nodes = 16
finish_by            = "07:30"
[slurm]
partition = "gpu"
submit    = "graph"
lanes     = 1
)toml";

Expected<StudyInput> with(const std::string& lines) { return read_texts(generic_study + lines); }

}  // namespace

TEST_CASE("read_study: every key of the format arrives", "[input]") {
  const auto input = read_texts(full_study, "{}");
  REQUIRE(message_of(input) == "accepted");
  const StudySpec& spec = input->spec;
  CHECK(spec.name == "gpt2-large");
  CHECK(spec.mode == StudyMode::run);
  CHECK(spec.seed == 7);
  CHECK(spec.trial.nodes == 2);
  CHECK(spec.ranks() == 8);
  CHECK(spec.trial.launcher == Launcher::srun);
  CHECK(spec.trial.command.size() == 6);
  CHECK(spec.trial.workdir == "code");
  CHECK(spec.trial.setup == std::vector<std::string>{"module load cuda/12.4"});
  CHECK(spec.trial.env.at("OMP_NUM_THREADS") == "8");
  CHECK(spec.trial.container.size() == 2);
  CHECK(spec.trial.snapshot == std::vector<std::string>{"*.py"});
  REQUIRE(spec.deepspeed.has_value());
  CHECK_FALSE(spec.deepspeed->fast);
  CHECK(spec.deepspeed->zero_stages == std::vector<int>{1, 2});
  CHECK(spec.deepspeed->zero_stages_given);
  CHECK(spec.batch.global == 64);
  CHECK(spec.batch.micro_batches == std::vector<std::int64_t>{1, 2, 4});
  CHECK(spec.model.params == 774030080.0);
  CHECK(spec.model.hidden == 1280.0);
  REQUIRE(spec.parameters.size() == 1);
  CHECK(spec.parameters[0].name == "bucket");
  CHECK(spec.parameters[0].low == 1e6);
  CHECK(spec.parameters[0].high == 1e9);
  CHECK(spec.parameters[0].scale == Scale::log);
  CHECK(spec.parameters[0].role == "reduce_bucket_size");
  CHECK(spec.parameters[0].when == "zero_stage >= 1");
  REQUIRE(spec.constraints.size() == 1);
  CHECK(spec.constraints[0].line == 34);
  CHECK(spec.objective.direction == Direction::minimize);
  CHECK(spec.objective.metric == "step_s");
  CHECK(spec.objective.subject_to.size() == 1);
  CHECK(spec.measure.source == MeasureSource::pattern);
  CHECK(spec.measure.min_steps == 5);
  CHECK(spec.measure.max_steps == 50);
  CHECK(spec.measure.total_s == 900.0);
  CHECK(spec.search.strategy == StrategyKind::grid);
  CHECK(spec.search.stop_gain == 0.0);
  CHECK(spec.budget.max_node_hours == 40.5);
  CHECK(spec.budget.max_concurrent_nodes == 16);
  CHECK(spec.submit == SubmitMode::graph);
  CHECK(spec.lanes == 1);
  CHECK(input->site.partition == "gpu");
}

TEST_CASE("read_study: what is not written has its documented default", "[input]") {
  const auto input = read_texts(generic_study);
  REQUIRE(message_of(input) == "accepted");
  CHECK(input->spec.mode == StudyMode::tune);
  CHECK(input->spec.seed == 1);
  CHECK(input->spec.trial.launcher == Launcher::automatic);
  CHECK(input->spec.measure.source == MeasureSource::metrics_file);
  CHECK(input->spec.submit == SubmitMode::automatic);
  CHECK(input->spec.lanes == 1);
  CHECK(read_texts(deepspeed_study(), "{}")->spec.measure.source == MeasureSource::deepspeed);
}

TEST_CASE("read_study: a pattern that cannot be compiled is refused with its line", "[input]") {
  const std::string head = generic_study + "[measure]\nsource = \"pattern\"\n";
  const auto lines = std::count(head.begin(), head.end(), '\n');
  const auto message = [&head](const std::string& pattern) {
    return message_of(read_texts(head + "pattern = '" + pattern + "'\n"));
  };
  CHECK(message("(?<step>[0-9]+)") == "accepted");
  const std::string where = "study.toml:" + std::to_string(lines + 1) + ": measure.pattern '";
  const std::string deep = std::string(100'000, '(') + "(?<step>x)";
  for (const std::string& pattern :
       {std::string("iter (?<step>[0-9]+ took"), std::string("(?<step"), std::string("\\(?<step>"),
        std::string("(?<step>x)[z-a]"), deep}) {
    CHECK(message(pattern).rfind(where, 0) == 0);
  }
}

TEST_CASE("read_study: [slurm] stands over the site file, key by key", "[input]") {
  const std::string site =
      "name = \"here\"\npartition = \"old\"\nqos = \"low\"\ngpus_per_node = 4\n";
  const auto input = read_texts(generic_study + "[slurm]\npartition = \"new\"\n", {}, site);
  REQUIRE(message_of(input) == "accepted");
  CHECK(input->site.name == "here");
  CHECK(input->site.partition == "new");
  CHECK(input->site.qos == "low");
  CHECK(input->site.gpus_per_node == 4);
}

TEST_CASE("parse_site: every key of the generic site is understood", "[input]") {
  const auto site = parse_site({"s.toml",
                                "name = \"s\"\nexclusive = false\ngpu_bytes = 85e9\n"
                                "array_options = [\"--gpus-per-node=4\"]\narray_size_max = 10\n"
                                "exclude = [\"n7\", \"n[11-13,15]\"]\n"
                                "min_task_minutes = 0\nrunner_launch = [\"srun\"]\n"});
  REQUIRE(site.has_value());
  CHECK_FALSE(site->exclusive);
  CHECK(site->gpu_bytes == 85e9);
  CHECK(site->array_options.size() == 1);
  CHECK(site->exclude == std::vector<std::string>{"n7", "n[11-13,15]"});
  CHECK(site->array_size_max == 10);
  CHECK(site->min_task_minutes == 0.0);
  CHECK(site->runner_launch == std::vector<std::string>{"srun"});
  for (const char* no_node : {"", "n[1-", "--foo", "n]1[", "n[a]", "n 1", "n[]"}) {
    INFO(no_node);
    const auto refused =
        parse_site({"s.toml", "name = \"s\"\nexclude = [\"" + std::string(no_node) + "\"]\n"});
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().message.starts_with("s.toml:2: "));
  }
  const auto bad = parse_site({"s.toml", "name = \"s\"\npartion = \"x\"\n"});
  REQUIRE_FALSE(bad.has_value());
  CHECK(bad.error().message ==
        "s.toml:2: unknown key \"partion\" in a site file; did you mean \"partition\"?");
}

TEST_CASE("referenced_files: names what the caller must load", "[input]") {
  const auto files = referenced_files(
      {"study.toml", "[deepspeed]\nconfig = \"a/b.json\"\n[slurm]\nsite = \"lumi-g\"\n"});
  REQUIRE(files.has_value());
  CHECK(files->ds_config == "a/b.json");
  CHECK(files->site == "lumi-g");
  const auto none = referenced_files({"study.toml", "format = 1\n"});
  REQUIRE(none.has_value());
  CHECK_FALSE(none->ds_config.has_value());
  CHECK_FALSE(referenced_files({"study.toml", "deepspeed = { config = 3 }\n"}).has_value());
}

TEST_CASE("read_study: numbers stay within the table's bounds", "[input]") {
  CHECK(message_of(with("[search]\nwidth = 0\n")).find("from 1 to 100000") != std::string::npos);
  CHECK(message_of(with("[search]\nwidth = 1e3\n")) == "accepted");
  CHECK(message_of(with("[measure]\ninterval = 0\n")).find("above 0 and at most 1") !=
        std::string::npos);
  CHECK(message_of(with("[budget]\nmax_node_hours = -1\n")).starts_with("study.toml:10: "));
  CHECK(
      message_of(with("[measure]\nmin_steps = 9\nmax_steps = 3\n")) ==
      "study.toml:10: min_steps = 9 is more than max_steps = 3; lower the one or raise the other");
  CHECK(with("[measure]\nmax_steps = 3\n")->spec.measure.min_steps == 3);
}

TEST_CASE("read_study: times and windows have one format", "[input]") {
  for (const char* good :
       {"07:30", "00:00", "23:59", "2026-12-01T07:30:00Z", "2026-12-01T07:30:00+01:00"}) {
    INFO(good);
    CHECK(message_of(with("[budget]\nfinish_by = \"" + std::string(good) + "\"\n")) == "accepted");
  }
  for (const char* bad : {"7:30", "24:00", "07:60", "0730", "tomorrow", ""}) {
    INFO(bad);
    CHECK(message_of(with("[budget]\nfinish_by = \"" + std::string(bad) + "\"\n"))
              .starts_with("study.toml:10: budget.finish_by = "));
  }
  for (const char* bad : {"20:00", "20:00-20:00", "20:00-25:00", "20:00 - 07:00"}) {
    INFO(bad);
    CHECK(message_of(with("[budget]\nwindow = \"" + std::string(bad) + "\"\n"))
              .starts_with("study.toml:10: budget.window = "));
  }
}

TEST_CASE("read_study: a known word that cannot be done yet says what can", "[input]") {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"[search]\nstrategy = \"random\"\n", "search.strategy = \"random\""},
      {"[search]\nstrategy = \"model\"\n", "search.strategy = \"model\""},
  };
  for (const auto& [lines, what] : cases) {
    INFO(what);
    CHECK(message_of(with(lines))
              .starts_with("study.toml:10: " + what +
                           " is not supported by this version yet; use \""));
  }
  CHECK(message_of(with("[objective]\nmaximize = [\"throughput\", \"flops_per_gpu\"]\n")) ==
        "study.toml:10: more than one objective is not supported by this version yet; use one "
        "metric, and subject_to for the others");
}

TEST_CASE("read_study: every source of step times is its word", "[input]") {
  const std::vector<std::pair<std::string, MeasureSource>> cases{
      {"hf", MeasureSource::hf},
      {"megatron", MeasureSource::megatron},
      {"nanotron", MeasureSource::nanotron},
      {"torchtitan", MeasureSource::torchtitan},
      {"metrics_file", MeasureSource::metrics_file}};
  for (const auto& [word, source] : cases) {
    const auto study = with("[measure]\nsource = \"" + word + "\"\n");
    REQUIRE(study.has_value());
    CHECK(study->spec.measure.source == source);
  }
}

TEST_CASE("read_study: the model's shape may be told", "[input]") {
  const auto study =
      with("[model]\nparams = 1e9\nhidden = 2048\nlayers = 24\nsequence_length = 1024\n");
  REQUIRE(study.has_value());
  CHECK(study->spec.model.params == 1e9);
  CHECK(study->spec.model.layers == 24.0);
  CHECK(study->spec.model.sequence_length == 1024.0);
  CHECK(message_of(with("[model]\nlayers = 0\n")).starts_with("study.toml:"));
}

TEST_CASE("read_study: what needs Slurm, DeepSpeed or more nodes is refused without", "[input]") {
  CHECK(message_of(with("[measure]\nsource = \"deepspeed\"\n"))
            .starts_with("study.toml:10: source = \"deepspeed\" needs"));
  CHECK(message_of(with("[search]\nstrategy = \"deepspeed\"\n"))
            .starts_with("study.toml:10: strategy = \"deepspeed\" needs"));
  CHECK(message_of(with("[batch]\nmicro_batch = 2\n"))
            .starts_with("study.toml:10: batch.micro_batch needs a section [deepspeed]"));
  CHECK(with("[batch]\nglobal = 64\n")->spec.batch.global == 64);
}

TEST_CASE("read_study: the window is two times of a day", "[input]") {
  const auto night = with("[budget]\nwindow = \"20:00-07:00\"\nif_over = \"refuse\"\n");
  REQUIRE(night);
  CHECK(night->spec.budget.window->length() == std::chrono::hours(11));
  CHECK(night->spec.budget.if_over == OverBudget::refuse);
  for (const char* bad : {"22:00-22:00", "20:00", "8-17", "24:00-07:00"}) {
    CHECK(message_of(with(fmt::format("[budget]\nwindow = \"{}\"\n", bad)))
              .starts_with(fmt::format("study.toml:10: budget.window = \"{}\"", bad)));
  }
}

TEST_CASE("read_study: lanes hold a trial's nodes each, or share a node", "[input]") {
  const auto nodes = [&](const std::string& keys) {
    return with("[slurm]\n" + keys)->spec.nodes_per_task();
  };
  CHECK(nodes("lanes = 2\n") == 2);
  CHECK(nodes("lanes_per_node = 4\n") == 1);
  CHECK(nodes("lanes = 6\nlanes_per_node = 4\n") == 2);
  CHECK(with("[slurm]\nlanes_per_node = 4\n")->spec.lanes == 4);
  CHECK(message_of(read_texts("format = 1\nname = \"x\"\n[trial]\nnodes = 2\ncommand = [\"a\"]\n"
                              "[[parameter]]\nname = \"b\"\ntype = \"bool\"\n"
                              "target = \"env:B\"\n[slurm]\nlanes_per_node = 2\n"))
            .starts_with("study.toml:11: lanes cannot share a node where a trial takes 2"));
}

TEST_CASE("read_study: braces in the command are placeholders, doubled ones are braces",
          "[input]") {
  const auto study = [](const std::string& argument) {
    return read_texts("format = 1\nname = \"x\"\n[trial]\ncommand = [\"a\", \"{p:b}\", '" +
                      argument + "']\n[[parameter]]\nname = \"b\"\ntype = \"bool\"\n");
  };
  CHECK(message_of(study("{work}/{nodes}:{master_port}")) == "accepted");
  CHECK(message_of(study("{{\"json\": 1}")) == "accepted");
  CHECK(message_of(study("{p:c}")) ==
        "study.toml:4: {p:c} names no parameter; did you mean {p:b}?");
  CHECK(message_of(study("{")) ==
        "study.toml:4: the brace in \"{\" is not closed; write {{ for a "
        "brace that is meant");
}

TEST_CASE("read_study: values of a parameter have its type, and one type among them", "[input]") {
  const auto parameter = [](const std::string& lines) {
    return read_texts(
        "format = 1\nname = \"x\"\n[trial]\ncommand = [\"a\", \"{p:b}\"]\n"
        "[[parameter]]\nname = \"b\"\n" +
        lines);
  };
  const auto reals = parameter("type = \"ordinal\"\nvalues = [1, 2.5]\n");
  REQUIRE(message_of(reals) == "accepted");
  CHECK(std::get<double>(reals->spec.parameters[0].values[0]) == 1.0);
  const auto flags = parameter("type = \"bool\"\n");
  REQUIRE(message_of(flags) == "accepted");
  CHECK(flags->spec.parameters[0].values.size() == 2);
  const auto integers = parameter("type = \"int\"\nvalues = [5e7, 1e9]\n");
  REQUIRE(message_of(integers) == "accepted");
  CHECK(std::get<std::int64_t>(integers->spec.parameters[0].values[0]) == 50'000'000);

  CHECK(message_of(parameter("type = \"int\"\nvalues = [1, 1]\n")).find("stands there twice") !=
        std::string::npos);
  CHECK(message_of(parameter("type = \"ordinal\"\nvalues = [1, \"a\"]\n")).find("have no order") !=
        std::string::npos);
  CHECK(message_of(parameter("type = \"categorical\"\nrange = [1, 2]\n")).find("has no range") !=
        std::string::npos);
  CHECK(message_of(parameter("type = \"int\"\n")).find("neither range nor values") !=
        std::string::npos);
  CHECK(message_of(parameter("type = \"int\"\nvalues = []\n")).find("is empty") !=
        std::string::npos);
  CHECK(message_of(parameter("type = \"int\"\nrange = [1, 900000000000000000]\n")).find("2^53") !=
        std::string::npos);
  CHECK(message_of(parameter("type = \"int\"\nvalues = [1]\nscale = \"log\"\n"))
            .find("scale is about a range") != std::string::npos);
}

TEST_CASE("read_study: a target must be one that can be written", "[input]") {
  const auto target = [](const std::string& text) {
    return message_of(
        read_texts("format = 1\nname = \"x\"\n[trial]\ncommand = [\"a\"]\n"
                   "[[parameter]]\nname = \"b\"\ntype = \"bool\"\ntarget = \"" +
                   text + "\"\n"));
  };
  for (const char* good : {"arg:--flag", "arg:-f", "env:NAME", "file:conf/a.yaml#{b}"}) {
    INFO(good);
    CHECK(target(good) == "accepted");
  }
  for (const char* bad : {"arg:flag", "arg:--a b", "env:1X", "env:RANK", "env:SLURMTUNE_X",
                          "file:a.yaml", "file:/etc/x#{b}", "file:../x#{b}", "json:a.b", ""}) {
    INFO(bad);
    CHECK(target(bad).starts_with("study.toml:8: parameter \"b\": "));
  }
  const std::string own = "[[parameter]]\nname = \"b\"\ntype = \"int\"\nvalues = [1]\ntarget = ";
  for (const char* bad : {"json:zero_optimization.stage", "json:train_batch_size",
                          "json:autotuning.fast", "json:a..b"}) {
    INFO(bad);
    CHECK(message_of(read_texts(deepspeed_study(own + "\"" + bad + "\"\n"), "{}"))
              .starts_with("study.toml:13: parameter \"b\": "));
  }
}

TEST_CASE("a site without a queue has many small rounds, unless the study says otherwise",
          "[input]") {
  const std::string site = "name = \"here\"\nno_queue = true\n";
  const std::string config = R"({"train_micro_batch_size_per_gpu": "auto"})";
  const auto usual = read_texts(deepspeed_study(), config, site);
  REQUIRE(usual);
  CHECK(usual->spec.search.width == 3);
  CHECK(usual->spec.search.rounds == 8);
  const auto given = read_texts(deepspeed_study("[search]\nwidth = 5\nrounds = 2\n"), config, site);
  REQUIRE(given);
  CHECK(given->spec.search.width == 5);
  CHECK(given->spec.search.rounds == 2);
}
