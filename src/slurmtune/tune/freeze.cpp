// SPDX-License-Identifier: MIT
#include "slurmtune/tune/freeze.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <system_error>

#include <fmt/core.h>
#include <fnmatch.h>

#include "slurmtune/base/hash.hpp"
#include "slurmtune/study/files.hpp"

namespace slurmtune {

namespace {

namespace fs = std::filesystem;

/// A snapshot is source code; more than this is a data set named by mistake.
constexpr std::uintmax_t snapshot_bytes_max = std::uintmax_t{1} << 30U;

tl::unexpected<Error> failed(std::string_view what, const fs::path& path,
                             const std::error_code& code) {
  return unavailable(fmt::format("{}: cannot {}: {}", path.string(), what, code.message()));
}

/// All regular files below `root`, relative, sorted; what begins with .git is left out, as are
/// studies (they hold a journal).
Expected<std::vector<fs::path>> files_below(const fs::path& root) {
  std::vector<fs::path> files;
  std::error_code code;
  fs::recursive_directory_iterator entry(root, code);
  if (code) return failed("read the directory", root, code);
  for (const fs::recursive_directory_iterator end; entry != end; entry.increment(code)) {
    if (code) return failed("read the directory", root, code);
    const fs::path& path = entry->path();
    if (entry->is_directory(code)) {
      const bool skipped =
          path.filename() == ".git" || fs::exists(path / "journal" / "000001.json", code);
      if (skipped) entry.disable_recursion_pending();
      continue;
    }
    if (entry->is_regular_file(code)) files.push_back(path.lexically_relative(root));
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// `*` stops at '/', `**` does not; a pattern that names a directory stands for all in it.
bool matches(const std::string& pattern, const fs::path& file) {
  const bool deep = pattern.find("**") != std::string::npos;
  if (::fnmatch(pattern.c_str(), file.c_str(), deep ? 0 : FNM_PATHNAME) == 0) return true;
  const std::string folder = pattern.ends_with('/') ? pattern : pattern + '/';
  return file.string().starts_with(folder);
}

Expected<void> freeze_file(const fs::path& from, const fs::path& to) {
  SLURMTUNE_CHECK(make_private_directory(to.parent_path()));
  std::error_code code;
  fs::copy_file(from, to, fs::copy_options::overwrite_existing, code);
  if (!code) return {};
  // The library calls a full disk an input/output error.
  std::error_code unknown;
  const fs::space_info room = fs::space(to.parent_path(), unknown);
  if (!unknown && room.available < fs::file_size(from, unknown) && !unknown) {
    code = std::make_error_code(std::errc::no_space_on_device);
  }
  return failed(fmt::format("copy to {}", to.parent_path().string()), from, code);
}

}  // namespace

Expected<void> freeze_snapshot(const std::filesystem::path& workdir,
                               const std::vector<std::string>& patterns,
                               const std::filesystem::path& into) {
  if (patterns.empty()) return {};
  SLURMTUNE_TRY(const auto files, files_below(workdir));
  std::set<fs::path> chosen;
  for (const std::string& pattern : patterns) {
    const std::size_t before = chosen.size();
    bool any = false;
    for (const fs::path& file : files) {
      if (!matches(pattern, file)) continue;
      any = true;
      chosen.insert(file);
    }
    if (!any && chosen.size() == before) {
      return invalid_input(fmt::format(
          "[trial] snapshot: '{}' matches no file below {}; mend the pattern or take it "
          "out",
          pattern, workdir.string()));
    }
  }
  std::uintmax_t bytes = 0;
  std::error_code code;
  for (const fs::path& file : chosen) bytes += fs::file_size(workdir / file, code);
  if (bytes > snapshot_bytes_max) {
    return invalid_input(
        fmt::format("[trial] snapshot: {} files of {} MiB in all; a snapshot is for code, leave "
                    "data in place",
                    chosen.size(), bytes >> 20U));
  }
  for (const fs::path& file : chosen) SLURMTUNE_CHECK(freeze_file(workdir / file, into / file));
  return {};
}

std::filesystem::path program_directory() {
  std::error_code code;
  return fs::read_symlink("/proc/self/exe", code).parent_path();
}

Expected<void> freeze_programs(const std::filesystem::path& bin) {
  constexpr std::array<std::string_view, 5> names{"slurmtune", "slurmtune-runner", "minitrain",
                                                  "slurmtune-libslurm.so", "minitrain-cuda.so"};
  const fs::path directory = program_directory();
  std::error_code code;
  for (const std::string_view name : names) {
    // Installed, the plug-in stands in lib/slurmtune, the rest in bin.
    for (const fs::path& from : {directory / name, directory / "../lib/slurmtune" / name}) {
      if (!fs::is_regular_file(from, code)) continue;
      SLURMTUNE_CHECK(freeze_file(from, bin / name));
      break;
    }
  }
  return {};
}

Expected<std::string> hash_inputs(const std::filesystem::path& root) {
  SLURMTUNE_TRY(const auto files, files_below(root));
  std::string lines;
  for (const fs::path& file : files) {
    const std::string name = file.generic_string();
    const bool is_input = name == "study.toml" || name == "site.toml" ||
                          name.starts_with("inputs/") || name.starts_with("bin/");
    if (!is_input) continue;
    SLURMTUNE_TRY(const std::string bytes, read_file(root / file));
    lines += fmt::format("{}  {}\n", sha256_hex(bytes), name);
  }
  return "sha256:" + sha256_hex(lines);
}

}  // namespace slurmtune
