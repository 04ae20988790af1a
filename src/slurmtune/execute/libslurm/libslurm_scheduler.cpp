// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "slurmtune/base/version.hpp"
#include "slurmtune/execute/libslurm/job_description.hpp"
#include "slurmtune/execute/libslurm/plugin.hpp"
#include "slurmtune/execute/slurm_words.hpp"
#include "slurmtune/study/scheduler.hpp"

namespace slurmtune {
namespace {

using namespace std::chrono_literals;

// How long the controller may take to answer the first question of all.
constexpr auto trial_max = 15s;

struct FreeJobs {
  void operator()(job_info_msg_t* jobs) const { ::slurm_free_job_info_msg(jobs); }
};
using Jobs = std::unique_ptr<job_info_msg_t, FreeJobs>;

std::string release() {
  return fmt::format("{}.{:02}.{}", SLURM_VERSION_MAJOR(SLURM_VERSION_NUMBER),
                     SLURM_VERSION_MINOR(SLURM_VERSION_NUMBER),
                     SLURM_VERSION_MICRO(SLURM_VERSION_NUMBER));
}

/// The code of a call: functions return SLURM_ERROR with the code in errno, a few the code itself.
int code_of(int rc) { return rc == SLURM_ERROR ? errno : rc; }

/// `said`: what libslurm printed about it, "" = nothing.
tl::unexpected<Error> failure(const std::string& what, int code, const std::string& said = "") {
  std::string words = ::slurm_strerror(code);
  if (!said.empty()) words += fmt::format(" ({})", said);
  if (classify_message(words) == SlurmAnswer::no_answer || code == EAGAIN || code == ETIMEDOUT) {
    return unavailable(fmt::format("Slurm does not answer (to {}): {}", what, words));
  }
  return invalid_input(fmt::format("Slurm refuses to {}: {}", what, words));
}

/// Keeps what is written to standard error while it lives: libslurm prints there what its codes do
/// not say, and a user is to get one message.
class StandardErrorCapture {
 public:
  StandardErrorCapture() : file_(::memfd_create("libslurm", MFD_CLOEXEC)) {
    std::fflush(stderr);
    if (file_ >= 0) before_ = ::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
    if (before_ >= 0) ::dup2(file_, STDERR_FILENO);
  }
  StandardErrorCapture(const StandardErrorCapture&) = delete;
  StandardErrorCapture& operator=(const StandardErrorCapture&) = delete;
  ~StandardErrorCapture() {
    std::fflush(stderr);
    if (before_ >= 0) ::dup2(before_, STDERR_FILENO);
    if (before_ >= 0) ::close(before_);
    if (file_ >= 0) ::close(file_);
  }

  /// The last line so far, without libslurm's prefix `program: error: `; "" if there is none.
  [[nodiscard]] std::string last_line() const {
    std::fflush(stderr);
    std::array<char, 4096> buffer{};
    const ::ssize_t size = file_ < 0 ? 0 : ::pread(file_, buffer.data(), buffer.size(), 0);
    std::string_view text(buffer.data(), static_cast<std::size_t>(std::max<::ssize_t>(0, size)));
    while (text.ends_with('\n')) text.remove_suffix(1);
    text.remove_prefix(text.rfind('\n') + 1);  // npos + 1 is 0
    constexpr std::string_view prefix = "error: ";
    const std::size_t at = text.find(prefix);
    if (at != std::string_view::npos) text.remove_prefix(at + prefix.size());
    return std::string(text);
  }

 private:
  int file_;
  int before_ = -1;
};

JobState state_of(const slurm_job_info_t& job) {
  if ((job.job_state & JOB_COMPLETING) != 0) return JobState::running;
  switch (job.job_state & JOB_STATE_BASE) {
    case JOB_PENDING: return JobState::pending;
    case JOB_RUNNING:
    case JOB_SUSPENDED: return JobState::running;
    case JOB_COMPLETE: return JobState::completed;
    case JOB_CANCELLED: return JobState::cancelled;
    case JOB_FAILED: return JobState::failed;
    case JOB_TIMEOUT:
    case JOB_DEADLINE: return JobState::timed_out;
    case JOB_NODE_FAIL:
    case JOB_BOOT_FAIL: return JobState::node_failed;
    case JOB_PREEMPTED: return JobState::preempted;
    case JOB_OOM: return JobState::out_of_memory;
    default: return JobState::unknown;
  }
}

/// squeue's words for the commonest reasons; the library declares its own table nowhere.
std::string reason_of(const slurm_job_info_t& job) {
  switch (job.state_reason) {
    case WAIT_NO_REASON: return "None";
    case WAIT_PRIORITY: return "Priority";
    case WAIT_RESOURCES: return "Resources";
    case WAIT_DEPENDENCY: return "Dependency";
    case WAIT_DEP_INVALID: return "DependencyNeverSatisfied";
    case WAIT_HELD: return "JobHeldAdmin";
    case WAIT_HELD_USER: return "JobHeldUser";
    case WAIT_TIME: return "BeginTime";
    case WAIT_ARRAY_TASK_LIMIT: return "JobArrayTaskLimit";
    case WAIT_PART_TIME_LIMIT: return "PartitionTimeLimit";
    case WAIT_PART_NODE_LIMIT: return "PartitionNodeLimit";
    case WAIT_PART_DOWN: return "PartitionDown";
    case WAIT_RESERVATION: return "Reservation";
    case WAIT_PART_CONFIG: return "PartitionConfig";
    case FAIL_LAUNCH: return "JobLaunchFailure";
    case FAIL_EXIT_CODE: return "NonZeroExitCode";
    case FAIL_TIMEOUT: return "TimeLimit";
    case FAIL_DOWN_NODE: return "NodeDown";
    default: return fmt::format("reason {}", static_cast<int>(job.state_reason));
  }
}

JobId id_of(const slurm_job_info_t& job) {
  return {job.array_job_id != 0 ? job.array_job_id : job.job_id};
}

JobReport report_of(const slurm_job_info_t& job) {
  JobReport report{.job = id_of(job),
                   .task = {},
                   .name = job.name != nullptr ? job.name : "",
                   .state = state_of(job),
                   .reason = reason_of(job),
                   .nodes = job.nodes != nullptr ? job.nodes : ""};
  // One record stands for all tasks of an array that have not started.
  if (job.array_job_id != 0 && job.array_task_id != NO_VAL) report.task = job.array_task_id;
  return report;
}

class LibslurmScheduler final : public Scheduler {
 public:
  LibslurmScheduler() { ::slurm_init(nullptr); }
  ~LibslurmScheduler() override { ::slurm_fini(); }

  Expected<JobId> submit(const JobRequest& job) override {
    SLURMTUNE_TRY(const auto description, JobDescription::make(job));
    submit_response_msg_t* response = nullptr;
    const StandardErrorCapture said;
    const int rc = ::slurm_submit_batch_job(description->get(), &response);
    if (rc != SLURM_SUCCESS) return failure("submit " + job.name, code_of(rc), said.last_line());
#if SLURMTUNE_SLURM_SINCE(25, 11)
    const JobId id{response->step_id.job_id};
#else
    const JobId id{response->job_id};
#endif
    // An error_code beside an id is a warning (no such nodes at present): the job is in.
    ::slurm_free_submit_response_response_msg(response);
    return id;
  }

  Expected<std::optional<JobId>> find(const std::string& name) override {
    SLURMTUNE_TRY(const Jobs jobs, load_own());
    std::optional<JobId> newest;
    for (std::uint32_t i = 0; jobs && i < jobs->record_count; ++i) {
      const slurm_job_info_t& job = jobs->job_array[i];
      if (job.name == nullptr || name != job.name) continue;
      if (!newest || newest->number < id_of(job).number) newest = id_of(job);
    }
    return newest;
  }

  Expected<std::vector<JobReport>> report(std::span<const JobId> asked) override {
    std::vector<JobReport> reports;
    if (asked.empty()) return reports;
    SLURMTUNE_TRY(const Jobs jobs, load_own());
    for (std::uint32_t i = 0; jobs && i < jobs->record_count; ++i) {
      const slurm_job_info_t& job = jobs->job_array[i];
      if (std::find(asked.begin(), asked.end(), id_of(job)) == asked.end()) continue;
      reports.push_back(report_of(job));
    }
    return reports;
  }

  Expected<void> cancel(JobId job) override { return kill(std::to_string(job.number)); }

  Expected<void> cancel_tasks(JobId job, std::int64_t first, std::int64_t end) override {
    if (first >= end) return {};
    return kill(fmt::format("{}_[{}-{}]", job.number, first, end - 1));
  }

  [[nodiscard]] std::string description() const override { return "libslurm " + release(); }

 private:
  /// The jobs of this user, by one question; nullptr if there are none.
  static Expected<Jobs> load_own() {
    job_info_msg_t* jobs = nullptr;
    const int rc = ::slurm_load_job_user(&jobs, ::geteuid(), SHOW_ALL);
    if (rc != SLURM_SUCCESS) {
      // Some releases say so where this user has no job at all.
      if (code_of(rc) == ESLURM_INVALID_JOB_ID) return Jobs();
      return failure("ask for jobs", code_of(rc));
    }
    return Jobs(jobs);
  }

  static Expected<void> kill(const std::string& what) {
    const int rc = ::slurm_kill_job2(what.c_str(), SIGKILL, 0, nullptr);
    if (rc == SLURM_SUCCESS) return {};
    const int code = code_of(rc);
    if (code == ESLURM_ALREADY_DONE || code == ESLURM_INVALID_JOB_ID) return {};
    return failure("cancel " + what, code);
  }
};

/// In a child: slurm_init() ends the process where there is no configuration, and tries for a
/// minute where its file is missing. Returns "" if libslurm works here.
std::string try_out() {
  const char* conf = std::getenv("SLURM_CONF");
  if (conf != nullptr && ::access(conf, R_OK) != 0) {
    return fmt::format("SLURM_CONF={} cannot be read", conf);
  }
  const pid_t child = ::fork();
  if (child < 0) return "a trial process cannot be started";
  if (child == 0) {
    ::slurm_init(nullptr);
    // Speaks this release's protocol to the controller: another release may refuse it.
    job_info_msg_t* jobs = nullptr;
    const int rc = ::slurm_load_job_user(&jobs, ::geteuid(), SHOW_ALL);
    const bool works = rc == SLURM_SUCCESS || code_of(rc) == ESLURM_INVALID_JOB_ID;
    ::_exit(works ? 0 : 2);
  }
  const auto deadline = std::chrono::steady_clock::now() + trial_max;
  int status = 0;
  while (true) {
    const pid_t reaped = ::waitpid(child, &status, WNOHANG);
    if (reaped == child) break;
    if (reaped < 0 && errno != EINTR) return "its trial process was lost";
    if (std::chrono::steady_clock::now() >= deadline) {
      ::kill(child, SIGKILL);
      ::waitpid(child, &status, 0);
      return "the controller does not answer it";
    }
    std::this_thread::sleep_for(1ms);
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return "";
  if (WIFEXITED(status) && WEXITSTATUS(status) == 2) {
    return "the controller does not answer it, or is of another release";
  }
  return "it finds no configuration of Slurm";
}

}  // namespace
}  // namespace slurmtune

extern "C" slurmtune::Scheduler* slurmtune_make_scheduler(const char* version, std::string* error) {
  if (slurmtune::version() != version) {
    *error = fmt::format("it belongs to slurmtune {}, not {}", slurmtune::version(), version);
    return nullptr;
  }
  *error = slurmtune::try_out();
  if (!error->empty()) return nullptr;
  return new slurmtune::LibslurmScheduler();
}
