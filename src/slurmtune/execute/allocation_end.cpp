// SPDX-License-Identifier: MIT
#include "slurmtune/execute/allocation_end.hpp"

#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "slurmtune/execute/process.hpp"
#include "slurmtune/execute/sbatch_directives.hpp"

namespace slurmtune {

namespace {

std::optional<Instant> end_in_environment() {
  const char* text = std::getenv("SLURM_JOB_END_TIME");
  if (text == nullptr) return std::nullopt;
  const std::string_view digits = text;
  std::int64_t epoch_s = 0;
  const auto [end, problem] =
      std::from_chars(digits.data(), digits.data() + digits.size(), epoch_s);
  if (problem != std::errc{} || epoch_s <= 0) return std::nullopt;
  return Instant(std::chrono::seconds(epoch_s));
}

Expected<ProcessResult> ask_squeue(const char* job, const std::string& format) {
  ProcessRequest request;
  request.call.argv = {"squeue", "--noheader", "--jobs", job, "--format=" + format};
  request.timeout = std::chrono::seconds(30);
  return run_process(request);
}

}  // namespace

std::optional<Instant> allocation_end(Instant now) {
  const char* job = std::getenv("SLURM_JOB_ID");
  if (job == nullptr) return std::nullopt;
  if (const auto end = end_in_environment()) return end;
  const auto answer = ask_squeue(job, "%L");
  if (!answer || !answer->status.success()) return std::nullopt;
  const std::string left = answer->out.substr(0, answer->out.find('\n'));
  const auto walltime = parse_walltime(left);  // UNLIMITED and INVALID are no walltimes
  if (!walltime) return std::nullopt;
  return now + *walltime;
}

bool allocation_is_gone() {
  const char* job = std::getenv("SLURM_JOB_ID");
  if (job == nullptr) return false;
  const auto answer = ask_squeue(job, "%T");
  if (!answer) return false;
  if (!answer->status.success()) {
    return answer->err.find("Invalid job id") != std::string::npos;
  }
  const std::string state = answer->out.substr(0, answer->out.find('\n'));
  return state.empty() || (state != "RUNNING" && state != "CONFIGURING" && state != "SUSPENDED");
}

}  // namespace slurmtune
