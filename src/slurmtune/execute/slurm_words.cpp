// SPDX-License-Identifier: MIT
#include "slurmtune/execute/slurm_words.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include <fmt/format.h>

#include "slurmtune/execute/mpi_variables.hpp"

namespace slurmtune {
namespace {

using StateWord = std::pair<std::string_view, JobState>;
// squeue(1) and sacct(1), JOB STATE CODES, Slurm 20.11 to 26.05. REVOKED is not here: a sibling of
// such a job runs in another cluster, which this one knows nothing of.
constexpr std::array<StateWord, 27> state_words{{
    {"BOOT_FAIL", JobState::boot_failed},
    {"CANCELLED", JobState::cancelled},
    {"COMPLETED", JobState::completed},
    {"COMPLETING", JobState::running},
    {"CONFIGURING", JobState::running},
    {"DEADLINE", JobState::deadline},
    {"EXPEDITING", JobState::pending},
    {"FAILED", JobState::failed},
    {"LAUNCH_FAILED", JobState::boot_failed},
    {"NODE_FAIL", JobState::node_failed},
    {"OUT_OF_MEMORY", JobState::out_of_memory},
    {"PENDING", JobState::pending},
    {"POWER_UP_NODE", JobState::running},
    {"PREEMPTED", JobState::preempted},
    {"RECONFIG_FAIL", JobState::boot_failed},
    {"REQUEUED", JobState::requeued},
    {"REQUEUE_FED", JobState::requeued},
    {"REQUEUE_HOLD", JobState::requeued_held},
    {"RESIZING", JobState::running},
    {"RESV_DEL_HOLD", JobState::requeued_held},
    {"RUNNING", JobState::running},
    {"SIGNALING", JobState::running},
    {"SPECIAL_EXIT", JobState::requeued_held},
    {"STAGE_OUT", JobState::running},
    {"STOPPED", JobState::suspended},
    {"SUSPENDED", JobState::suspended},
    {"TIMEOUT", JobState::timed_out},
}};

// Parts of messages, lower case. Sources: slurm_errno.c of Slurm 20.11 to 24.05, and the system's
// own words for a connection that fails.
constexpr std::array<std::string_view, 24> no_answer_words{
    "socket timed out",
    "unable to contact slurm controller",
    "unable to connect",
    "connection refused",
    "connection timed out",
    "connection reset",
    "broken pipe",
    "no route to host",
    "zero bytes were transmitted",
    "transport endpoint is not connected",
    "communication connection failure",
    "communication shutdown failure",
    "message send failure",
    "message receive failure",
    "slurm backup controller in standby mode",
    "protocol authentication error",
    "authentication error",
    "munge",
    "temporarily unable to accept job",
    "resource temporarily unavailable",
    "unable to write to file",
    "i/o error writing script/environment to file",
    "slurm database",
    "rate limit exceeded",
};
constexpr std::array<std::string_view, 2> unknown_job_words{
    "invalid job id",
    "job not found",
};
constexpr std::array<std::string_view, 4> over_words{
    "job is no longer pending execution",
    "already completing or completed",
    "already finished",
    "job is no longer running",
};

template <std::size_t n>
bool holds_any(std::string_view text, const std::array<std::string_view, n>& words) {
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) {
    return text.find(word) != std::string_view::npos;
  });
}

std::string lower(std::string_view text) {
  std::string small(text);
  for (char& c : small) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return small;
}

bool starts_with_any(std::string_view text, std::initializer_list<std::string_view> heads) {
  return std::any_of(heads.begin(), heads.end(),
                     [&](std::string_view head) { return text.starts_with(head); });
}

/// Without `sbatch: error: `, `scancel: `, …
std::string_view strip_heads(std::string_view line) {
  while (true) {
    const std::size_t colon = line.find(": ");
    if (colon == std::string_view::npos) return line;
    const std::string_view head = line.substr(0, colon);
    const bool ours = head == "sbatch" || head == "squeue" || head == "scancel" ||
                      head == "error" || head == "fatal" || head == "slurm_load_jobs error";
    if (!ours) return line;
    line.remove_prefix(colon + 2);
  }
}

}  // namespace

JobState job_state_named(std::string_view slurm_state) {
  const std::size_t end = slurm_state.find_first_of(" +");
  const std::string_view word = slurm_state.substr(0, end);
  const auto* found = std::find_if(state_words.begin(), state_words.end(),
                                   [&](const StateWord& entry) { return entry.first == word; });
  return found == state_words.end() ? JobState::unknown : found->second;
}

SlurmAnswer classify_message(std::string_view message) {
  const std::string text = lower(message);
  if (holds_any(text, no_answer_words)) return SlurmAnswer::no_answer;
  if (holds_any(text, unknown_job_words)) return SlurmAnswer::unknown_job;
  if (holds_any(text, over_words)) return SlurmAnswer::job_is_over;
  return SlurmAnswer::refused;
}

bool is_forgotten_dependency(std::string_view message) {
  return lower(message).find("job dependency problem") != std::string::npos;
}

tl::unexpected<Error> forgotten_dependency(const std::string& what) {
  return unavailable(
      fmt::format("Slurm refuses to {}: it does not know a job any more that this one waits for, "
                  "as after a controller was killed. resume submits what is missing",
                  what));
}

std::string slurm_reason(std::string_view message) {
  std::string all;
  while (!message.empty()) {
    const std::size_t newline = std::min(message.find('\n'), message.size());
    const std::string_view line = strip_heads(message.substr(0, newline));
    message.remove_prefix(std::min(newline + 1, message.size()));
    if (line.empty()) continue;
    all += (all.empty() ? "" : "; ") + std::string(line);
  }
  return all.empty() ? "no reason given" : all;
}

std::string with_limits_named(std::string message) {
  const std::string text = lower(message);
  const bool full = text.find("temporarily unable to accept job") != std::string::npos ||
                    text.find("resource temporarily unavailable") != std::string::npos;
  if (full) {
    message +=
        "; the cluster may hold as many jobs as it can (MaxJobCount; each task of an array is "
        "one): "
        "wait until some have ended, or submit fewer at a time: [slurm] submit = \"step\"";
  }
  return message;
}

std::vector<std::string> submission_environment(const std::vector<std::string>& environment) {
  std::vector<std::string> kept;
  for (const std::string& entry : environment) {
    const bool kept_all_the_same =
        starts_with_any(entry, {"SLURM_CONF=", "SLURM_CONF_SERVER=", "SLURM_JWT="});
    const bool foreign =
        starts_with_any(entry, {"SLURM_", "SLURMD_", "SBATCH_", "SQUEUE_", "SCANCEL_", "SRUN_",
                                "SALLOC_", "SACCT_", "SLURMTUNE_JOB=", "SLURMTUNE_TASK=",
                                "SLURMTUNE_STARTED=", "PMIX_", "PMI_"}) ||
        is_told_by_mpirun(entry);
    if (kept_all_the_same || !foreign) kept.push_back(entry);
  }
  return kept;
}

Expected<void> check_job_name(std::string_view name) {
  const bool safe = !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.';
  });
  if (safe) return {};
  return invalid_input(
      fmt::format("job name '{}': it may hold letters, digits and . _ - only", name));
}

Expected<std::optional<std::string>> array_text(const JobRequest& job) {
  if (!job.array_tasks) return std::optional<std::string>();
  if (*job.array_tasks < 1) {
    return invalid_input(fmt::format("job {}: an array needs at least one task", job.name));
  }
  std::string text = fmt::format("0-{}", *job.array_tasks - 1);
  if (job.array_at_once && *job.array_at_once > 0) text += fmt::format("%{}", *job.array_at_once);
  return std::optional<std::string>(std::move(text));
}

std::string dependency_text(const JobRequest& job) {
  std::string text;
  for (const JobId id : job.after_any) {
    text += (text.empty() ? "afterany:" : ":") + std::to_string(id.number);
  }
  return text;
}

}  // namespace slurmtune
