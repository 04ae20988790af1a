// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "slurmtune/base/error.hpp"
#include "slurmtune/input/study_input.hpp"
#include "slurmtune/plan/plan.hpp"
#include "slurmtune/record/decision.hpp"
#include "slurmtune/record/manifest.hpp"
#include "slurmtune/record/verdict.hpp"
#include "slurmtune/study/journal.hpp"
#include "slurmtune/study/state.hpp"

namespace slurmtune {

/// Shards of tasks that have ended, by path: nobody writes them any more.
using EndedShards = std::map<std::string, Shard>;

/// Where things are in a study directory (design.md, section 5). No file has two writers.
class StudyDirectory {
 public:
  explicit StudyDirectory(std::filesystem::path root) : root_(std::move(root)) {}

  /// Makes the path absolute and checks that a study is there.
  /// Errors: invalid_input if it holds no journal.
  [[nodiscard]] static Expected<StudyDirectory> open(const std::filesystem::path& path);

  [[nodiscard]] const std::filesystem::path& root() const { return root_; }
  [[nodiscard]] std::filesystem::path study_toml() const { return root_ / "study.toml"; }
  [[nodiscard]] std::filesystem::path site_toml() const { return root_ / "site.toml"; }
  [[nodiscard]] std::filesystem::path inputs() const { return root_ / "inputs"; }
  [[nodiscard]] std::filesystem::path ds_config() const { return inputs() / "ds_config.json"; }
  [[nodiscard]] std::filesystem::path model_config() const {
    return inputs() / "model_config.json";
  }
  [[nodiscard]] std::filesystem::path bin() const { return root_ / "bin"; }
  [[nodiscard]] std::filesystem::path plan_json() const { return root_ / "plan.json"; }
  [[nodiscard]] std::filesystem::path journal() const { return root_ / "journal"; }
  [[nodiscard]] std::filesystem::path best() const { return root_ / "best"; }
  [[nodiscard]] std::filesystem::path scripts() const { return root_ / "scripts"; }
  [[nodiscard]] std::filesystem::path stage(const StageName& name) const {
    return root_ / "stages" / name.text;
  }
  [[nodiscard]] std::filesystem::path manifest_path(const StageName& name) const {
    return stage(name) / "manifest.jsonl";
  }
  /// A manifest that a decision may come to name; it counts only once it stands in manifest_path.
  [[nodiscard]] std::filesystem::path proposal_path(const StageName& name,
                                                    std::string_view sha256) const {
    return stage(name) / ("proposed-" + std::string(sha256.substr(0, 16)) + ".jsonl");
  }
  /// `decision.json`; `decision-<n>.json` of what was decided after the n-th reopening.
  [[nodiscard]] std::filesystem::path decision_path(const StageName& name, int reopened = 0) const {
    return stage(name) / (reopened == 0 ? std::string("decision.json")
                                        : "decision-" + std::to_string(reopened) + ".json");
  }
  [[nodiscard]] std::filesystem::path verdicts(const StageName& name) const {
    return stage(name) / "verdicts";
  }
  [[nodiscard]] std::filesystem::path logs(const StageName& name) const {
    return stage(name) / "logs";
  }

  /// The frozen input, validated again. Errors as read_study; unavailable if a file is not there.
  [[nodiscard]] Expected<StudyInput> read_input() const;
  [[nodiscard]] Expected<Plan> read_plan() const;
  /// Absent while it is not published.
  [[nodiscard]] Expected<std::optional<Manifest>> read_manifest(const StageName& name) const;
  /// The last decision of a stage, and where it stands. One that ended the study for want of budget
  /// or time does not count once the study was reopened: StudyState::ends_taken_back.
  struct FoundDecision {
    Decision decision;
    std::filesystem::path path;
  };
  [[nodiscard]] Expected<std::optional<FoundDecision>> read_decision(const StageName& name,
                                                                     int reopened) const;

  /// All verdict shards of a stage, by name. Names that `jobs` let expect are opened even if the
  /// (cached) directory listing does not show them, unless their slice is done. Those in `ended`
  /// are not read again; what has ended since is added to it.
  [[nodiscard]] Expected<std::vector<Shard>> read_shards(const StageName& name,
                                                         std::span<const JobRecord* const> jobs,
                                                         EndedShards* ended = nullptr) const;

 private:
  std::filesystem::path root_;
};

/// `<array job>_<slice>.<restart>.jsonl`
[[nodiscard]] std::string shard_name(std::int64_t array_job, std::int64_t slice, int restart);

}  // namespace slurmtune
