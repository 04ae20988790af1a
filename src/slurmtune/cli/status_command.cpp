// SPDX-License-Identifier: MIT
#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "slurmtune/cli/command.hpp"
#include "slurmtune/cli/interrupt.hpp"
#include "slurmtune/cli/open_study.hpp"
#include "slurmtune/cli/output.hpp"
#include "slurmtune/cli/plain_number.hpp"
#include "slurmtune/cli/study_commands.hpp"

namespace slurmtune {

namespace {

/// No server is asked more often.
constexpr int interval_min_s = 30;
/// How soon Ctrl-C ends a pause.
constexpr std::chrono::milliseconds pause_step{200};

struct StatusArguments {
  std::shared_ptr<DirectoryArguments> study;
  bool watch = false;
  int interval_s = interval_min_s;
};

/// What the batch system says of a study's jobs, or why it says nothing.
struct QueueLook {
  std::vector<JobReport> jobs;
  std::string error;
};

/// One question to the batch system for all jobs of a study that goes on. The files tell most of
/// it: a silent controller is a remark, not a failure. `slurm` is kept from one look to the next.
QueueLook ask_for_jobs(const OpenStudy& study, const StudyView& view, SlurmJobs& slurm) {
  const bool trains =
      wants_training(view.plan, view.state) && !(view.state.training && view.state.training->ended);
  if (view.state.finished && !trains) return {};
  auto now = slurm_jobs_of(study, view.state, std::move(slurm));
  if (!now) return {{}, now.error().message};
  slurm = *std::move(now);
  if (slurm.jobs.empty()) return {};
  auto answer = slurm.client->report(slurm.jobs);
  if (!answer) return {{}, answer.error().message};
  return {*std::move(answer), ""};
}

/// On a terminal over what stood there before, elsewhere below it.
class Screen {
 public:
  void show(const std::string& text) {
    if (::isatty(STDOUT_FILENO) != 1) {
      print(shown_ ? "\n" + text : text);
    } else {
      // Home; each line clears what is left of a longer one, the end what is left of more lines.
      std::string drawn = shown_ ? "\x1b[H" : "\x1b[2J\x1b[H";
      for (const char c : text) drawn += c == '\n' ? std::string("\x1b[K\n") : std::string(1, c);
      print(drawn + "\x1b[J");
    }
    shown_ = true;
  }

 private:
  bool shown_ = false;
};

Expected<ExitCode> status(const StatusArguments& arguments) {
  if (arguments.interval_s < interval_min_s) {
    return invalid_input(
        fmt::format("--interval {}: the batch system is asked every {} s at most; give {} or more",
                    arguments.interval_s, interval_min_s, interval_min_s));
  }
  SLURMTUNE_TRY(OpenStudy study, open_study(arguments.study->directory, LocalPart::bystander,
                                            SlurmNeed::when_asked));
  const InterruptGuard guard;
  Screen screen;
  SlurmJobs slurm;
  for (;;) {  // with --watch until the study is finished or Ctrl-C
    SLURMTUNE_TRY(const StudyView view, study.autotuner->look(Autotuner::Queue::skip));
    const QueueLook queue = ask_for_jobs(study, view, slurm);
    const StatusInput status{study.autotuner->directory(),
                             study.autotuner->input(),
                             view,
                             queue.jobs,
                             real_world().now(),
                             queue.error};
    if (arguments.study->as_json) {
      print(status_json(status));
    } else if (arguments.watch) {
      screen.show(status_text(status, colour_of_output()));
    } else {
      print(status_text(status, colour_of_output()));
    }
    if (!arguments.watch || view.state.finished) return ExitCode::done;
    const auto next = std::chrono::steady_clock::now() + std::chrono::seconds(arguments.interval_s);
    while (std::chrono::steady_clock::now() < next) {
      if (InterruptGuard::interrupted()) return ExitCode::done;
      std::this_thread::sleep_for(pause_step);
    }
  }
}

}  // namespace

void add_status_command(CLI::App& app, Command& selected) {
  CLI::App* command = add_subcommand(app, "status", "Show how far a study is",
                                     "  slurmtune status slurmtune-gpt2\n"
                                     "  slurmtune status slurmtune-gpt2 --watch\n"
                                     "  slurmtune status slurmtune-gpt2 --json | jq .best");
  auto arguments = std::make_shared<StatusArguments>();
  arguments->study = directory_argument(*command);
  CLI::Option* watch =
      command->add_flag("--watch", arguments->watch, "again and again until the study is finished");
  command->add_option("--interval", arguments->interval_s, "seconds between two looks, 30 or more")
      ->needs(watch)
      ->check(check_plain_number)
      ->capture_default_str();
  command->add_flag("--json", arguments->study->as_json, "as JSON");
  command->callback(
      [arguments, &selected] { selected = [arguments] { return status(*arguments); }; });
}

}  // namespace slurmtune
