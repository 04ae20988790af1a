// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "slurmtune/base/error.hpp"
#include "slurmtune/base/instant.hpp"
#include "slurmtune/input/site_file.hpp"
#include "slurmtune/input/study_input.hpp"
#include "slurmtune/plan/plan.hpp"
#include "slurmtune/study/study_directory.hpp"

namespace slurmtune {

/// What the command line says over study.toml.
struct StudyOptions {
  std::optional<std::string> site;  ///< name or path
  std::optional<SubmitMode> submit;
  std::optional<StudyMode> mode;    ///< instead of the study's own
  std::optional<std::string> text;  ///< of study.toml, which need not be there yet
  /// The command stays until the study is done: `automatic` means the allocation it runs in, if
  /// any.
  bool in_foreground = false;
};

/// A study as its user wrote it, read and validated, not yet frozen.
struct LoadedStudy {
  StudySources sources;
  StudyInput input;
  std::filesystem::path origin;           ///< absolute directory of study.toml
  SubmitMode submit = SubmitMode::graph;  ///< never `automatic`
  std::string submit_why;                 ///< why that one, where nobody said
  /// With submit = one-job, what the study is outside of its job: to compare with other ways.
  std::optional<StudyInput> outside;
};

/// The nodes of the Slurm allocation that this process runs in, if it does.
[[nodiscard]] std::optional<int> held_nodes();

/// A site file by its path, or by the name of one that comes with slurmtune.
/// Errors: invalid_input.
[[nodiscard]] Expected<SiteFile> named_site_file(const std::string& site);
/// What holds in it where jobs go by default.
[[nodiscard]] Expected<Site> named_site(const std::string& site);
/// True if a site of that name comes with slurmtune.
[[nodiscard]] bool is_bundled_site(std::string_view name);

/// Loads study.toml, the ds_config and the site file that it names.
/// `automatic` becomes what `choose_submit` chooses if there is a Slurm here, else `local`, or
/// `allocation` in the foreground inside one. In an allocation the frozen site has as many lanes as
/// fit there, and a stage is one task, as in one job. `local` without a site of its own uses
/// site-configs/local.toml. Errors: invalid_input, also for files that are not there.
[[nodiscard]] Expected<LoadedStudy> load_study(const std::filesystem::path& study_toml,
                                               const StudyOptions& options);

/// A study.toml with `mode` set at its top level. No line moves if there is a `mode`, or an empty
/// line above the first table, so that messages name the user's lines.
[[nodiscard]] std::string with_mode(std::string_view text, StudyMode mode);

/// Every experiment begins in trial.workdir. Errors: invalid_input, with its line, if it is no
/// directory.
[[nodiscard]] Expected<void> check_workdir(const LoadedStudy& study);

/// Plans without creating anything; the study id is empty. Errors: also those of check_workdir,
/// and invalid_input if budget.finish_by is past at `now`.
[[nodiscard]] Expected<Plan> plan_study(const LoadedStudy& study, Instant now);

enum class Creation { created, found };

struct CreatedStudy {
  StudyDirectory directory;
  Creation creation = Creation::created;
  /// Drafts of it beside it whose processes were killed before they were done.
  std::vector<std::filesystem::path> abandoned_drafts{};
};

/// Freezes a study into `directory`: input, snapshot, our own programs, plan, first manifest and
/// the first events of the journal. All of it is built beside its place and renamed into it, so
/// that a failure leaves nothing. If `directory` holds a study of the same input already, it is
/// found and not touched. Errors: invalid_input if `directory` holds anything else, if job scripts
/// cannot hold its path, if trial.workdir is no directory, and those of check_dry_start.
[[nodiscard]] Expected<CreatedStudy> create_study(const LoadedStudy& study,
                                                  const std::filesystem::path& directory,
                                                  Instant now);

/// Takes back a study of which no job was submitted, or only jobs that are `over`, so that a
/// refusal leaves nothing behind; any other one stays as it is.
void withdraw_study(const StudyDirectory& directory, const std::set<std::int64_t>& over = {});

/// Where a study goes if nobody says: `slurmtune-<name>` in the current directory.
[[nodiscard]] std::filesystem::path default_directory(const LoadedStudy& study);

}  // namespace slurmtune
