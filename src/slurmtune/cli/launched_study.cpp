// SPDX-License-Identifier: MIT
#include "slurmtune/cli/launched_study.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>

#include <fmt/core.h>
#include <unistd.h>

#include "slurmtune/cli/study_options.hpp"
#include "slurmtune/input/accelerate_config.hpp"
#include "slurmtune/study/files.hpp"

namespace slurmtune {

namespace {

namespace fs = std::filesystem;

/// Where DeepSpeed looks for a hostfile that nobody names.
constexpr const char* default_hostfile = "/job/hostfile";

std::optional<std::string> variable(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) return std::nullopt;
  return std::string(value);
}

/// The last number of `4`, `a100:4`.
std::optional<int> count_in(const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  const std::string_view digits = std::string_view(*text).substr(text->rfind(':') + 1);
  int count = 0;
  const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), count);
  if (problem != std::errc{} || count < 1) return std::nullopt;
  return count;
}

/// NVIDIA's device files, `/dev/nvidia0` and so on: no driver is asked on a login node.
int gpus_here() {
  int count = 0;
  std::error_code code;
  for (const fs::directory_entry& entry : fs::directory_iterator("/dev", code)) {
    const std::string name = entry.path().filename().string();
    constexpr std::string_view prefix = "nvidia";
    const bool numbered = name.size() > prefix.size() && name.starts_with(prefix) &&
                          name.find_first_not_of("0123456789", prefix.size()) == std::string::npos;
    if (numbered) ++count;
  }
  return count;
}

/// The file that `accelerate config` writes, and that `accelerate launch` reads if nobody names one
/// (accelerate/commands/config/config_args.py).
fs::path default_accelerate_config() {
  const auto cache = variable("XDG_CACHE_HOME");
  const auto home = variable("HF_HOME");
  const fs::path hugging_face =
      home    ? fs::path(*home)
      : cache ? fs::path(*cache) / "huggingface"
              : fs::path(variable("HOME").value_or("")) / ".cache" / "huggingface";
  return hugging_face / "accelerate" / "default_config.yaml";
}

Expected<void> read_accelerate_config(LaunchLine& line) {
  if (line.launcher != LineLauncher::accelerate) return {};
  std::error_code code;
  const fs::path by_default = default_accelerate_config();
  if (!line.accelerate_config && !fs::exists(by_default, code)) return {};
  const std::string file = line.accelerate_config.value_or(by_default.string());
  const auto text = read_file(file);
  if (!text) {
    return invalid_input(fmt::format("launch line: --config_file: {}; name a file that is there",
                                     text.error().message));
  }
  return apply_accelerate_config({file, *text}, line);
}

Expected<LaunchPlace> look_around(const LaunchLine& line, const std::string& site) {
  LaunchPlace place;
  std::error_code code;
  const bool by_default = line.hostfile.empty() && line.launcher == LineLauncher::deepspeed &&
                          fs::exists(default_hostfile, code);
  const std::string hostfile = by_default ? default_hostfile : line.hostfile;
  if (!hostfile.empty()) {
    const auto text = read_file(hostfile);
    if (!text) {
      return invalid_input(
          fmt::format("launch line: {}; name a hostfile that is there", text.error().message));
    }
    place.hostfile = SourceText{hostfile, *text};
  }
  place.held_nodes = held_nodes();
  if (place.held_nodes) {
    place.held_gpus_per_node = count_in(variable("SLURM_GPUS_ON_NODE"));
    if (!place.held_gpus_per_node) {
      place.held_gpus_per_node = count_in(variable("SLURM_GPUS_PER_NODE"));
    }
  }
  if (!site.empty()) {
    SLURMTUNE_TRY(const Site named, named_site(site));
    place.site_gpus_per_node = named.gpus_per_node;
  }
  place.gpus_here = gpus_here();
  place.visible_devices = variable("CUDA_VISIBLE_DEVICES");
  const auto own = line.env.find("CUDA_VISIBLE_DEVICES");
  if (own != line.env.end()) place.visible_devices = own->second;
  return place;
}

Expected<void> check_config(const UnderstoodThing& config) {
  std::error_code code;
  if (fs::exists(config.value, code) && !fs::is_directory(config.value, code)) return {};
  const bool home = config.value.starts_with("~");
  return invalid_input(fmt::format(
      "launch line: {} {}: {}, seen from {}; name the DeepSpeed config's file{}", config.from,
      config.value, fs::exists(config.value, code) ? "a directory" : "no such file",
      fs::current_path().string(),
      home ? " (the shell does not replace a ~ inside a word; write $HOME)" : ""));
}

/// A site as the study file must name it: relative paths are relative to that file.
std::string site_for(const std::string& site, const fs::path& here, bool elsewhere) {
  const bool is_path = site.find('/') != std::string::npos || site.ends_with(".toml");
  return is_path && elsewhere ? (here / site).lexically_normal().string() : site;
}

}  // namespace

Expected<LaunchedStudy> study_of_launch_line(const StudyArguments& arguments) {
  SLURMTUNE_TRY(LaunchLine line, parse_launch_line(arguments.launch.words));
  SLURMTUNE_CHECK(read_accelerate_config(line));
  SLURMTUNE_TRY(const LaunchPlace place, look_around(line, arguments.site));
  SLURMTUNE_TRY(const LaunchResources resources, launch_resources(line, place));
  const fs::path here = fs::current_path();
  LaunchStudyRequest request;
  request.argv = arguments.launch.words;
  request.mode = arguments.mode.value_or(StudyMode::tune);
  request.name = arguments.name;
  request.file = arguments.write;
  const bool elsewhere = !arguments.write.empty() &&
                         fs::absolute(arguments.write).lexically_normal().parent_path() != here;
  if (elsewhere) {
    request.workdir = here.string();
    request.directory_of_config = here.string() + "/";
  }
  request.site = site_for(arguments.site, here, elsewhere);
  request.slurm = arguments.slurm;
  LaunchedStudy launched;
  SLURMTUNE_TRY(launched.study, launch_study(line, resources, request));
  SLURMTUNE_CHECK(check_config(launched.study.config));
  launched.file = arguments.write.empty() ? study_file_of(launched.study.name) : arguments.write;
  launched.command = arguments.command;
  launched.mode = request.mode;
  request.mode = request.mode == StudyMode::run ? StudyMode::tune : StudyMode::run;
  SLURMTUNE_TRY(const LaunchStudy other, launch_study(line, resources, request));
  launched.other = other.text;
  return launched;
}

Expected<std::optional<std::string>> text_there(const LaunchedStudy& launched) {
  std::error_code code;
  fs::path above = fs::path(launched.file).parent_path();
  if (above.empty()) above = ".";
  if (!fs::is_directory(above, code)) {
    return invalid_input(fmt::format("--write {}: {} is not a directory; name one that is there",
                                     launched.file, above.string()));
  }
  if (!fs::exists(launched.file, code)) {
    if (::access(above.c_str(), W_OK) == 0) return std::nullopt;
    return invalid_input(
        fmt::format("{}: cannot be written: {} is not writable; choose another file with --write",
                    launched.file, fs::absolute(above, code).lexically_normal().string()));
  }
  auto there = read_file(launched.file);
  if (there && (*there == launched.study.text || *there == launched.other)) {
    return std::optional(*std::move(there));
  }
  return invalid_input(fmt::format(
      "{0} is there already and says something else than this launch line; go on with it by "
      "slurmtune {1} {0}, or choose another file or name with --write FILE or --name NAME",
      launched.file, launched.command));
}

Expected<void> write_launched(const LaunchedStudy& launched) {
  SLURMTUNE_TRY(const auto there, text_there(launched));
  if (there) return {};
  return replace_file(launched.file, launched.study.text, Durability::synced);
}

std::string told(const LaunchedStudy& launched, Written written) {
  std::string text = "understood\n";
  for (const UnderstoodThing& thing : launched.study.understood) {
    text += fmt::format("  {:<18} {:<20} {}\n", thing.what, thing.value,
                        thing.from.empty() ? "" : "(" + thing.from + ")");
  }
  for (const std::string& note : launched.study.notes) text += "note: " + note + "\n";
  switch (written) {
    case Written::yes:
      text += fmt::format("written into {0}: edit it, and use slurmtune {1} {0}\n", launched.file,
                          launched.command);
      break;
    case Written::before:
      text += fmt::format("{0} says the same already: edit it, and use slurmtune {1} {0}\n",
                          launched.file, launched.command);
      break;
    case Written::no:
      text += fmt::format("tune and submit write it into {}\n", launched.file);
      break;
  }
  return text + "\n";
}

}  // namespace slurmtune
