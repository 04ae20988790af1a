// SPDX-License-Identifier: MIT
#include "slurmtune/tune/create_study.hpp"

#include <algorithm>
#include <array>
#include <random>
#include <system_error>

#include <fmt/core.h>
#include <unistd.h>

#include "slurmtune/base/hash.hpp"
#include "slurmtune/base/version.hpp"
#include "slurmtune/execute/sbatch_directives.hpp"
#include "slurmtune/generate/experiment_generator.hpp"
#include "slurmtune/plan/planner.hpp"
#include "slurmtune/plan/shape.hpp"
#include "slurmtune/study/files.hpp"
#include "slurmtune/study/journal.hpp"
#include "slurmtune/tune/deadline.hpp"
#include "slurmtune/tune/draft.hpp"
#include "slurmtune/tune/dry_start.hpp"
#include "slurmtune/tune/freeze.hpp"
#include "slurmtune/tune/job_requests.hpp"

namespace slurmtune {

namespace {

namespace fs = std::filesystem;

/// A random UUID (RFC 9562, version 4).
StudyId new_study_id() {
  std::random_device device;
  std::string text;
  for (int i = 0; i < 4; ++i) text += fmt::format("{:08x}", device() & 0xffffffffU);
  text[12] = '4';
  constexpr std::string_view variants = "89ab";
  text[16] = variants[static_cast<std::size_t>(device() % 4U)];
  for (const std::size_t at : {20U, 16U, 12U, 8U}) text.insert(at, "-");
  return {text};
}

/// The study at `place` differs from the one that is wanted in `mode` alone.
tl::unexpected<Error> other_mode(const fs::path& place, StudyMode wanted) {
  if (wanted == StudyMode::run) {
    return invalid_input(fmt::format(
        "{0}: holds this study with mode = \"tune\"; train with its winner by "
        "{0}/best/train_optimal.sbatch or cmd_optimal.sh, or tune once more and then train with "
        "--dir DIR",
        place.string()));
  }
  return invalid_input(
      fmt::format("{0}: holds this study with mode = \"run\", which trains with the winner; go on "
                  "with it: slurmtune resume {0}, or choose another place with --dir",
                  place.string()));
}

/// Whether a study stands at `place` and was made from the same texts.
Expected<bool> stands_already(const LoadedStudy& study, const fs::path& place) {
  std::error_code code;
  if (!fs::exists(place, code)) return false;
  const StudyDirectory there(place);
  if (!file_exists(there.journal() / "000001.json")) {
    if (fs::is_directory(place, code) && fs::is_empty(place, code)) return false;
    return invalid_input(fmt::format(
        "{}: is there already and is no study; choose another place with --dir", place.string()));
  }
  const auto same = [](const fs::path& path, const std::string& text) {
    const auto frozen = read_file(path);
    return frozen && *frozen == text;
  };
  const bool equal_but_study =
      same(there.site_toml(), study.sources.site.text) &&
      (!study.sources.ds_config || same(there.ds_config(), study.sources.ds_config->text)) &&
      (!study.sources.model_config || same(there.model_config(), study.sources.model_config->text));
  const std::string& text = study.sources.study.text;
  if (equal_but_study && same(there.study_toml(), text)) return true;
  const StudyMode mode = study.input.spec.mode;
  const auto frozen = read_file(there.study_toml());
  if (equal_but_study && frozen && with_mode(*frozen, mode) == with_mode(text, mode)) {
    return other_mode(place, mode);
  }
  return invalid_input(
      fmt::format("{}: holds a study of another input; choose another place with --dir, or go on "
                  "with that one: slurmtune resume {}",
                  place.string(), place.string()));
}

/// Job scripts hold the study's directory, also those that run without Slurm.
Expected<void> check_place(const fs::path& place) {
  const SbatchDirective output{.key = "output", .value = place.string()};
  if (render_directive(output)) return {};
  return invalid_input(
      fmt::format("{}: cannot create a study here: job scripts cannot hold a path with a quote, "
                  "backslash, # or control character; choose another place with --dir",
                  place.string()));
}

Expected<void> freeze_input(const LoadedStudy& study, const StudyDirectory& draft) {
  const auto put = [](const fs::path& path, const std::string& text) {
    return replace_file(path, text, Durability::synced);
  };
  SLURMTUNE_CHECK(make_private_directory(draft.inputs()));
  SLURMTUNE_CHECK(make_private_directory(draft.bin()));
  SLURMTUNE_CHECK(make_private_directory(draft.journal()));
  SLURMTUNE_CHECK(put(draft.study_toml(), study.sources.study.text));
  SLURMTUNE_CHECK(put(draft.site_toml(), study.sources.site.text));
  if (study.sources.ds_config) {
    SLURMTUNE_CHECK(put(draft.ds_config(), study.sources.ds_config->text));
  }
  if (study.sources.model_config) {
    SLURMTUNE_CHECK(put(draft.model_config(), study.sources.model_config->text));
  }
  const TrialSpec& trial = study.input.spec.trial;
  SLURMTUNE_CHECK(
      freeze_snapshot(study.origin / trial.workdir, trial.snapshot, draft.inputs() / "snapshot"));
  return freeze_programs(draft.bin());
}

Expected<void> begin_journal(const StudyDirectory& draft, const StudyCreated& created,
                             const std::string& plan_text, Instant now) {
  const Journal journal(draft.journal());
  SLURMTUNE_CHECK(journal.append(1, now, created));
  SLURMTUNE_CHECK(journal.append(2, now, PlanMade{sha256_hex(plan_text)}));
  return {};
}

}  // namespace

Expected<CreatedStudy> create_study(const LoadedStudy& study,
                                    const std::filesystem::path& directory, Instant now) {
  std::error_code code;
  fs::path place = fs::absolute(directory, code).lexically_normal();
  if (!place.has_filename()) place = place.parent_path();
  SLURMTUNE_TRY(const bool found, stands_already(study, place));
  if (found) return CreatedStudy{StudyDirectory(place), Creation::found, {}};
  SLURMTUNE_CHECK(check_place(place));
  SLURMTUNE_CHECK(check_workdir(study));
  SLURMTUNE_CHECK(check_dry_start(study));

  StudyCreated created{.study = new_study_id(),
                       .name = study.input.spec.name,
                       .inputs = {},
                       .origin = study.origin.string(),
                       .submit = std::string(name_of(study.submit)),
                       .deadline = std::nullopt,
                       .window = std::nullopt,
                       .version = std::string(version())};
  SLURMTUNE_TRY(created.deadline, deadline_of(study.input.spec, now));
  if (study.input.spec.budget.window)
    created.window = window_from(*study.input.spec.budget.window, now);
  if (!fs::is_directory(place.parent_path(), code) ||
      ::access(place.parent_path().c_str(), W_OK) != 0) {
    return invalid_input(fmt::format(
        "{}: cannot create a study here: {} is not a writable directory; choose another place with "
        "--dir",
        place.string(), place.parent_path().string()));
  }
  const World world = real_world();
  std::vector<fs::path> abandoned = abandoned_drafts(place, world);
  Draft draft(place, world.who);
  // What access() allows root, a read-only filesystem still refuses.
  if (const auto made = make_private_directory(draft.path()); !made) {
    return invalid_input(
        fmt::format("{}: cannot create a study here: {}; choose another place with --dir",
                    place.string(), made.error().message));
  }
  const StudyDirectory draft_directory(draft.path());
  SLURMTUNE_CHECK(freeze_input(study, draft_directory));
  SLURMTUNE_TRY(created.inputs, hash_inputs(draft.path()));
  SLURMTUNE_TRY(const Plan plan, make_plan(study.input, {.study = created.study,
                                                         .inputs = created.inputs,
                                                         .submit = study.submit,
                                                         .submit_why = study.submit_why}));
  SLURMTUNE_TRY(const std::string plan_text, render_plan(plan));
  SLURMTUNE_CHECK(replace_file(draft_directory.plan_json(), plan_text, Durability::synced));
  SLURMTUNE_TRY(const Manifest first,
                ExperimentGenerator(study.input).generate(stage_request(plan, 0), {}));
  SLURMTUNE_TRY(const std::string manifest_text, render_manifest(first));
  for (const PlannedStage& stage : plan.stages) {
    SLURMTUNE_CHECK(make_stage_directories(draft_directory, stage.name));
  }
  SLURMTUNE_CHECK(publish_file(draft_directory.manifest_path(plan.stages[0].name), manifest_text));
  SLURMTUNE_CHECK(begin_journal(draft_directory, created, plan_text, now));
  if (const auto moved = draft.move_to(place); !moved) {
    // Another process may have created the same study meanwhile.
    SLURMTUNE_TRY(const bool raced, stands_already(study, place));
    if (raced) return CreatedStudy{StudyDirectory(place), Creation::found, {}};
    return tl::unexpected<Error>(moved.error());
  }
  return CreatedStudy{StudyDirectory(place), Creation::created, std::move(abandoned)};
}

void withdraw_study(const StudyDirectory& directory, const std::set<std::int64_t>& over) {
  const auto events = Journal(directory.journal()).read();
  if (!events) return;
  const auto state = fold(*events);
  if (!state) return;
  const bool submitted =
      std::any_of(state->jobs.begin(), state->jobs.end(), [&](const JobRecord& job) {
        const bool ended = job.job && over.contains(*job.job);
        return !job.lost && !ended;
      });
  std::error_code code;
  if (!submitted) fs::remove_all(directory.root(), code);
}

}  // namespace slurmtune
