// SPDX-License-Identifier: MIT
#include "slurmtune/study/study_directory.hpp"

#include <set>
#include <system_error>

#include <fmt/core.h>

#include "slurmtune/study/files.hpp"

namespace slurmtune {

namespace {
/// Restarts of a task that are looked for beyond what the directory listing shows.
constexpr int restarts_probed = 4;
}  // namespace

std::string shard_name(std::int64_t array_job, std::int64_t slice, int restart) {
  return fmt::format("{}_{}.{}.jsonl", array_job, slice, restart);
}

Expected<StudyDirectory> StudyDirectory::open(const std::filesystem::path& path) {
  std::error_code code;
  const auto absolute = std::filesystem::absolute(path, code).lexically_normal();
  StudyDirectory directory(absolute.has_filename() ? absolute : absolute.parent_path());
  if (!std::filesystem::exists(directory.root(), code)) {
    return invalid_input(
        fmt::format("{}: no such directory; give the directory of a study", path.string()));
  }
  if (!file_exists(directory.journal() / "000001.json")) {
    return invalid_input(fmt::format(
        "{}: is not a study (it has no journal); give the directory that submit or tune named",
        path.string()));
  }
  return directory;
}

Expected<StudyInput> StudyDirectory::read_input() const {
  StudySources sources;
  SLURMTUNE_TRY(std::string study, read_file(study_toml()));
  sources.study = {study_toml().string(), std::move(study)};
  SLURMTUNE_TRY(std::string site, read_file(site_toml()));
  sources.site = {site_toml().string(), std::move(site)};
  if (file_exists(ds_config())) {
    SLURMTUNE_TRY(std::string config, read_file(ds_config()));
    sources.ds_config = SourceText{ds_config().string(), std::move(config)};
  }
  if (file_exists(model_config())) {
    SLURMTUNE_TRY(std::string config, read_file(model_config()));
    sources.model_config = SourceText{model_config().string(), std::move(config)};
  }
  return read_study(sources);
}

Expected<Plan> StudyDirectory::read_plan() const {
  SLURMTUNE_TRY(const std::string text, read_file(plan_json()));
  return parse_plan(text, plan_json().string());
}

Expected<std::optional<Manifest>> StudyDirectory::read_manifest(const StageName& name) const {
  const auto path = manifest_path(name);
  if (!file_exists(path)) return std::nullopt;
  SLURMTUNE_TRY(const std::string text, read_file(path));
  SLURMTUNE_TRY(Manifest manifest, parse_manifest(text, path.string()));
  return manifest;
}

Expected<std::optional<StudyDirectory::FoundDecision>> StudyDirectory::read_decision(
    const StageName& name, int reopened) const {
  for (int time = reopened; time >= 0; --time) {
    const auto path = decision_path(name, time);
    if (!file_exists(path)) continue;
    SLURMTUNE_TRY(const std::string text, read_file(path));
    SLURMTUNE_TRY(Decision decision, parse_decision(text, path.string()));
    const bool taken_back =
        time < reopened && decision.stop && may_be_extended({*decision.stop, std::nullopt});
    if (taken_back) return std::nullopt;
    return FoundDecision{std::move(decision), path};
  }
  return std::nullopt;
}

Expected<std::vector<Shard>> StudyDirectory::read_shards(const StageName& name,
                                                         std::span<const JobRecord* const> jobs,
                                                         EndedShards* ended) const {
  const auto directory = verdicts(name);
  std::map<std::string, Shard> shards;  // by file, so that their order is that of the names
  std::set<std::int64_t> done_slices;   // of which no restart is to come
  const auto note = [&](const Shard& shard) {
    if (shard.end && shard.end->reason == "done") done_slices.insert(shard.start.slice);
  };
  const auto add = [&](const std::string& file) -> Expected<void> {
    const auto path = directory / file;
    const auto known = ended == nullptr ? EndedShards::iterator() : ended->find(path.string());
    if (ended != nullptr && known != ended->end()) {
      note(known->second);
      shards.emplace(file, known->second);
      return {};
    }
    SLURMTUNE_TRY(const std::string text, read_file(path));
    // A task that died before its first line was whole has measured nothing.
    if (text.find('\n') == std::string::npos) return {};
    SLURMTUNE_TRY(Shard shard, parse_shard(text, path.string()));
    note(shard);
    if (shard.end && ended != nullptr) ended->emplace(path.string(), shard);
    shards.emplace(file, std::move(shard));
    return {};
  };
  std::set<std::string> listed;
  std::error_code code;
  for (std::filesystem::directory_iterator entry(directory, code), end; entry != end;
       entry.increment(code)) {
    const std::string file = entry->path().filename().string();
    if (file.ends_with(".jsonl") && !file.starts_with(".")) listed.insert(file);
  }
  for (const std::string& file : listed) SLURMTUNE_CHECK(add(file));
  for (const JobRecord* job : jobs) {
    for (std::int64_t i = 0; job->job && i < job->tasks.value_or(1); ++i) {
      if (done_slices.contains(job->first_slice + i)) continue;
      for (int restart = 0; restart < restarts_probed; ++restart) {
        const std::string expected = shard_name(*job->job, job->first_slice + i, restart);
        if (listed.contains(expected)) continue;
        if (!file_exists(directory / expected)) break;
        SLURMTUNE_CHECK(add(expected));
      }
    }
  }
  std::vector<Shard> in_order;
  in_order.reserve(shards.size());
  for (auto& [file, shard] : shards) in_order.push_back(std::move(shard));
  return in_order;
}

}  // namespace slurmtune
