// SPDX-License-Identifier: MIT
#include "slurmtune/report/best_scripts.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "slurmtune/base/local_rank.hpp"
#include "slurmtune/base/shell_quote.hpp"
#include "slurmtune/execute/site_directives.hpp"
#include "slurmtune/generate/trial.hpp"
#include "slurmtune/report/findings.hpp"
#include "slurmtune/report/table.hpp"

namespace slurmtune {

namespace {

namespace fs = std::filesystem;

// What only the running script knows stands in the rendered command as these, until it is quoted.
constexpr std::string_view address_mark =
    "\x01"
    "A\x01";
constexpr std::string_view port_mark = "\x01P\x01";

enum class Starter { srun, mpirun, none };

/// `{master_port}` becomes its mark; `{{` stays for render_trial.
std::string mark_port(std::string_view text) {
  constexpr std::string_view placeholder = "{master_port}";
  std::string marked;
  while (!text.empty()) {
    if (text.starts_with(placeholder)) {
      marked += port_mark;
      text.remove_prefix(placeholder.size());
      continue;
    }
    const std::size_t length = text.starts_with("{{") ? 2 : 1;
    marked += text.substr(0, length);
    text.remove_prefix(length);
  }
  return marked;
}

/// A word of a shell line, with variables where the marks are.
std::string quote(std::string_view word) {
  const std::size_t at = std::min(word.find(address_mark), word.find(port_mark));
  if (at == std::string_view::npos) return shell_quote(word);
  const bool is_port = word.substr(at).starts_with(port_mark);
  const std::string_view before = word.substr(0, at);
  const std::string_view after = word.substr(at + port_mark.size());
  return (before.empty() ? "" : shell_quote(before)) +
         (is_port ? "\"$MASTER_PORT\"" : "\"$MASTER_ADDR\"") + (after.empty() ? "" : quote(after));
}

std::string quote_all(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + quote(word);
  return line;
}

/// The directory that the trials ran in, and the winner runs in.
std::string workdir_of(const ReportInput& report) {
  const fs::path place =
      (fs::path(report.view.state.created.origin) / report.input.spec.trial.workdir)
          .lexically_normal();
  return (place.has_filename() ? place : place.parent_path()).string();
}

Expected<TrialCommand> winners_command(const ReportInput& report) {
  StudySpec spec = report.input.spec;
  for (std::string& word : spec.trial.command) word = mark_port(word);
  for (std::string& word : spec.trial.container) word = mark_port(word);
  for (auto& [name, text] : spec.trial.env) text = mark_port(text);
  TrialPlace place;
  place.work = (report.directory.best() / "work").string();
  if (spec.deepspeed) {
    place.ds_config = (report.directory.best() / "ds_config_optimal.json").string();
  }
  place.workdir = workdir_of(report);
  place.nodes = spec.trial.nodes;
  place.processes = static_cast<int>(spec.ranks());
  place.master_addr = address_mark;
  place.use = TrialUse::production;
  return render_trial(spec, {report.result.best->values}, place);
}

std::vector<std::string> head_lines(const ReportInput& report) {
  const TuningResult& result = report.result;
  const Ranked& best = *result.best;
  const TrialSpec& trial = report.input.spec.trial;
  std::vector<std::string> lines;
  lines.push_back("The best configuration that slurmtune found: " + best.label);
  lines.push_back(
      fmt::format("study     {} ({})", report.view.plan.study_name, report.view.plan.study.text));
  lines.push_back(fmt::format(
      "measured  {}, {}, on {} x {} processes", objective_in_words(best.throughput, report.input),
      best.repeats == 1 ? std::string("one run") : fmt::format("{} repeats", best.repeats),
      trial.nodes, trial.processes_per_node));
  if (result.speedup && result.baseline) {
    const SpeedupWords speedup = speedup_in_words(*result.speedup, report.input);
    lines.push_back(fmt::format("{:<9} {} {} the baseline {}", speedup.name, speedup.words,
                                speedup.name == "speed-up" ? "over" : "of",
                                result.baseline->label));
  } else if (result.baseline_outcome == Outcome::ok) {
    lines.push_back("gain      none: the baseline works, but is not ranked");
  } else {
    lines.push_back(fmt::format("gain      none: the baseline does not run ({})",
                                name_of(result.baseline_outcome)));
  }
  return lines;
}

std::string comment(const std::vector<std::string>& lines) {
  std::string text;
  // A newline in a study's name would end the comment.
  for (const std::string& line : lines) text += "# " + one_line(line, 400) + "\n";
  return text;
}

std::string program_of(const std::vector<std::string>& prefix) {
  return prefix.empty() ? "" : fs::path(prefix.front()).filename().string();
}

Starter starter_of(const StudyInput& input, bool in_slurm) {
  if (input.spec.trial.launcher == Launcher::command) return Starter::none;
  const std::string program = program_of(input.site.trial_launch);
  if (!program.empty() && program != "srun") return Starter::mpirun;
  return in_slurm ? Starter::srun : Starter::mpirun;
}

/// What stands before the command: the trials' launcher, and a line that tells each rank its place.
std::string launch_prefix(const StudyInput& input, Starter starter) {
  if (starter == Starter::none) return "";
  const bool is_srun = starter == Starter::srun;
  std::vector<std::string> words = input.site.trial_launch;
  if (words.empty() || is_srun != (program_of(words) == "srun")) {
    words = is_srun ? std::vector<std::string>{"srun", "--mpi=pmix"}
                    : std::vector<std::string>{"mpirun", "--oversubscribe", "--bind-to", "none"};
  }
  if (is_srun) {
    words.insert(words.end(),
                 {"--mem=0", "--kill-on-bad-exit=1", "-N", std::to_string(input.spec.trial.nodes)});
  }
  words.insert(words.end(), {"-n", std::to_string(input.spec.ranks())});
  return shell_quote(words) + " bash -c \"$tell_rank\" rank ";
}

/// Sets what torch.distributed, DeepSpeed and others ask a rank's environment for.
std::string tell_rank(const TrialSpec& trial, std::int64_t ranks, std::string_view words) {
  return fmt::format(
      "# Every rank learns its place, as in the trials. mpirun's word first: Slurm's may be the "
      "job's.\n"
      "tell_rank='\n"
      "export RANK=${{OMPI_COMM_WORLD_RANK:-$SLURM_PROCID}}\n"
      "export LOCAL_RANK=${{OMPI_COMM_WORLD_LOCAL_RANK:-$SLURM_LOCALID}}\n"
      "export WORLD_SIZE={} LOCAL_WORLD_SIZE={} LOCAL_SIZE={} NODE_RANK=$((RANK / {}))\n"
      "export PYTHONUNBUFFERED=1\n"
      "exec {}'\n",
      ranks, trial.processes_per_node, trial.processes_per_node, trial.processes_per_node, words);
}

/// Everything below the head of a script.
Expected<std::string> body(const ReportInput& report, Starter starter, bool in_slurm) {
  const TrialSpec& trial = report.input.spec.trial;
  SLURMTUNE_TRY(const TrialCommand command, winners_command(report));
  std::string text;
  if (in_slurm) {
    for (const std::string& line : report.input.site.modules) text += line + "\n";
  }
  text += fmt::format("cd {} || exit 1\n", shell_quote(workdir_of(report)));
  for (const std::string& line : trial.setup) text += line + "\n";
  text += "\n";
  if (in_slurm && trial.nodes > 1) {
    text += "MASTER_ADDR=$(scontrol show hostnames \"$SLURM_JOB_NODELIST\" | head -n 1)\n";
  } else {
    text += "MASTER_ADDR=127.0.0.1\n";
  }
  // Jobs that share a node must not meet at one port.
  text += in_slurm ? "MASTER_PORT=$((29500 + SLURM_JOB_ID % 1000))\n" : "MASTER_PORT=29500\n";
  text += "export MASTER_ADDR MASTER_PORT\n";
  if (report.input.spec.deepspeed) {
    text += fmt::format("export SLURMTUNE_DS_CONFIG={}\n",
                        shell_quote((report.directory.best() / "ds_config_optimal.json").string()));
  }
  for (const auto& [name, value] : command.env)
    text += "export " + name + "=" + quote(value) + "\n";
  const std::string work = (report.directory.best() / "work").string();
  const std::string line = quote_all(command.argv);
  if (line.find(work) != std::string::npos) text += "mkdir -p " + shell_quote(work) + "\n";
  if (starter == Starter::mpirun) {
    text +=
        "# Open MPI refuses root unless it is told; in containers everybody is root.\n"
        "if [ \"$(id -u)\" -eq 0 ]; then\n"
        "    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1\n"
        "fi\n";
  }
  if (starter != Starter::none) {
    const bool each_its_own = line.find(local_rank_mark) != std::string::npos;
    text += "\n" + tell_rank(trial, report.input.spec.ranks(),
                             each_its_own ? R"("${@//\{local_rank\}/$LOCAL_RANK}")" : R"("$@")");
  }
  return text + "exec " + launch_prefix(report.input, starter) + line + "\n";
}

std::string job_name_of(std::string name) {
  std::replace_if(
      name.begin(), name.end(),
      [](char c) {
        const bool is_word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                             (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
        return !is_word;
      },
      '_');
  return name.empty() || name.front() == '-' ? "train" + name : name;
}

/// As the job that mode = "run" launches asks for its nodes.
Expected<std::string> sbatch_lines(const ReportInput& report) {
  const Site& site = report.input.site;
  const TrialSpec& trial = report.input.spec.trial;
  std::vector<SbatchDirective> directives =
      nodes_directives(site, {.name = job_name_of(report.view.plan.study_name),
                              .nodes = trial.nodes,
                              .processes_per_node = trial.processes_per_node,
                              .walltime = std::chrono::seconds(site.walltime_max_s)});
  SLURMTUNE_CHECK(add_site_options(site, JobRole::trials, directives));
  SLURMTUNE_TRY(const std::string lines, render_directives(directives));
  return lines + "\n";
}

}  // namespace

Expected<std::string> render_command_script(const ReportInput& report) {
  const bool in_slurm = report.view.state.created.submit != "local";
  const Starter starter = starter_of(report.input, in_slurm);
  SLURMTUNE_TRY(const std::string rest, body(report, starter, in_slurm));
  std::string text = "#!/bin/bash\n" + comment(head_lines(report)) + "\n";
  if (in_slurm) {
    const int nodes = report.input.spec.trial.nodes;
    text += fmt::format(
        "if [ -z \"${{SLURM_JOB_ID:-}}\" ]; then\n"
        "    echo \"$0: runs inside a job of {} node{}: sbatch train_optimal.sbatch beside it does "
        "that\" >&2\n"
        "    exit 2\n"
        "fi\n",
        nodes, nodes == 1 ? "" : "s");
  }
  return text + rest;
}

Expected<std::string> render_train_script(const ReportInput& report) {
  SLURMTUNE_TRY(const std::string directives, sbatch_lines(report));
  SLURMTUNE_TRY(const std::string rest, body(report, starter_of(report.input, true), true));
  return "#!/bin/bash\n" + comment(head_lines(report)) +
         "#\n# The time limit is the longest of the site; set it to what the training takes.\n#\n" +
         directives + "\n" + rest;
}

}  // namespace slurmtune
