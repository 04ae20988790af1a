// SPDX-License-Identifier: MIT
#include "slurmtune/execute/job_script.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "slurmtune/base/embedded.hpp"
#include "slurmtune/base/shell_quote.hpp"
#include "slurmtune/execute/site_directives.hpp"

namespace slurmtune {
namespace {

// The runner wants all CPUs of its node and shares memory and CPUs with the steps of its trials
// (srun(1): --overlap, and --mem=0 since the step would otherwise take all memory for itself).
constexpr std::string_view default_runner_launch =
    "--nodes={nodes} --ntasks={nodes} --cpus-per-task={cpus} --cpu-bind=none --overlap --mem=0 "
    "--kill-on-bad-exit=1";

// How long before the end of its time a task is told, so that it can write what it has.
constexpr int warning_s = 60;
// The same of a job that holds a whole study: it ends a trial, and then the study.
constexpr int whole_warning_s = 120;

std::string_view template_path(JobKind kind) {
  switch (kind) {
    case JobKind::array: return "scripts/sbatch/array.sbatch";
    case JobKind::reducer: return "scripts/sbatch/reduce.sbatch";
    case JobKind::guard: return "scripts/sbatch/guard.sbatch";
    case JobKind::whole: return "scripts/sbatch/one-job.sbatch";
    case JobKind::launch: return "scripts/sbatch/launch.sbatch";
    case JobKind::final: break;
  }
  return "scripts/sbatch/final.sbatch";
}

bool has_control_character(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7f;
  });
}

Expected<void> check_path(std::string_view what, std::string_view path) {
  if (!path.starts_with('/')) {
    return invalid_input(fmt::format("{} must be an absolute path: {}", what, path));
  }
  if (has_control_character(path)) {
    return invalid_input(fmt::format("{} holds a control character; move it elsewhere", what));
  }
  return {};
}

/// A path in an output pattern, where `%` begins a placeholder.
std::string escape_percent(std::string_view path) {
  std::string escaped;
  for (const char c : path) escaped += c == '%' ? std::string("%%") : std::string(1, c);
  return escaped;
}

std::string log_pattern(const JobScript& script) {
  const std::string directory = escape_percent(log_directory(script));
  switch (script.kind) {
    case JobKind::array: return directory + "/slurm-%A_%a.out";
    case JobKind::reducer: return directory + "/reduce-%j.out";
    case JobKind::guard: return directory + "/guard-%j.out";
    case JobKind::whole: return directory + "/one-job-%j.out";
    case JobKind::launch: return directory + "/launch-%j.out";
    case JobKind::final: break;
  }
  return directory + "/final-%j.out";
}

/// What a reducer, guard or final job asks for: one core, on a partition of its own if there is
/// one.
std::vector<SbatchDirective> lone_directives(const JobScript& script) {
  std::vector<SbatchDirective> directives{{.key = "job-name", .value = script.job_name}};
  for (SbatchDirective& place : placement_directives(script.site, JobRole::reducer)) {
    directives.push_back(std::move(place));
  }
  directives.push_back({.key = "nodes", .value = "1"});
  directives.push_back({.key = "ntasks", .value = "1"});
  directives.push_back({.key = "time", .value = format_walltime(script.walltime)});
  return directives;
}

/// When Slurm mails about this job, so that a study sends one mail at its start, one at its end,
/// and one a job that fails. Measured with 22.05: FAIL on an array is one mail for all of its
/// tasks, TIME_LIMIT would be one a task; a job that is cancelled while it waits mails its END,
/// which is how the end is told where somebody else than `final` ended the study.
std::string_view mail_types(const JobScript& script) {
  switch (script.kind) {
    case JobKind::array: {
      const bool is_first = !script.previous && script.first_slice == 0;
      return is_first ? "BEGIN,FAIL" : "FAIL";
    }
    case JobKind::reducer:
    case JobKind::guard: return "FAIL";
    case JobKind::whole: return "BEGIN,END,FAIL";
    case JobKind::launch:
    case JobKind::final: break;
  }
  return "END,FAIL";
}

Expected<std::string> sbatch_lines(const JobScript& script) {
  const bool launch = script.kind == JobKind::launch;
  const bool array = script.kind == JobKind::array || script.kind == JobKind::whole || launch;
  std::vector<SbatchDirective> directives =
      array ? nodes_directives(script.site, {.name = script.job_name,
                                             .nodes = script.nodes_per_task,
                                             .processes_per_node = script.processes_per_node,
                                             .walltime = script.walltime})
            : lone_directives(script);
  const auto add = [&](std::string key, std::string value) {
    directives.push_back({.key = std::move(key), .value = std::move(value)});
  };
  if (!script.study_id.empty()) {
    const std::string what =
        script.stage.empty() ? std::string(name_of(script.kind)) : script.stage.text;
    add("comment", fmt::format("slurmtune study={} stage={}", script.study_id, what));
  }
  // The training is the user's own, which need not bear a signal.
  const int warning = script.kind == JobKind::whole ? whole_warning_s : warning_s;
  if (array && !launch) add("signal", fmt::format("B:USR1@{}", warning));
  add("output", log_pattern(script));
  add("open-mode", "append");
  // It is launched once: what it has written already, only the user knows.
  add(launch ? "no-requeue" : "requeue", "");
  if (!script.site.mail.empty()) {
    add("mail-user", script.site.mail);
    add("mail-type", std::string(mail_types(script)));
  }
  SLURMTUNE_CHECK(
      add_site_options(script.site, array ? JobRole::trials : JobRole::reducer, directives));
  return render_directives(directives);
}

/// What starts the runner, with its marks.
std::vector<std::string> launch_words(const Site& site) {
  if (!site.runner_launch.empty()) return site.runner_launch;
  std::vector<std::string> words{"srun"};
  if (!site.mpi.empty()) words.push_back("--mpi=" + site.mpi);
  std::string_view rest = default_runner_launch;
  while (!rest.empty()) {
    const std::size_t space = std::min(rest.find(' '), rest.size());
    words.emplace_back(rest.substr(0, space));
    rest.remove_prefix(std::min(space + 1, rest.size()));
  }
  return words;
}

/// One word of the launch line: `{nodes}` is the number of nodes, `{cpus}` that of a node's CPUs,
/// which only the job itself knows.
std::string launch_word(std::string_view word, int nodes) {
  constexpr std::string_view nodes_mark = "{nodes}";
  constexpr std::string_view cpus_mark = "{cpus}";
  std::string text(word);
  for (std::size_t at = 0; (at = text.find(nodes_mark, at)) != std::string::npos;) {
    text.replace(at, nodes_mark.size(), std::to_string(nodes));
  }
  const std::size_t cpus = text.find(cpus_mark);
  if (cpus == std::string::npos) return shell_quote(text);
  const std::string_view all = text;
  const std::string_view before = all.substr(0, cpus);
  const std::string_view after = all.substr(cpus + cpus_mark.size());
  return (before.empty() ? "" : shell_quote(before)) + "\"${SLURM_CPUS_ON_NODE:-1}\"" +
         (after.empty() ? "" : shell_quote(after));
}

std::string runner_launch(const JobScript& script) {
  std::string line;
  for (const std::string& word : launch_words(script.site)) {
    line += (line.empty() ? "" : " ") + launch_word(word, script.nodes_per_task);
  }
  return line;
}

std::string setup_lines(const JobScript& script) {
  std::string text;
  for (const std::string& line : script.site.modules) text += line + "\n";
  return text;
}

std::string make_previous_decision(const JobScript& script, std::string_view program) {
  if (!script.previous) return "";
  return fmt::format(
      "# Usually made already. If the reducer died, it is made here; without it there is nothing "
      "to "
      "run.\n{} reduce \"$SLURMTUNE_STUDY\" --stage {} || exit\n",
      program, script.previous->text);
}

/// Its runner counts what earlier starts took, by their lines. One that left none may have hung in
/// the set-up until it was requeued.
std::string end_after_silence(const JobScript& script) {
  if (!script.has_budget) return "";
  return fmt::format(
      R"(
# A start of this task that left no line may have used all of its time, which the budget counts
# once: what it should have run is left to a later stage.
if [ "${{SLURM_RESTART_COUNT:-0}}" -gt 0 ] && [ -n "${{SLURM_ARRAY_TASK_ID:-}}" ] &&
    [ -z "${{SLURMTUNE_TASK:-}}" ]; then
    lines=${{SLURM_ARRAY_JOB_ID}}_$(({} + SLURM_ARRAY_TASK_ID)).$((SLURM_RESTART_COUNT - 1)).jsonl
    [ -e "$SLURMTUNE_STUDY/stages/{}/verdicts/$lines" ] || exit 0
fi
)",
      script.first_slice, script.stage.text);
}

/// Replaces each `@NAME@` by its value; values are not looked at again.
std::string fill(std::string_view text, const std::map<std::string, std::string>& values) {
  std::string filled;
  while (true) {
    const std::size_t begin = text.find('@');
    filled += text.substr(0, begin);
    if (begin == std::string_view::npos) return filled;
    const std::size_t end = text.find('@', begin + 1);
    const auto value = end == std::string_view::npos
                           ? values.end()
                           : values.find(std::string(text.substr(begin + 1, end - begin - 1)));
    if (value == values.end()) {
      filled += '@';  // `${launch[@]}`
      text.remove_prefix(begin + 1);
    } else {
      filled += value->second;
      text.remove_prefix(end + 1);
    }
  }
}

bool safe_name(std::string_view name) {
  return !name.empty() && name.front() != '-' && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  });
}

}  // namespace

JobScript array_script(JobScript common, const PlannedStage& stage) {
  common.kind = JobKind::array;
  common.stage = stage.name;
  common.tasks = stage.tasks_max;
  common.nodes_per_task = stage.nodes_per_task;
  common.walltime = std::chrono::seconds(stage.task_walltime_s);
  return common;
}

std::string script_path(const JobScript& script) {
  const std::string stage = script.study_dir + "/stages/" + script.stage.text;
  switch (script.kind) {
    case JobKind::array:
      return script.first_slice == 0 ? stage + "/array.sbatch"
                                     : fmt::format("{}/array.{}.sbatch", stage, script.first_slice);
    case JobKind::reducer: return stage + "/reduce.sbatch";
    case JobKind::guard: return script.study_dir + "/guard.sbatch";
    case JobKind::whole: return script.study_dir + "/one-job.sbatch";
    case JobKind::launch: return script.study_dir + "/launch.sbatch";
    case JobKind::final: break;
  }
  return script.study_dir + "/final.sbatch";
}

std::string log_directory(const JobScript& script) {
  if (script.kind == JobKind::array || script.kind == JobKind::reducer) {
    return script.study_dir + "/stages/" + script.stage.text + "/logs";
  }
  return script.study_dir + "/logs";
}

Expected<std::string> render_job_script(const JobScript& script) {
  SLURMTUNE_CHECK(check_path("the study directory", script.study_dir));
  SLURMTUNE_CHECK(check_path("the directory of study.toml", script.origin));
  if (!safe_name(script.job_name)) {
    return invalid_input("a job name may hold letters, digits and . _ - only: " + script.job_name);
  }
  const bool staged = script.kind == JobKind::array || script.kind == JobKind::reducer;
  SLURMTUNE_ASSERT(!staged || safe_name(script.stage.text));
  SLURMTUNE_ASSERT(!script.previous || safe_name(script.previous->text));
  SLURMTUNE_TRY(const std::string lines, sbatch_lines(script));
  const auto text = embedded_file(template_path(script.kind));
  SLURMTUNE_ASSERT(text.has_value());

  std::string name = script.study_name;
  std::replace_if(
      name.begin(), name.end(),
      [](char c) {
        return has_control_character({&c, 1});
      },
      ' ');
  const std::string program = shell_quote(script.study_dir + "/bin/slurmtune");
  return fill(*text, {
                         {"STAGE", script.stage.text},
                         {"STUDY_NAME", name},
                         {"STUDY_DIR", shell_quote(script.study_dir)},
                         {"ORIGIN", shell_quote(script.origin)},
                         {"SCRIPT", shell_quote(script_path(script))},
                         {"SBATCH_LINES", lines},
                         {"SETUP", setup_lines(script)},
                         {"SILENCE", end_after_silence(script)},
                         {"PREVIOUS", make_previous_decision(script, program)},
                         {"PROGRAM", program},
                         {"RUNNER", shell_quote(script.study_dir + "/bin/slurmtune-runner")},
                         {"RUNNER_LAUNCH", runner_launch(script)},
                         {"FIRST_SLICE", std::to_string(script.first_slice)},
                         {"LAST_TASK", std::to_string(script.tasks - 1)},
                     });
}

std::vector<std::string> runner_launch_words(const Site& site, LaunchPlace place) {
  std::vector<std::string> words = launch_words(site);
  for (std::string& word : words) {
    for (const auto& [mark, value] : {std::pair<std::string_view, int>("{nodes}", place.nodes),
                                      std::pair<std::string_view, int>("{cpus}", place.cpus)}) {
      for (std::size_t at = 0; (at = word.find(mark, at)) != std::string::npos;) {
        word.replace(at, mark.size(), std::to_string(value));
      }
    }
  }
  return words;
}

}  // namespace slurmtune
