// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>
#include <vector>

#include "slurmtune/input/study_input.hpp"
#include "slurmtune/plan/plan.hpp"
#include "slurmtune/record/decision.hpp"
#include "slurmtune/record/node.hpp"
#include "slurmtune/study/scheduler.hpp"
#include "slurmtune/study/study_directory.hpp"
#include "slurmtune/study/view.hpp"

namespace slurmtune {

/// Whether a text may hold terminal colours; only its caller knows where it goes.
enum class Colour { never, ansi };

/// What would be submitted: a row a stage (experiments, tasks, nodes, walltime, worst and likely
/// node-hours), what it sums up to against the budget, what is left out and why, with figures.
[[nodiscard]] std::string plan_text(const StudyInput& input, const Plan& plan, Colour colour);

/// How far a study is. `jobs` are the batch system's reports, empty if it was not asked or did not
/// answer; `now` is what the expected end is counted from.
struct StatusInput {
  const StudyDirectory& directory;
  const StudyInput& input;
  const StudyView& view;
  std::span<const JobReport> jobs;
  Instant now{};
  std::string queue_error{};  ///< why the batch system did not answer; "" = it did, or need not
};
[[nodiscard]] std::string status_text(const StatusInput& status, Colour colour);
[[nodiscard]] Json status_json(const StatusInput& status);

/// One line for a terminal that waits: stage, experiments done, last verdict, best so far, spent.
[[nodiscard]] std::string progress_line(const StudyInput& input, const StudyView& view);

/// What `slurmtune probe` found: a row a node, what is between them, which nodes are slow, and what
/// to write to leave these out.
[[nodiscard]] std::string probe_text(const ProbeResult& result, Colour colour);

/// What a study came to, or how it stands.
struct ReportInput {
  const StudyDirectory& directory;
  const StudyInput& input;
  const StudyView& view;
  const TuningResult& result;
};
[[nodiscard]] std::string report_text(const ReportInput& report, Colour colour);
[[nodiscard]] Json report_json(const ReportInput& report);

}  // namespace slurmtune
