// SPDX-License-Identifier: MIT
#include "slurmtune/tune/clean.hpp"

#include <algorithm>
#include <set>
#include <system_error>

#include <fmt/format.h>
#include <sys/stat.h>

#include "slurmtune/base/shell_quote.hpp"

namespace slurmtune {

namespace {

namespace fs = std::filesystem;

/// Bytes on disk of one file or link, not of what it points to.
std::uint64_t own_bytes(const fs::path& path) {
  struct stat facts {};
  if (::lstat(path.c_str(), &facts) != 0) return 0;
  constexpr std::uint64_t block = 512;  // stat(2), whatever the filesystem's own
  return static_cast<std::uint64_t>(facts.st_blocks) * block;
}

std::uint64_t bytes_of(const fs::path& path) {
  std::error_code code;
  std::uint64_t bytes = own_bytes(path);
  if (!fs::is_directory(fs::symlink_status(path, code))) return bytes;
  // Does not descend into links.
  for (fs::recursive_directory_iterator entry(path, code), end; entry != end && !code;
       entry.increment(code)) {
    bytes += own_bytes(entry->path());
  }
  return bytes;
}

/// Entries of a directory that is one itself, and no link to one; sorted.
std::vector<fs::path> entries_of(const fs::path& directory) {
  std::vector<fs::path> entries;
  std::error_code code;
  if (!fs::is_directory(fs::symlink_status(directory, code))) return entries;
  for (fs::directory_iterator entry(directory, code), end; entry != end && !code;
       entry.increment(code)) {
    entries.push_back(entry->path());
  }
  std::sort(entries.begin(), entries.end());
  return entries;
}

/// An experiment's name in `work` and `logs`: its id, with `.a<attempt>` behind from attempt 1 on.
std::string experiment_in(const fs::path& entry) {
  const std::string name = entry.filename().string();
  return name.substr(0, name.find('.'));
}

/// Experiments whose every try worked: nobody will look into their logs.
std::set<std::string> worked(const StageView& stage) {
  std::set<std::string> ok;
  std::set<std::string> others;
  for (const Shard& shard : stage.shards) {
    for (const Verdict& verdict : shard.verdicts) {
      (verdict.outcome == Outcome::ok ? ok : others).insert(verdict.experiment.text);
    }
  }
  for (const std::string& name : others) ok.erase(name);
  return ok;
}

std::set<std::string> experiments_of_winner(const StudyView& view) {
  std::set<std::string> ids;
  if (!view.state.finished || !view.state.finished->best) return ids;
  for (const StageView& stage : view.stages) {
    if (!stage.manifest) continue;
    for (const Experiment& experiment : stage.manifest->experiments) {
      if (experiment.configuration_id == *view.state.finished->best) ids.insert(experiment.id.text);
    }
  }
  return ids;
}

}  // namespace

Expected<void> check_over(const StudyView& view, const std::string& directory) {
  if (!view.state.finished) {
    return unavailable(
        fmt::format("{0}: the study is not finished; let it end (slurmtune status {0}), or end it: "
                    "slurmtune cancel {0}",
                    directory));
  }
  const auto& training = view.state.training;
  if (training && !training->ended) {
    return unavailable(fmt::format(
        "{0}: its training runs; let it end, or end it: slurmtune cancel {0}", directory));
  }
  if (view.state.starter() == JobStarter::foreground || view.state.jobs.empty()) return {};
  if (!view.live_jobs) {
    return unavailable(fmt::format(
        "{}: the batch system cannot be asked whether a job of it runs; try again", directory));
  }
  for (const JobRecord& job : view.state.jobs) {
    if (!view.is_live(job)) continue;
    return unavailable(
        fmt::format("{}: job {} ({}) has not ended; wait for it, or end it: scancel {}", directory,
                    *job.job, job.name, *job.job));
  }
  return {};
}

Expected<void> check_removable(const StudyDirectory& directory) {
  std::error_code code;
  if (!fs::is_symlink(directory.root(), code)) return {};
  const fs::path place = fs::canonical(directory.root(), code);
  return invalid_input(
      fmt::format("{0} is a link; name what it points to, if that is to go: slurmtune clean --all "
                  "{1}",
                  directory.root().string(), shell_quote(place.string())));
}

std::vector<Removal> plan_clean(const StudyDirectory& directory, const StudyView& view,
                                CleanScope scope, std::span<const fs::path> drafts) {
  std::vector<Removal> removals;
  const auto add = [&](const fs::path& path, const char* what) {
    removals.push_back({path, what, bytes_of(path)});
  };
  for (const fs::path& draft : drafts) add(draft, "drafts that were never completed");
  if (scope == CleanScope::all) {
    add(directory.root(), "the whole study");
    return removals;
  }
  const std::set<std::string> winner = experiments_of_winner(view);
  for (std::size_t i = 0; i < view.stages.size() && i < view.plan.stages.size(); ++i) {
    const StageName& name = view.plan.stages[i].name;
    std::error_code code;
    if (fs::is_symlink(directory.stage(name), code) ||
        fs::is_symlink(directory.stage(name).parent_path(), code)) {
      continue;
    }
    for (const fs::path& entry : entries_of(directory.stage(name) / "work")) {
      if (!winner.contains(experiment_in(entry))) add(entry, "work of trials");
    }
    const std::set<std::string> ok = worked(view.stages[i]);
    for (const fs::path& entry : entries_of(directory.logs(name))) {
      const std::string experiment = experiment_in(entry);
      if (ok.contains(experiment) && !winner.contains(experiment)) {
        add(entry, "logs of trials that worked");
      }
    }
    for (const fs::path& entry : entries_of(directory.stage(name))) {
      const std::string file = entry.filename().string();
      if (file.starts_with("proposed-") && file.ends_with(".jsonl")) add(entry, "proposals");
    }
  }
  return removals;
}

Expected<void> remove_planned(const std::vector<Removal>& removals) {
  for (const Removal& removal : removals) {
    std::error_code code;
    fs::remove_all(removal.path, code);  // removes links, not what they point to
    if (code) {
      return unavailable(
          fmt::format("{}: cannot remove: {}", removal.path.string(), code.message()));
    }
  }
  return {};
}

}  // namespace slurmtune
