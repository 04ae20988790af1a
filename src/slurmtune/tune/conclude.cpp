// SPDX-License-Identifier: MIT
//
// How the Autotuner concludes a stage: the decision is made and published, journalled, and what it
// releases is put in place.
#include <algorithm>

#include <fmt/core.h>

#include "slurmtune/base/hash.hpp"
#include "slurmtune/study/decide_submit.hpp"
#include "slurmtune/study/files.hpp"
#include "slurmtune/study/spending.hpp"
#include "slurmtune/tune/autotuner.hpp"
#include "slurmtune/tune/job_requests.hpp"

namespace slurmtune {

namespace {

/// Whether no task wrote a line, since all failed before that, or were lost with their jobs: the
/// nodes do not see the directory, or the controller forgot what it had taken. That is no word
/// about the trials: there is nothing that the study could end with.
bool could_not_begin(const StudyView& view) {
  const bool any_line = std::any_of(view.stages.begin(), view.stages.end(),
                                    [](const StageView& stage) { return !stage.shards.empty(); });
  const auto& ended = view.state.ended_tasks;
  return !any_line && std::all_of(ended.begin(), ended.end(), [](const auto& entry) {
    return entry.second.ending == TaskEnding::failed;
  });
}

}  // namespace

Expected<void> Autotuner::act(const StudyView& view, const ReduceStage& action) {
  const StageName& name = plan_.stages[action.stage].name;
  const auto history = history_with_losses(view, action.stage);
  const StudyInput input = with_extension(input_, view.state.extension);
  SLURMTUNE_TRY(const Reduction reduction,
                ResultAnalyzer(input, view.plan).reduce(history, spending_of(view)));
  if (reduction.decision.stop == Stop::nothing_worked && could_not_begin(view) &&
      !is_given_up(view, action.stage)) {
    return unavailable(fmt::format(
        "no task of this study could begin ({}): were its jobs cancelled, or lost with the "
        "controller? Do the nodes see {}, and may they write there? Then: slurmtune resume {}",
        reduction.decision.result ? reduction.decision.result->why : "no result",
        directory_.root().string(), directory_.root().string()));
  }
  // The proposal is there before the decision that names it; the decision is the point of no
  // return, and the first one wins: another reducer may have seen other verdicts.
  if (reduction.next) {
    SLURMTUNE_TRY(const std::string bytes, render_manifest(*reduction.next));
    SLURMTUNE_ASSERT(reduction.decision.next.manifest_sha256 == sha256_hex(bytes));
    const StageName& next = reduction.next->stage;
    SLURMTUNE_CHECK(make_private_directory(directory_.stage(next)));
    SLURMTUNE_CHECK(publish_file(
        directory_.proposal_path(next, reduction.decision.next.manifest_sha256), bytes));
  }
  SLURMTUNE_TRY(const std::string text, render_decision(reduction.decision));
  SLURMTUNE_TRY(const Published published,
                publish_file(directory_.decision_path(name, view.state.ends_taken_back), text));
  if (published == Published::before_different) {
    say(fmt::format("{}: another reducer decided first; its decision stands", name.text));
  }
  return {};
}

Expected<void> Autotuner::act(const StudyView& view, const RecordDecision& action) {
  const StageName& name = plan_.stages[action.stage].name;
  SLURMTUNE_TRY(const std::string text, read_file(view.stages[action.stage].decision_path));
  SLURMTUNE_CHECK(append(view, Decided{name, sha256_hex(text)}));
  const Next& next = view.stages[action.stage].decision->next;
  say(next.action == NextAction::finish
          ? fmt::format("{} decided: finish", name.text)
          : fmt::format("{} decided: {} {}, {} experiments in {} tasks", name.text,
                        name_of(next.action), next.stage.text, next.experiments, next.slices));
  return {};
}

Expected<void> Autotuner::act(const StudyView& view, const ReleaseStage& action) {
  const StageName& name = plan_.stages[action.stage].name;
  const Next& next = view.stages[action.decided].decision->next;
  SLURMTUNE_TRY(const std::string bytes,
                read_file(directory_.proposal_path(name, next.manifest_sha256)));
  if (sha256_hex(bytes) != next.manifest_sha256) {
    return corrupt_data(fmt::format("{}: is not the manifest that the decision of {} names",
                                    directory_.proposal_path(name, next.manifest_sha256).string(),
                                    plan_.stages[action.decided].name.text));
  }
  SLURMTUNE_CHECK(make_stage_directories(directory_, name));
  SLURMTUNE_TRY(const Published published, publish_file(directory_.manifest_path(name), bytes));
  if (published == Published::before_different) {
    return corrupt_data(fmt::format("{}: differs from what the decision of {} names",
                                    directory_.manifest_path(name).string(),
                                    plan_.stages[action.decided].name.text));
  }
  SLURMTUNE_CHECK(append(view, Released{name, next.slices, next.walltime_s}));
  return {};
}

}  // namespace slurmtune
