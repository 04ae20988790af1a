// SPDX-License-Identifier: MIT
#include "slurmtune/cli/open_study.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <set>
#include <system_error>
#include <vector>

#include <fmt/core.h>
#include <spdlog/spdlog.h>

#include "slurmtune/base/shell_quote.hpp"
#include "slurmtune/execute/lazy_scheduler.hpp"
#include "slurmtune/execute/local/no_jobs_scheduler.hpp"
#include "slurmtune/execute/slurm_scheduler.hpp"

namespace slurmtune {

namespace {

/// Somebody waits for a command; a job may wait longer for its controller.
constexpr std::chrono::seconds command_patience{15};
/// Of whoever only looks. A controller that is well answers within some milliseconds; libslurm and
/// then the commands may each take that long.
constexpr std::chrono::milliseconds look_patience{3000};

Expected<std::unique_ptr<Scheduler>> slurm_client(SlurmNeed need) {
  ClientChoice choice;
  if (need == SlurmNeed::when_asked) {
    choice.patience = look_patience;
    choice.note = [](const std::string& line) { spdlog::info("{}", line); };
    return std::make_unique<LazyScheduler>([choice] { return make_slurm_scheduler(choice); });
  }
  choice.note = [](const std::string& line) { spdlog::warn("{}", line); };
  return make_slurm_scheduler(choice);
}

/// Above what Slurm numbers its jobs: those that a study starts itself inside of one of them.
constexpr std::int64_t inner_jobs = 1'000'000'000;

ExecutorOptions slurm_options(SlurmNeed need) {
  ExecutorOptions options;
  if (!real_world().own_job) options.patience = command_patience;
  if (need == SlurmNeed::when_asked) options.patience = std::chrono::milliseconds(0);
  return options;
}

/// Whether all of a study has ended, the training with its winner included.
Expected<bool> is_over(const StudyDirectory& place, const StudyState& state) {
  if (!state.finished) return false;
  SLURMTUNE_TRY(const Plan plan, place.read_plan());
  return !wants_training(plan, state) || (state.training && state.training->ended);
}

/// For jobs that were cancelled: Slurm kills what does not go after KillWait, 30 s by default.
constexpr std::chrono::seconds withdrawal_patience{90};

}  // namespace

Expected<OpenStudy> open_study(const std::filesystem::path& directory, LocalPart part,
                               SlurmNeed need) {
  SLURMTUNE_TRY(const StudyDirectory place, StudyDirectory::open(directory));
  SLURMTUNE_TRY(const auto events, Journal(place.journal()).read());
  OpenStudy study;
  SLURMTUNE_TRY(study.state, fold(events));
  if (need == SlurmNeed::unless_finished) {
    SLURMTUNE_TRY(const bool over, is_over(place, study.state));
    need = over ? SlurmNeed::when_asked : SlurmNeed::at_once;
  }
  study.need = need;
  ExecutorOptions options = slurm_options(need);
  std::unique_ptr<Scheduler> scheduler;
  if (!study.is_local()) {
    SLURMTUNE_TRY(scheduler, slurm_client(need));
    SLURMTUNE_TRY(const StudyInput input, place.read_input());
    options.submits_per_minute = input.site.jobs_per_minute_max;
  } else if (part == LocalPart::foreground) {
    LocalOptions local;
    if (study.state.created.submit != "local") local.allocation = Allocation::used;
    if (study.is_one_job()) local.last_job = inner_jobs;
    for (const JobRecord& job : study.state.jobs) {
      if (job.kind == JobKind::whole) continue;
      local.last_job = std::max(local.last_job, job.job.value_or(0));
    }
    auto owned = std::make_unique<LocalScheduler>(local);
    study.local = owned.get();
    scheduler = std::move(owned);
    options.query_interval = std::chrono::milliseconds(0);
  } else {
    scheduler = std::make_unique<NoJobsScheduler>();
    options.query_interval = std::chrono::milliseconds(0);
  }
  spdlog::debug("batch system: {}", scheduler->description());
  study.executor = std::make_unique<TuningExecutor>(std::move(scheduler), options);
  World world = real_world();
  world.say = [](const std::string& line) { spdlog::info("{}", line); };
  SLURMTUNE_TRY(Autotuner autotuner, Autotuner::open(place, *study.executor, std::move(world)));
  study.autotuner = std::make_unique<Autotuner>(std::move(autotuner));
  return study;
}

Expected<std::unique_ptr<TuningExecutor>> open_slurm(SlurmNeed need) {
  SLURMTUNE_TRY(auto scheduler, slurm_client(need));
  return std::make_unique<TuningExecutor>(std::move(scheduler), slurm_options(need));
}

void warn_of_drafts(const CreatedStudy& created) {
  for (const auto& draft : created.abandoned_drafts) {
    spdlog::warn(
        "{}: a draft of this study, left by a command that was killed; take it away: rm -r {}",
        draft.string(), shell_quote(draft.string()));
  }
}

Expected<WholeJob> submit_one_job(const CreatedStudy& created) {
  SLURMTUNE_TRY(const auto slurm, open_slurm());
  auto job = submit_whole_job(created.directory, *slurm, real_world());
  const bool refused = !job && job.error().kind == ErrorKind::invalid_input;
  if (refused && created.creation == Creation::created) withdraw_study(created.directory);
  return job;
}

std::string whole_job_lines(const WholeJob& whole) {
  if (!whole.is_new && whole.chained.empty()) {
    return fmt::format("nothing is missing; job {} goes on\n", whole.job);
  }
  std::string lines;
  if (whole.is_new) lines += fmt::format("{:>10}  the whole study\n", whole.job);
  for (const std::int64_t job : whole.chained) {
    lines += fmt::format("{:>10}  goes on where the time of the one before is over\n", job);
  }
  return lines;
}

std::optional<std::int64_t> prepare_successor(const StudyDirectory& directory) {
  const World world = real_world();
  const auto follow = [&]() -> Expected<std::optional<std::int64_t>> {
    SLURMTUNE_TRY(const auto slurm, open_slurm());
    return follow_whole_job(directory, *slurm, world);
  };
  const auto next = follow();
  if (!next) {
    // Then this job ends the study, once its time is over, with what there is.
    spdlog::warn("no job goes on after this one: {}", next.error().message);
    return std::nullopt;
  }
  if (*next) {
    ::setenv(time_follows_variable, std::to_string(**next).c_str(), 1);
    spdlog::info("job {} goes on after this one", **next);
  }
  return *next;
}

Expected<StudyState> submit_missing_jobs(OpenStudy& study, const CreatedStudy& created) {
  auto state = study.autotuner->advance({Role::resume, 0});
  const bool refused = !state && state.error().kind == ErrorKind::invalid_input;
  if (!refused || created.creation != Creation::created) return state;
  // What was taken before the refusal may run already, and would wait for a reducer for ever.
  const auto over = study.autotuner->end_all_jobs(withdrawal_patience);
  withdraw_study(created.directory, over ? *over : std::set<std::int64_t>());
  std::error_code code;
  if (!std::filesystem::exists(created.directory.root(), code)) return state;
  return invalid_input(fmt::format(
      "{}; jobs that were submitted before this one have not ended yet: end them with: slurmtune "
      "cancel {}",
      state.error().message, created.directory.root().string()));
}

Expected<SlurmJobs> slurm_jobs_of(const OpenStudy& study, const StudyState& state,
                                  SlurmJobs before) {
  SlurmJobs slurm = std::move(before);
  slurm.jobs.clear();
  if (study.is_local() && !study.is_one_job()) return slurm;
  for (const JobRecord& job : state.jobs) {
    const bool slurms = !study.is_one_job() || job.kind == JobKind::whole;
    if (job.job && slurms) slurm.jobs.push_back({*job.job});
  }
  slurm.client = study.executor.get();
  if (study.is_one_job()) {
    if (!slurm.own) {
      SLURMTUNE_TRY(slurm.own, open_slurm(study.need));
    }
    slurm.client = slurm.own.get();
  }
  return slurm;
}

Expected<void> check_no_whole_job(const OpenStudy& study) {
  SLURMTUNE_TRY(const SlurmJobs slurm, slurm_jobs_of(study, study.state));
  if (slurm.jobs.empty()) return {};
  SLURMTUNE_TRY(const auto reports, slurm.client->report(slurm.jobs));
  for (const JobReport& report : reports) {
    if (is_over(report.state)) continue;
    return unavailable(
        fmt::format("{}: job {} ({}) has not ended; wait for it, or end it: scancel {}",
                    study.autotuner->directory().root().string(), report.job.number, report.name,
                    report.job.number));
  }
  return {};
}

Expected<void> check_alone(const OpenStudy& study) {
  const World world = real_world();
  for (const JobRecord& job : study.state.jobs) {
    if (job.by.empty() || job.by == world.who || !world.is_running(job.by)) continue;
    return unavailable(
        fmt::format("{}: {} is working on this study; wait until it is done, or end "
                    "that process first",
                    study.autotuner->directory().root().string(), job.by));
  }
  return {};
}

}  // namespace slurmtune
