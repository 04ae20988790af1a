// SPDX-License-Identifier: MIT
#include "slurmtune/execute/slurm_cli/slurm_cli.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <ctime>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "slurmtune/execute/process.hpp"
#include "slurmtune/execute/slurm_cli/squeue_output.hpp"
#include "slurmtune/execute/slurm_words.hpp"

namespace slurmtune {
namespace {

/// What one call of a command came to.
struct Answer {
  SlurmAnswer kind = SlurmAnswer::refused;
  bool success = false;
  std::string out;
  std::string message;
};

// The worst line of a message counts: scancel reports each task that it could not cancel.
SlurmAnswer classify_lines(std::string_view message) {
  SlurmAnswer worst = SlurmAnswer::job_is_over;
  while (!message.empty()) {
    const std::size_t newline = std::min(message.find('\n'), message.size());
    const std::string_view line = message.substr(0, newline);
    message.remove_prefix(std::min(newline + 1, message.size()));
    // scontrol says so of each task that it could do something for.
    if (line.empty() || line.ends_with(": No error")) continue;
    const SlurmAnswer answer = classify_message(line);
    if (answer == SlurmAnswer::no_answer) return answer;
    if (answer == SlurmAnswer::refused || worst == SlurmAnswer::job_is_over) worst = answer;
  }
  return worst;
}

/// `4711` or `4711;cluster`, on a line of its own: sites print greetings around it.
std::optional<JobId> parse_job_id(std::string_view out) {
  std::optional<JobId> id;
  while (!out.empty()) {
    const std::size_t newline = std::min(out.find('\n'), out.size());
    const std::string_view line = out.substr(0, newline);
    out.remove_prefix(std::min(newline + 1, out.size()));
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number);
    const bool whole = end == line.data() + line.size() || *end == ';';
    if (error == std::errc() && whole && number > 0) id = JobId{number};
  }
  return id;
}

/// Slurm reads times of day in the local time of whoever asks.
std::string begin_text(Instant at) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(at);
  std::tm local{};
  ::localtime_r(&seconds, &local);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", local.tm_year + 1900, local.tm_mon + 1,
                     local.tm_mday, local.tm_hour, local.tm_min, local.tm_sec);
}

std::string comma_separated(std::span<const JobId> jobs) {
  std::string text;
  for (const JobId job : jobs) text += (text.empty() ? "" : ",") + std::to_string(job.number);
  return text;
}

class SlurmCli final : public Scheduler {
 public:
  SlurmCli(SlurmCliOptions options, std::string version)
      : options_(options), version_(std::move(version)) {}

  Expected<JobId> submit(const JobRequest& job) override {
    SLURMTUNE_TRY(const std::vector<std::string> argv, submit_command(job));
    const Answer answer = call(argv, options_.command_timeout);
    if (answer.success) {
      if (const auto id = parse_job_id(answer.out)) return *id;
      // Submitted, it seems: whoever asked has to look the job up.
      return no_answer("submit " + job.name, "sbatch names no job: " + answer.out);
    }
    if (answer.kind == SlurmAnswer::no_answer)
      return no_answer("submit " + job.name, answer.message);
    return invalid_input(fmt::format("Slurm refuses the job {} ({}): {}", job.name, job.script,
                                     slurm_reason(answer.message)));
  }

  Expected<std::optional<JobId>> find(const std::string& name) override {
    SLURMTUNE_CHECK(check_job_name(name));
    SLURMTUNE_TRY(const Answer answer, ask("look for " + name, find_command(name)));
    return newest(answer.out);
  }

  Expected<std::vector<JobReport>> report(std::span<const JobId> jobs) override {
    if (jobs.empty()) return std::vector<JobReport>();
    const std::string format = "--Format=" + std::string(squeue_format);
    SLURMTUNE_TRY(Answer answer, ask("ask for jobs", {"squeue", "--noheader", "--states=all",
                                                      "--jobs=" + comma_separated(jobs), format}));
    if (!answer.success) {
      // Where one job is unknown, squeue may refuse to tell of the others.
      if (jobs.size() == 1) return std::vector<JobReport>();
      SLURMTUNE_TRY(answer,
                    ask("ask for jobs", {"squeue", "--noheader", "--states=all", user(), format}));
    }
    std::vector<JobReport> reports = parse_squeue(answer.out);
    std::erase_if(reports, [&](const JobReport& report) {
      return std::find(jobs.begin(), jobs.end(), report.job) == jobs.end();
    });
    return reports;
  }

  Expected<std::vector<JobReport>> accounting(std::span<const JobId> jobs) override {
    if (jobs.empty()) return std::vector<JobReport>();
    if (!find_program("sacct")) return unavailable("sacct is not in PATH");
    // Accounting is worth a moment, no more: a database that is slow is not asked again.
    const Answer answer =
        call({"sacct", "--noheader", "--parsable2", "--allocations", "--starttime=1970-01-01",
              "--format=" + std::string(sacct_format), "--jobs=" + comma_separated(jobs)},
             options_.accounting_timeout);
    if (!answer.success) return unavailable("sacct: " + slurm_reason(answer.message));
    return parse_sacct(answer.out, static_cast<std::int64_t>(::geteuid()));
  }

  Expected<void> exclude_nodes(JobId job, const std::string& nodes) override {
    const Answer answer =
        call({"scontrol", "update", fmt::format("JobId={}", job.number), "ExcNodeList=" + nodes},
             options_.command_timeout);
    if (answer.success || answer.kind == SlurmAnswer::unknown_job ||
        answer.kind == SlurmAnswer::job_is_over) {
      return {};
    }
    if (answer.kind == SlurmAnswer::no_answer) {
      return no_answer(fmt::format("exclude nodes for {}", job.number), answer.message);
    }
    return invalid_input(fmt::format("Slurm refuses to exclude {} for job {}: {}", nodes,
                                     job.number, slurm_reason(answer.message)));
  }

  Expected<void> cancel(JobId job) override { return scancel(std::to_string(job.number)); }

  Expected<void> cancel_tasks(JobId job, std::int64_t first, std::int64_t end) override {
    if (first >= end) return {};
    return scancel(fmt::format("{}_[{}-{}]", job.number, first, end - 1));
  }

  [[nodiscard]] std::string description() const override { return "slurm commands " + version_; }

 private:
  static std::string user() { return "--user=" + std::to_string(::geteuid()); }

  static std::vector<std::string> find_command(const std::string& name) {
    return {"squeue", "--noheader",     "--states=all",
            user(),   "--name=" + name, "--Format=" + std::string(squeue_format)};
  }

  static Expected<std::vector<std::string>> submit_command(const JobRequest& job) {
    SLURMTUNE_CHECK(check_job_name(job.name));
    SLURMTUNE_TRY(const auto array, array_text(job));
    std::vector<std::string> argv{"sbatch", "--parsable", "--job-name=" + job.name,
                                  "--chdir=" + job.workdir};
    if (array) argv.push_back("--array=" + *array);
    if (!job.after_any.empty()) argv.push_back("--dependency=" + dependency_text(job));
    if (job.begin) argv.push_back("--begin=" + begin_text(*job.begin));
    if (!job.exclude.empty()) argv.push_back("--exclude=" + job.exclude);
    argv.push_back(job.script);
    return argv;
  }

  static std::optional<JobId> newest(std::string_view squeue_output) {
    std::optional<JobId> id;
    for (const JobReport& report : parse_squeue(squeue_output)) {
      if (!id || id->number < report.job.number) id = report.job;
    }
    return id;
  }

  static tl::unexpected<Error> no_answer(const std::string& what, const std::string& message) {
    return unavailable(with_limits_named(
        fmt::format("Slurm does not answer (to {}): {}", what, slurm_reason(message))));
  }

  /// One call of a command; one that hangs or cannot be started is no answer.
  [[nodiscard]] static Answer call(const std::vector<std::string>& argv,
                                   std::chrono::milliseconds timeout) {
    const auto result =
        run_process({.call = {.argv = argv,
                              .environment = submission_environment(current_environment()),
                              .workdir = ""},
                     .input = "",
                     .timeout = timeout});
    if (!result) {
      return {.kind = SlurmAnswer::no_answer, .out = "", .message = result.error().message};
    }
    if (result->ending == Ending::timed_out) {
      const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(timeout).count();
      return {.kind = SlurmAnswer::no_answer,
              .out = "",
              // sbatch itself tries for two minutes, and says why.
              .message = fmt::format("{}{} gave no answer in {} s",
                                     result->err.empty() ? "" : slurm_reason(result->err) + ": ",
                                     argv.front(), seconds)};
    }
    const std::string message = result->err.empty() ? result->status.text() : result->err;
    return {.kind = classify_lines(message),
            .success = result->status.success(),
            .out = result->out,
            .message = message};
  }

  /// An unknown or ended job is an answer, without success.
  /// Errors: unavailable, invalid_input in Slurm's words.
  [[nodiscard]] Expected<Answer> ask(const std::string& what,
                                     const std::vector<std::string>& argv) const {
    Answer answer = call(argv, options_.command_timeout);
    if (answer.success) return answer;
    if (answer.kind == SlurmAnswer::no_answer) return no_answer(what, answer.message);
    if (answer.kind != SlurmAnswer::refused) return answer;
    if (is_forgotten_dependency(answer.message)) return forgotten_dependency(what);
    return invalid_input(
        fmt::format("Slurm refuses to {}: {}", what, slurm_reason(answer.message)));
  }

  Expected<void> scancel(const std::string& what) {
    SLURMTUNE_TRY([[maybe_unused]] const Answer answer, ask("cancel " + what, {"scancel", what}));
    return {};
  }

  SlurmCliOptions options_;
  std::string version_;
};

}  // namespace

Expected<std::unique_ptr<Scheduler>> make_slurm_cli(SlurmCliOptions options) {
  for (const char* program : {"sbatch", "squeue", "scancel"}) {
    if (!find_program(program)) {
      return unavailable(fmt::format(
          "{} is not in PATH: this is no login node of a Slurm cluster, or Slurm's module is not "
          "loaded. Without Slurm, set [slurm] submit = \"local\"",
          program));
    }
  }
  const char* conf = std::getenv("SLURM_CONF");
  if (conf != nullptr && *conf != '\0' && ::access(conf, R_OK) != 0) {
    // The commands would look for it for a minute.
    return unavailable(fmt::format("SLURM_CONF={}: that file cannot be read", conf));
  }
  SLURMTUNE_TRY(const ProcessResult result,
                run_process({.call = {.argv = {"sbatch", "--version"},
                                      .environment = submission_environment(current_environment()),
                                      .workdir = ""},
                             .input = "",
                             .timeout = options.command_timeout}));
  if (!result.status.success()) {
    return unavailable(fmt::format("sbatch does not work: {}", slurm_reason(result.err)));
  }
  // `slurm 22.05.8`, `slurm-wlm 22.05.8`
  std::string version = result.out.substr(0, result.out.find('\n'));
  version.erase(0, std::min(version.find(' ') + 1, version.size()));
  return std::unique_ptr<Scheduler>(std::make_unique<SlurmCli>(options, std::move(version)));
}

}  // namespace slurmtune
