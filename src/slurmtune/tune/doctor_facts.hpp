// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>

#include "slurmtune/report/doctor.hpp"
#include "slurmtune/study/study_directory.hpp"

namespace slurmtune {

/// What the disk that holds a study says. Writes a small file into it, and removes it again.
[[nodiscard]] DiskFacts disk_facts(const StudyDirectory& directory);

/// The last lines of the newest reducer's log of the stage that is being worked on.
[[nodiscard]] std::map<StageName, std::string> reducer_logs(const StudyDirectory& directory,
                                                            const StudyView& view);

/// What Slurm said in the last log of a reducer, or of a job that runs the whole study, in which it
/// refused a job; "" if there is none.
[[nodiscard]] std::string refusal_in_job(const StudyDirectory& directory, const StudyView& view);

/// Asks scontrol once for partitions and once for nodes. No answer leaves them empty: the checks
/// that need them find nothing then.
void ask_cluster(DoctorInput& facts, std::chrono::milliseconds timeout = std::chrono::seconds(20));

}  // namespace slurmtune
