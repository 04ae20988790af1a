// SPDX-License-Identifier: MIT
#include "slurmtune/tune/doctor_facts.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <initializer_list>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "slurmtune/execute/process.hpp"
#include "slurmtune/execute/slurm_words.hpp"
#include "slurmtune/study/files.hpp"

namespace slurmtune {

namespace {

namespace fs = std::filesystem;

/// A whole block, flushed: only then does a quota, or a full disk of another host, refuse it.
std::string write_for_trial(const fs::path& directory) {
  const fs::path path = directory / fmt::format(".doctor.{}", ::getpid());
  const auto failed = [&](const char* what) {
    return fmt::format("{}: {}: {}", directory.string(), what, std::strerror(errno));
  };
  const int file = ::open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
  if (file < 0) return failed("cannot create a file");
  constexpr std::size_t block = 65'536;
  const std::string bytes(block, '\n');
  std::string error;
  const ::ssize_t written = ::write(file, bytes.data(), bytes.size());
  if (written != static_cast<::ssize_t>(block) || ::fsync(file) != 0) {
    if (written >= 0 && written < static_cast<::ssize_t>(block)) errno = ENOSPC;
    error = failed("cannot write a file");
  }
  ::close(file);
  ::unlink(path.c_str());
  return error;
}

std::string last_lines(const std::string& text) {
  constexpr std::size_t lines_max = 4;
  std::string_view rest = text;
  std::string joined;
  for (std::size_t lines = 0; lines < lines_max && !rest.empty();) {
    while (rest.ends_with('\n')) rest.remove_suffix(1);
    const std::size_t newline = rest.rfind('\n');
    const std::string_view line =
        newline == std::string_view::npos ? rest : rest.substr(newline + 1);
    rest = newline == std::string_view::npos ? std::string_view() : rest.substr(0, newline);
    if (line.empty()) continue;
    joined = joined.empty() ? std::string(line) : fmt::format("{} / {}", line, joined);
    ++lines;
  }
  return joined;
}

/// The log in `place` that was written last among those whose names begin so; empty if there is
/// none.
fs::path newest_log(const fs::path& place, std::initializer_list<std::string_view> beginnings) {
  fs::path newest;
  fs::file_time_type at = fs::file_time_type::min();
  std::error_code code;
  for (fs::directory_iterator entry(place, code), end; entry != end && !code;
       entry.increment(code)) {
    const std::string name = entry->path().filename().string();
    const bool is_one = std::any_of(beginnings.begin(), beginnings.end(),
                                    [&](std::string_view word) { return name.starts_with(word); });
    if (!is_one) continue;
    const auto written = entry->last_write_time(code);
    if (code || written < at) continue;
    at = written;
    newest = entry->path();
  }
  return newest;
}

/// The words of the last line in which Slurm refuses a job; "" if none does.
std::string last_refusal(const fs::path& log) {
  constexpr std::string_view mark = "Slurm refuses the job ";
  const auto text = log.empty() ? Expected<std::string>(std::string()) : read_file(log);
  if (!text) return "";
  const std::size_t at = text->rfind(mark);
  return at == std::string::npos ? "" : text->substr(at, text->find('\n', at) - at);
}

std::string scontrol(const char* what, std::chrono::milliseconds timeout) {
  const auto result =
      run_process({.call = {.argv = {"scontrol", "--oneliner", "show", what},
                            .environment = submission_environment(current_environment()),
                            .workdir = ""},
                   .input = "",
                   .timeout = timeout});
  return result && result->status.success() ? result->out : std::string();
}

}  // namespace

DiskFacts disk_facts(const StudyDirectory& directory) {
  DiskFacts disk;
  struct statvfs facts {};
  if (::statvfs(directory.root().c_str(), &facts) == 0) {
    disk.free_bytes = std::uint64_t{facts.f_bavail} * facts.f_frsize;
    if (facts.f_files > 0) disk.free_inodes = facts.f_favail;
  }
  disk.write_error = write_for_trial(directory.root());
  for (const char* program : {"slurmtune", "slurmtune-runner"}) {
    if (::access((directory.bin() / program).c_str(), X_OK) != 0) {
      disk.missing_programs.emplace_back(program);
    }
  }
  return disk;
}

std::map<StageName, std::string> reducer_logs(const StudyDirectory& directory,
                                              const StudyView& view) {
  std::map<StageName, std::string> logs;
  const std::size_t current = current_stage(view);
  if (current >= view.plan.stages.size()) return logs;
  const StageName& name = view.plan.stages[current].name;
  const fs::path newest = newest_log(directory.logs(name), {"reduce-"});
  if (newest.empty()) return logs;
  const auto text = read_file(newest);
  if (text && !text->empty()) logs[name] = last_lines(*text);
  return logs;
}

std::string refusal_in_job(const StudyDirectory& directory, const StudyView& view) {
  std::string refusal;
  for (const PlannedStage& stage : view.plan.stages) {
    const std::string said = last_refusal(newest_log(directory.logs(stage.name), {"reduce-"}));
    if (!said.empty()) refusal = said;
  }
  const std::string said = last_refusal(newest_log(directory.root() / "logs", {"one-job-"}));
  return said.empty() ? refusal : said;
}

void ask_cluster(DoctorInput& facts, std::chrono::milliseconds timeout) {
  if (!find_program("scontrol")) return;
  facts.partitions = read_partitions(scontrol("partition", timeout));
  facts.nodes = read_node_states(scontrol("node", timeout));
}

}  // namespace slurmtune
