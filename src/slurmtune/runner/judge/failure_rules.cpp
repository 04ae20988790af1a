// SPDX-License-Identifier: MIT
#include "slurmtune/runner/judge/failure_rules.hpp"

#include <array>
#include <charconv>
#include <regex>
#include <vector>

namespace slurmtune {

namespace {

using enum Outcome;
using enum RuleScope;

// std::regex recurses once a character.
constexpr std::size_t line_bytes_max = 2048;

// Regular expressions of one line each; an exception of Python stands at the line's beginning.
constexpr FailureRule rules[] = {
    {"no-space", storage_error, any, R"(^[^:]+:.*No space left on device)"},
    {"quota", storage_error, any, R"(^[^:]+:.*Disk quota exceeded)"},
    {"stale-handle", storage_error, any, R"(^[^:]+:.*Stale (NFS )?file handle)"},

    {"torch-cuda-oom", gpu_oom, any, R"(^(torch\.cuda\.|torch\.)?OutOfMemoryError\b)"},
    {"cuda-oom", gpu_oom, any,
     R"(^([A-Za-z_]\w*\.)*\w*Error: .*(CUDA|HIP|XPU)( error:)? out of memory)"},
    {"cublas-alloc", gpu_oom, any, R"(^\w*Error: .*CUBLAS_STATUS_ALLOC_FAILED)"},
    {"c10-oom", gpu_oom, any, R"(^terminate called after .*c10::(Cuda)?OutOfMemoryError)"},
    {"xla-oom", gpu_oom, any, R"(^[\w.]*XlaRuntimeError: RESOURCE_EXHAUSTED)"},
    {"minitrain-oom", gpu_oom, any, R"(^minitrain\.OutOfMemoryError: )"},

    {"torch-cpu-oom", host_oom, any, R"(^RuntimeError: .*DefaultCPUAllocator: (can't|not enough))"},
    {"bad-alloc", host_oom, any, R"(^terminate called after throwing .*'std::bad_alloc')"},
    {"python-memory", host_oom, any, R"(^([A-Za-z_]\w*\.)*_?(Array)?MemoryError\b)"},
    {"enomem", host_oom, any, R"(^[^:]+:.*Cannot allocate memory)"},
    {"slurm-oom", host_oom, any,
     R"(^(srun|slurmstepd)(-\S+)?: error: .*([Oo]ut [Oo]f [Mm]emory|oom[-_ ]?kill))"},

    {"slurm-node-failure", node_failure, any,
     R"(^(srun|slurmstepd)(-\S+)?: error: .*(NODE FAILURE|Node failure|node_fail))"},

    {"slurm-time-limit", preempted, any,
     R"(^(srun|slurmstepd)(-\S+)?: error: \*\*\* .*CANCELLED AT .*DUE TO (TIME LIMIT|PREEMPTION))"},
    {"slurm-cancelled", cancelled, no_rank_failed,
     R"(^(srun|slurmstepd)(-\S+)?: error: \*\*\* .*CANCELLED AT )"},

    {"loss-scale", nan, any, R"(^Exception: Current loss scale already at minimum)"},

    {"batch-assertion", config_error, any, R"(^AssertionError: .*[Bb]atch)"},
    {"deepspeed-config", config_error, any, R"(^([A-Za-z_]\w*\.)*DeepSpeedConfigError\b)"},
    {"validation", config_error, any, R"(^pydantic[\w.]*ValidationError\b)"},
    {"json", config_error, any, R"(^json\.decoder\.JSONDecodeError\b)"},
    {"deepspeed-value", config_error, before_first_step,
     R"(^(Value|Assertion|Key|Type)Error: .*([Dd]eep[Ss]peed|ds_config|[Zz]e[Rr][Oo]))"},

    {"python-module", launch_error, before_first_step, R"(^(ModuleNotFound|Import)Error: )"},
    {"shared-library", launch_error, before_first_step, R"(error while loading shared libraries)"},
    {"port", launch_error, before_first_step, R"(^[^:]+:.*([Aa]ddress already in use|EADDRINUSE))"},
    {"python-file", launch_error, before_first_step, R"(^\S*python[\d.]*: can't open file)"},
    {"no-module-name", launch_error, before_first_step, R"(^\S*python[\d.]*: No module named )"},
    {"no-command", launch_error, before_first_step,
     R"(^(bash|sh|env|[^: ]*\.sh|/bin/\w*sh)(: line)?[: ].*(not found|No such file.*)$)"},
    {"no-driver", launch_error, before_first_step,
     R"(^\w*Error: .*(No CUDA GPUs are available|NVIDIA driver|no CUDA-capable device))"},
    {"container", launch_error, before_first_step, R"(^(FATAL|pyxis|.*enroot).*(image|contain))"},
    {"rank-env", launch_error, before_first_step, R"(^slurmtune-runner: rank-env: )"},
    {"orte", launch_error, before_first_step,
     R"(^(ORTE (was|has)|mpirun was unable|There are not enough slots|An ORTE daemon has))"},
    {"srun-step", launch_error, before_first_step,
     R"(^(srun|slurmstepd)(-\S+)?: error: .*(Unable to|execve|launch failed|step creation))"},

    {"argument", config_error, exit_2, R"(^\S+: error: )"},
    {"refused", config_error, exit_2, R"(^[\w./-]+: \S)"},
};

const std::vector<std::regex>& expressions() {
  static const std::vector<std::regex> compiled = [] {
    std::vector<std::regex> all;
    for (const FailureRule& rule : rules) {
      all.emplace_back(std::string(rule.expression), std::regex::ECMAScript);
    }
    return all;
  }();
  return compiled;
}

bool applies(const FailureRule& rule, const FailureContext& context) {
  switch (rule.scope) {
    case any: return true;
    case before_first_step: return !context.had_steps;
    case no_rank_failed: return !context.rank_failed;
    case exit_2: return !context.had_steps && context.exit_code == 2;
  }
  return false;
}

/// The number at the start, and what follows it.
std::optional<int> take_number(std::string_view& text) {
  int value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc{} || text.front() == '-') return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

bool take(std::string_view& text, std::string_view head) {
  if (!text.starts_with(head)) return false;
  text.remove_prefix(head.size());
  return true;
}

}  // namespace

std::span<const FailureRule> failure_rules() { return rules; }

OutputLine strip_prefix(std::string_view line) {
  std::string_view text = line;
  if (take(text, "[rank")) {  // torch 2.2 and later
    const auto rank = text.empty() ? std::nullopt : take_number(text);
    if (rank && take(text, "]: ")) return {text, rank};
  }
  text = line;
  if (take(text, "[")) {  // mpirun --tag-output: [job,rank]<stdout>:
    const auto job = text.empty() ? std::nullopt : take_number(text);
    if (job && take(text, ",") && !text.empty()) {
      const auto rank = take_number(text);
      const bool tagged = take(text, "]<stdout>:") || take(text, "]<stderr>:");
      if (rank && tagged) return {text, rank};
    }
  }
  text = line;
  while (take(text, " ")) continue;  // srun --label pads the rank
  if (!text.empty()) {
    const auto rank = take_number(text);
    if (rank && take(text, ": ")) return {text, rank};
  }
  return {line, std::nullopt};
}

std::optional<RuleMatch> match_failure(std::span<const std::string> lines,
                                       const FailureContext& context) {
  for (std::size_t i = 0; i < std::size(rules); ++i) {
    if (!applies(rules[i], context)) continue;
    for (std::size_t step = 0; step < lines.size(); ++step) {
      // The first of several is the cause; but what refuses its arguments says so at the end.
      const std::size_t at = rules[i].scope == exit_2 ? lines.size() - 1 - step : step;
      const std::string_view text = std::string_view(lines[at]).substr(0, line_bytes_max);
      if (std::regex_search(text.begin(), text.end(), expressions()[i])) {
        return RuleMatch{&rules[i], at};
      }
    }
  }
  return std::nullopt;
}

bool is_launcher_line(std::string_view line) {
  constexpr std::array<std::string_view, 17> beginnings{"-----",
                                                        "mpirun ",
                                                        "MPI_ABORT was invoked",
                                                        "with errorcode ",
                                                        "NOTE: invoking MPI_ABORT",
                                                        "You may or may not see output",
                                                        "Primary job ",
                                                        "Per user-direction, the job",
                                                        "a non-zero exit code",
                                                        "  Process name:",
                                                        "  Exit code:",
                                                        "exiting without calling",
                                                        "srun: ",
                                                        "slurmstepd: ",
                                                        "slurmstepd-",
                                                        "Killed by signal",
                                                        "exactly when Open MPI kills"};
  for (const std::string_view beginning : beginnings) {
    if (line.starts_with(beginning)) return true;
  }
  return line.find("a non-zero exit code. Per user-direction") != std::string_view::npos ||
         line.find("[[") == 0;
}

std::string_view telling_line(std::span<const std::string> lines) {
  static const std::regex error_form(
      R"(^([A-Za-z_]\w*\.)*[A-Za-z_]\w*(Error|Exception|Interrupt)(:|$))"
      R"(|^\S+: ([Ff]atal |FATAL )?[Ee]rror|^terminate called|^[Ff]atal)"
      R"(|: [Ee]rror: |[Aa]ssertion .*failed)");
  std::string_view last;
  for (std::size_t back = 1; back <= lines.size(); ++back) {
    const std::string& line = lines[lines.size() - back];
    if (is_launcher_line(line)) continue;
    const std::string_view text = std::string_view(line).substr(0, line_bytes_max);
    if (text.find_first_not_of(" \t") == std::string_view::npos) continue;
    if (std::regex_search(text.begin(), text.end(), error_form)) return line;
    if (last.empty()) last = line;
  }
  if (last.empty() && !lines.empty()) last = lines.back();
  return last;
}

}  // namespace slurmtune
