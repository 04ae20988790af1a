// SPDX-License-Identifier: MIT
#include "slurmtune/tune/model_config.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <system_error>
#include <vector>

#include <fmt/core.h>

#include "slurmtune/input/readers.hpp"
#include "slurmtune/study/files.hpp"

namespace slurmtune {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view file_name = "config.json";

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

fs::path hub_cache() {
  if (const std::string cache = environment("HF_HUB_CACHE"); !cache.empty()) return cache;
  if (const std::string home = environment("HF_HOME"); !home.empty()) return fs::path(home) / "hub";
  const std::string home = environment("HOME");
  return home.empty() ? fs::path() : fs::path(home) / ".cache/huggingface/hub";
}

/// The same for people, who may not be at home here.
std::string hub_cache_in_words() {
  const bool is_usual = environment("HF_HUB_CACHE").empty() && environment("HF_HOME").empty();
  return is_usual ? "~/.cache/huggingface/hub" : hub_cache().string();
}

/// `ORG/NAME` or `NAME`, as the hub's are.
bool is_hub_name(const std::string& name) {
  const auto is_allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.' || c == '/';
  };
  return !name.empty() && std::count(name.begin(), name.end(), '/') <= 1 && name.front() != '/' &&
         name.front() != '.' && name.back() != '/' &&
         std::all_of(name.begin(), name.end(), is_allowed);
}

std::optional<fs::path> in_hub_cache(const std::string& name) {
  const fs::path cache = hub_cache();
  if (!is_hub_name(name) || name.ends_with(".json")) return std::nullopt;
  std::string folder = "models--" + name;
  if (const auto slash = folder.find('/'); slash != std::string::npos) {
    folder.replace(slash, 1, "--");
  }
  std::error_code code;
  const fs::path snapshots = cache / folder / "snapshots";
  if (const auto main = read_file(cache / folder / "refs" / "main")) {
    const fs::path config = snapshots / trimmed(*main) / file_name;
    if (fs::is_regular_file(config, code)) return config;
  }
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(snapshots, code)) {
    if (fs::is_regular_file(entry.path() / file_name, code)) {
      found.push_back(entry.path() / file_name);
    }
  }
  std::sort(found.begin(), found.end());
  return found.empty() ? std::nullopt : std::optional(found.front());
}

}  // namespace

std::optional<fs::path> find_model_config(const std::string& name, const fs::path& base) {
  std::error_code code;
  if (name.empty()) return std::nullopt;
  const fs::path local = base / name;
  if (fs::is_regular_file(local, code)) return local;
  if (fs::is_regular_file(local / file_name, code)) return local / file_name;
  return in_hub_cache(name);
}

std::string not_found_in_words(const std::string& name, const fs::path& base) {
  const fs::path place = (base / "").lexically_normal().parent_path();
  std::string text = fmt::format("{} is no file and no directory with a config.json below {}", name,
                                 place.string());
  if (!is_hub_name(name) || name.ends_with(".json")) return text + "; name one that is there";
  return text + fmt::format(
                    ", and no model in {}; the network is not asked: download it (huggingface-cli "
                    "download {} config.json), or give the figures themselves",
                    hub_cache_in_words(), name);
}

Expected<ModelConfig> load_model_config(const std::optional<std::string>& named,
                                        const StudySpec& spec, const SourceText& study,
                                        const fs::path& origin) {
  ModelConfig found;
  std::optional<fs::path> config;
  if (named) {
    config = find_model_config(*named, origin);
    if (!config) {
      return invalid_input(fmt::format("{}:{}: model.config: {}", study.path,
                                       line_of_key(study, "model", "config"),
                                       not_found_in_words(*named, origin)));
    }
  } else if (spec.deepspeed) {
    const fs::path workdir = origin / spec.trial.workdir;
    for (const std::string_view flag :
         std::array<std::string_view, 2>{"--config_name", "--model_name_or_path"}) {
      const auto value = find_flag(spec.trial.command, flag);
      if (!value) continue;
      config = find_model_config(value->value, workdir);
      if (config) break;
      found.note = fmt::format("the model's shape is not known: {} {}", flag,
                               not_found_in_words(value->value, workdir));
    }
  }
  if (!config) return found;
  found.note.clear();
  auto text = read_file(*config);
  if (text) {
    found.text = SourceText{config->lexically_normal().string(), *std::move(text)};
    return found;
  }
  if (!named) return found;  // nothing that anybody asked for
  return tl::unexpected<Error>(text.error());
}

}  // namespace slurmtune
