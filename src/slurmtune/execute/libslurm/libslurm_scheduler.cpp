// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <dlfcn.h>
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
    return unavailable(
        with_limits_named(fmt::format("Slurm does not answer (to {}): {}", what, words)));
  }
  if (is_forgotten_dependency(words)) return forgotten_dependency(what);
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

/// Functions that libslurm exports and no header declares, under the names that its releases gave
/// them. They are looked up, so that a release without them is no broken plug-in.
template <class Function>
Function* exported(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (void* found = ::dlsym(RTLD_DEFAULT, name)) return reinterpret_cast<Function*>(found);
  }
  return nullptr;
}

/// squeue's word for a state, flags included.
JobState state_of(const slurm_job_info_t& job) {
  static const auto word_of =
      exported<const char*(std::uint32_t)>({"slurm_job_state_string", "job_state_string"});
  if (word_of != nullptr) return job_state_named(word_of(job.job_state));
  if ((job.job_state & (JOB_COMPLETING | JOB_CONFIGURING)) != 0) return JobState::running;
  if ((job.job_state & JOB_REQUEUE) != 0) return JobState::requeued;
  if ((job.job_state & (JOB_REQUEUE_HOLD | JOB_SPECIAL_EXIT)) != 0) return JobState::requeued_held;
  switch (job.job_state & JOB_STATE_BASE) {
    case JOB_PENDING: return JobState::pending;
    case JOB_RUNNING: return JobState::running;
    case JOB_SUSPENDED: return JobState::suspended;
    case JOB_COMPLETE: return JobState::completed;
    case JOB_CANCELLED: return JobState::cancelled;
    case JOB_FAILED: return JobState::failed;
    case JOB_TIMEOUT: return JobState::timed_out;
    case JOB_DEADLINE: return JobState::deadline;
    case JOB_NODE_FAIL: return JobState::node_failed;
    case JOB_BOOT_FAIL: return JobState::boot_failed;
    case JOB_PREEMPTED: return JobState::preempted;
    case JOB_OOM: return JobState::out_of_memory;
    default: return JobState::unknown;
  }
}

/// squeue's words: details if there are any ("launch failed requeued held"), else the reason's
/// name.
std::string reason_of(const slurm_job_info_t& job) {
  if (job.state_desc != nullptr) return job.state_desc;
  static const auto word_of = exported<const char*(job_state_reason)>(
      {"slurm_job_state_reason_string", "slurm_job_reason_string", "job_state_reason_string",
       "job_reason_string"});
  const auto reason = static_cast<job_state_reason>(job.state_reason);
  const char* word = word_of != nullptr ? word_of(reason) : nullptr;
  if (word != nullptr) return word;
  return reason == WAIT_NO_REASON ? "None" : fmt::format("reason {}", static_cast<int>(reason));
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
                   .nodes = job.nodes != nullptr ? job.nodes : "",
                   .restarts = static_cast<int>(job.restart_cnt)};
  // One record stands for all tasks of an array that have not started.
  const bool started = !is_waiting(report.state);
  if (started && job.array_job_id != 0 && job.array_task_id != NO_VAL) {
    report.task = job.array_task_id;
  }
  if (!started && job.start_time != 0) {
    report.starts = Instant{std::chrono::seconds(job.start_time)};
  }
  if (!is_over(report.state)) return report;
  const int status = static_cast<int>(job.exit_code);  // wait(2)'s
  if (WIFSIGNALED(status)) {
    report.signal = WTERMSIG(status);
  } else {
    report.exit_code = WEXITSTATUS(status);
  }
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
    SLURMTUNE_CHECK(look_again());
    for (std::uint32_t i = 0; last_ && i < last_->record_count; ++i) {
      const slurm_job_info_t& job = last_->job_array[i];
      if (std::find(asked.begin(), asked.end(), id_of(job)) == asked.end()) continue;
      reports.push_back(report_of(job));
    }
    return reports;
  }

  Expected<std::vector<JobReport>> accounting(std::span<const JobId> /*jobs*/) override {
    return unavailable("libslurm speaks to the controller only");
  }

  Expected<void> exclude_nodes(JobId job, const std::string& nodes) override {
    job_desc_msg_t change;
    ::slurm_init_job_desc_msg(&change);
    std::string id = std::to_string(job.number);
    std::string list = nodes;
    change.job_id_str = id.data();
    change.exc_nodes = list.data();
    job_array_resp_msg_t* answers = nullptr;
    const int rc = ::slurm_update_job2(&change, &answers);
    if (answers == nullptr) {
      if (rc == SLURM_SUCCESS || is_nothing_to_change(code_of(rc))) return {};
      return failure(fmt::format("exclude {} for job {}", nodes, id), code_of(rc));
    }
    // One answer for each group of tasks; those that started are none of ours.
    int refused = SLURM_SUCCESS;
    for (std::uint32_t i = 0; i < answers->job_array_count; ++i) {
      const int code = static_cast<int>(answers->error_code[i]);
      if (code != SLURM_SUCCESS && !is_nothing_to_change(code)) refused = code;
    }
    free_answers(answers);
    if (refused == SLURM_SUCCESS) return {};
    return failure(fmt::format("exclude {} for job {}", nodes, id), refused);
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

  /// Brings `last_` up to date, by one question. The first is for this user's jobs. Where the
  /// answer is asked for again, the question is whether anything has changed since: an idle
  /// controller says no in a few bytes. It answers that question with the jobs of everybody or
  /// nothing, so that on a busy cluster, where something always changes, it is asked once in vain
  /// and not again.
  Expected<void> look_again() {
    if (last_ && cluster_ == Cluster::quiet) {
      job_info_msg_t* all = nullptr;
      if (::slurm_load_jobs(last_->last_update, &all, SHOW_ALL) == SLURM_SUCCESS) {
        cluster_ = Cluster::busy;
        last_ = Jobs(all);
        return {};
      }
      const int code = errno;
      if (code == SLURM_NO_CHANGE_IN_DATA) return {};
      return failure("ask for jobs", code);
    }
    SLURMTUNE_TRY(last_, load_own());
    return {};
  }

  /// Codes for tasks, or jobs, that an update comes too late for.
  static bool is_nothing_to_change(int code) {
    return code == ESLURM_ALREADY_DONE || code == ESLURM_INVALID_JOB_ID ||
           code == ESLURM_JOB_NOT_PENDING || code == ESLURM_JOB_FINISHED;
  }

  static void free_answers(job_array_resp_msg_t* answers) {
    static const auto release = exported<void(job_array_resp_msg_t*)>(
        {"slurm_free_job_array_resp", "slurm_free_job_array_resp_msg"});
    if (release != nullptr) release(answers);
  }

  static Expected<void> kill(const std::string& what) {
    const int rc = ::slurm_kill_job2(what.c_str(), SIGKILL, 0, nullptr);
    if (rc == SLURM_SUCCESS) return {};
    const int code = code_of(rc);
    if (code == ESLURM_ALREADY_DONE || code == ESLURM_INVALID_JOB_ID) return {};
    return failure("cancel " + what, code);
  }

  enum class Cluster { quiet, busy };

  Jobs last_;  ///< the last answer; of everybody's jobs, or only of this user's
  Cluster cluster_ = Cluster::quiet;
};

/// In a child: slurm_init() ends the process where there is no configuration, and tries for a
/// minute where its file is missing. Returns "" if libslurm works here.
std::string try_out(std::chrono::milliseconds patience) {
  const char* conf = std::getenv("SLURM_CONF");
  if (conf != nullptr && ::access(conf, R_OK) != 0) {
    return fmt::format("SLURM_CONF={} cannot be read", conf);
  }
  const pid_t child = ::fork();
  if (child < 0) return "a trial process cannot be started";
  if (child == 0) {
    ::slurm_init(nullptr);
    // Speaks this release's protocol to the controller: another release may refuse it. The
    // cheapest of its questions; that for jobs is asked once, by whoever wants the answer.
    license_info_msg_t* licenses = nullptr;
    ::_exit(::slurm_load_licenses(0, &licenses, SHOW_ALL) == SLURM_SUCCESS ? 0 : 2);
  }
  const auto deadline = std::chrono::steady_clock::now() + patience;
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

extern "C" slurmtune::Scheduler* slurmtune_make_scheduler(const char* version, int patience_ms,
                                                          std::string* error) {
  if (slurmtune::version() != version) {
    *error = fmt::format("it belongs to slurmtune {}, not {}", slurmtune::version(), version);
    return nullptr;
  }
  *error = slurmtune::try_out(std::chrono::milliseconds(patience_ms));
  if (!error->empty()) return nullptr;
  return new slurmtune::LibslurmScheduler();
}
