// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "slurmtune/base/instant.hpp"
#include "slurmtune/execute/site/read_controller.hpp"
#include "slurmtune/input/study_input.hpp"
#include "slurmtune/record/json.hpp"
#include "slurmtune/report/text.hpp"
#include "slurmtune/study/scheduler.hpp"
#include "slurmtune/study/view.hpp"

namespace slurmtune {

/// Whether something keeps a study from going on, or merely is worth knowing.
enum class Severity { note, blocks };
[[nodiscard]] std::string_view name_of(Severity severity);

/// One thing that stands in the way of a study.
struct Finding {
  std::string_view check;  ///< which check says so: `held`, `disk`, …
  Severity severity = Severity::blocks;
  std::string what;    ///< one sentence, with the names of jobs, nodes and files
  std::string remedy;  ///< a command to type; "" = there is nothing to do

  bool operator==(const Finding&) const = default;
};

/// The filesystem that holds a study.
struct DiskFacts {
  std::optional<std::uint64_t> free_bytes;
  std::optional<std::uint64_t> free_inodes;   ///< absent where the filesystem does not count them
  std::string write_error;                    ///< of a small file written for trial; "" = it worked
  std::vector<std::string> missing_programs;  ///< of bin/, that are not there or not executable
};

/// All that the checks see, gathered once: files, and one question of each kind to the controller.
struct DoctorInput {
  std::string directory;  ///< of the study, absolute
  const StudyInput& input;
  const StudyView& view;
  Instant now;
  bool asked = false;                ///< the queue answered
  std::string queue_error = {};      ///< why it did not; "" = it was not asked, or did
  std::vector<JobReport> jobs = {};  ///< of the study's jobs
  std::vector<ControllerPartition> partitions = {};  ///< empty: not asked, or no answer
  std::vector<NodeState> nodes = {};                 ///< the same
  DiskFacts disk = {};
  /// The last lines of the newest log of each stage's reducer; none where there is none.
  std::map<StageName, std::string> reducer_logs = {};
  std::string refused_in_job = {};  ///< what Slurm said as it refused a job to a job; "" = none
  std::vector<std::string> drafts = {};  ///< of the study, that were never completed
};

/// One check: adds what it finds. Pure.
struct DoctorCheck {
  std::string_view name;
  void (*find)(const DoctorInput& facts, std::vector<Finding>& findings);
};

/// All checks, in the order in which their findings are told.
[[nodiscard]] std::span<const DoctorCheck> doctor_checks();

/// What all of them find: what blocks before what is merely worth knowing.
[[nodiscard]] std::vector<Finding> diagnose(const DoctorInput& facts);

[[nodiscard]] std::string doctor_text(const DoctorInput& facts, std::span<const Finding> findings,
                                      Colour colour);
/// `slurmtune.doctor`.
[[nodiscard]] Json doctor_json(const DoctorInput& facts, std::span<const Finding> findings);

// The checks in two files, for the table.
void check_queue_answers(const DoctorInput& facts, std::vector<Finding>& findings);
void check_reasons(const DoctorInput& facts, std::vector<Finding>& findings);
void check_partitions(const DoctorInput& facts, std::vector<Finding>& findings);
void check_nodes(const DoctorInput& facts, std::vector<Finding>& findings);
void check_missing_jobs(const DoctorInput& facts, std::vector<Finding>& findings);
void check_open_intent(const DoctorInput& facts, std::vector<Finding>& findings);
void check_reducer(const DoctorInput& facts, std::vector<Finding>& findings);
void check_jobs_may_submit(const DoctorInput& facts, std::vector<Finding>& findings);
void check_drafts(const DoctorInput& facts, std::vector<Finding>& findings);
void check_disk(const DoctorInput& facts, std::vector<Finding>& findings);
void check_programs(const DoctorInput& facts, std::vector<Finding>& findings);
void check_clocks(const DoctorInput& facts, std::vector<Finding>& findings);
void check_trials(const DoctorInput& facts, std::vector<Finding>& findings);
void check_gpus(const DoctorInput& facts, std::vector<Finding>& findings);
void check_budget(const DoctorInput& facts, std::vector<Finding>& findings);
void check_deadline(const DoctorInput& facts, std::vector<Finding>& findings);

}  // namespace slurmtune
