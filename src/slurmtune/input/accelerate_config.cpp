// SPDX-License-Identifier: MIT
#include "slurmtune/input/accelerate_config.hpp"

#include <array>
#include <charconv>
#include <map>
#include <string_view>
#include <utility>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "slurmtune/input/node.hpp"
#include "slurmtune/input/readers.hpp"

namespace slurmtune {

namespace {

using Json = nlohmann::ordered_json;

/// A scalar of the file: its dotted key, and where it stands.
struct Scalar {
  std::string text;
  int line = 1;
};
using Scalars = std::map<std::string, Scalar>;

/// `'no'  # never` as `no`; nothing for null.
std::string scalar_text(std::string_view text) {
  text = trimmed(text);
  if (text.starts_with('#')) return "";
  const char quote = text.empty() ? '\0' : text.front();
  if (quote == '\'' || quote == '"') {
    return std::string(text.substr(1, text.find(quote, 1) - 1));
  }
  text = trimmed(text.substr(0, text.find(" #")));
  return text == "null" || text == "~" || text == "{}" ? "" : std::string(text);
}

/// The lines `key: value`, below the lines `key:` that they are indented under.
Expected<Scalars> read_scalars(const SourceText& source) {
  Scalars scalars;
  std::vector<std::pair<std::size_t, std::string>> above;
  std::string_view left = source.text;
  for (int number = 1; !left.empty(); ++number) {
    std::string_view line = left.substr(0, left.find('\n'));
    left.remove_prefix(std::min(left.size(), line.size() + 1));
    const std::string_view words = trimmed(line);
    if (words.empty() || words.starts_with('#') || words == "---" || words == "...") continue;
    if (words.starts_with("- ") || words == "-") continue;  // no list is of interest here
    const std::size_t indent = line.find_first_not_of(' ');
    const std::size_t colon = words.find(':');
    const std::string_view key = words.substr(0, colon);
    const bool is_key = colon != std::string_view::npos && is_identifier(key) &&
                        (colon + 1 == words.size() || words[colon + 1] == ' ');
    if (!is_key || line[indent] == '\t') {
      return fail_at(source.path, number, fmt::format("\"{}\" is not a key and its value", words),
                     "write key: value, as `accelerate config` does");
    }
    while (!above.empty() && above.back().first >= indent) above.pop_back();
    const std::string path = (above.empty() ? "" : above.back().second + ".") + std::string(key);
    above.emplace_back(indent, path);
    const std::string text = scalar_text(words.substr(colon + 1));
    if (!text.empty()) scalars[path] = {text, number};
  }
  return scalars;
}

/// Puts the file's values where the line has none.
class Applier {
 public:
  Applier(const SourceText& source, Scalars scalars, LaunchLine& line)
      : source_(source), scalars_(std::move(scalars)), line_(line) {}

  Expected<void> apply();

 private:
  [[nodiscard]] const Scalar* find(const std::string& key) const {
    const auto found = scalars_.find(key);
    return found == scalars_.end() ? nullptr : &found->second;
  }
  Expected<void> set_count(const std::string& key, std::optional<GivenCount>& count) const;
  Expected<void> check_kind() const;
  Expected<void> set_ds_config();
  void set_variable(const std::string& key, const char* variable);

  const SourceText& source_;
  Scalars scalars_;
  LaunchLine& line_;
};

Expected<void> Applier::set_count(const std::string& key, std::optional<GivenCount>& count) const {
  const Scalar* found = find(key);
  if (found == nullptr || count) return {};
  int value = 0;
  const char* end = found->text.data() + found->text.size();
  const auto [stopped, problem] = std::from_chars(found->text.data(), end, value);
  if (problem != std::errc{} || stopped != end || value < 1) {
    return fail_at(source_.path, found->line,
                   fmt::format("{} is {}, but must be a number from 1", key, found->text),
                   "write the number");
  }
  count = GivenCount{value, fmt::format("{} of {}", key, source_.path)};
  return {};
}

Expected<void> Applier::check_kind() const {
  const Scalar* ids = find("gpu_ids");
  if (ids != nullptr && ids->text != "all") {
    return fail_at(source_.path, ids->line,
                   fmt::format("gpu_ids is {}: the GPUs of a node are bound by Slurm", ids->text),
                   "write all, or set CUDA_VISIBLE_DEVICES and num_processes");
  }
  if (line_.ds_config) return {};  // --deepspeed_config_file says DeepSpeed
  const Scalar* kind = find("distributed_type");
  if (kind == nullptr || kind->text == "DEEPSPEED" || kind->text == "MULTI_GPU" ||
      kind->text == "NO" || kind->text == "no") {
    return {};
  }
  return fail_at(source_.path, kind->line,
                 fmt::format("distributed_type is {}, which has no DeepSpeed config", kind->text),
                 "write a study.toml with what varies in [[parameter]] (docs/user/study.md)");
}

/// accelerate's keys as DeepSpeed has them (accelerate/utils/dataclasses.py, DeepSpeedPlugin).
constexpr std::array<std::pair<std::string_view, std::string_view>, 7> ds_keys{
    {{"zero_stage", "/zero_optimization/stage"},
     {"offload_optimizer_device", "/zero_optimization/offload_optimizer/device"},
     {"offload_optimizer_nvme_path", "/zero_optimization/offload_optimizer/nvme_path"},
     {"offload_param_device", "/zero_optimization/offload_param/device"},
     {"offload_param_nvme_path", "/zero_optimization/offload_param/nvme_path"},
     {"gradient_accumulation_steps", "/gradient_accumulation_steps"},
     {"gradient_clipping", "/gradient_clipping"}}};

Expected<void> Applier::set_ds_config() {
  SLURMTUNE_TRY(const auto scripts_own, find_ds_config(line_.arguments));
  if (line_.ds_config || scripts_own) return {};
  if (const Scalar* file = find("deepspeed_config.deepspeed_config_file")) {
    line_.ds_config = file->text;
    line_.ds_config_from = "deepspeed_config_file of " + source_.path;
    return {};
  }
  Json document = Json::object();
  document["train_micro_batch_size_per_gpu"] = "auto";
  int first = 0;
  for (const auto& [key, pointer] : ds_keys) {
    const Scalar* found = find("deepspeed_config." + std::string(key));
    if (found == nullptr || found->text == "none") continue;
    if (first == 0) first = found->line;
    const Json value = Json::parse(found->text, nullptr, false);
    document[Json::json_pointer(std::string(pointer))] =
        value.is_number() ? value : Json(found->text);
  }
  if (first == 0) return {};
  const Scalar* precision = find("mixed_precision");
  if (precision != nullptr && (precision->text == "bf16" || precision->text == "fp16")) {
    document[precision->text]["enabled"] = true;
  }
  return fail_at(source_.path, first,
                 "the keys of DeepSpeed stand here, and each experiment has a DeepSpeed config of "
                 "its own",
                 fmt::format("write them into a file, ds_config.json: {} and name that: "
                             "deepspeed_config_file: ds_config.json",
                             document.dump()));
}

void Applier::set_variable(const std::string& key, const char* variable) {
  const Scalar* found = find(key);
  if (found != nullptr) line_.env.emplace(variable, found->text);
}

Expected<void> Applier::apply() {
  SLURMTUNE_CHECK(check_kind());
  SLURMTUNE_CHECK(set_count("num_machines", line_.nodes));
  SLURMTUNE_CHECK(set_count("num_processes", line_.processes));
  SLURMTUNE_CHECK(set_ds_config());
  set_variable("mixed_precision", "ACCELERATE_MIXED_PRECISION");
  set_variable("deepspeed_config.zero3_init_flag", "ACCELERATE_DEEPSPEED_ZERO3_INIT");
  set_variable("deepspeed_config.zero3_save_16bit_model",
               "ACCELERATE_DEEPSPEED_ZERO3_SAVE_16BIT_MODEL");
  if (line_.hostfile.empty()) {
    if (const Scalar* hosts = find("deepspeed_config.deepspeed_hostfile")) {
      line_.hostfile = hosts->text;
    }
  }
  line_.notes.push_back(fmt::format(
      "of {} the numbers of processes and machines, the precision and the DeepSpeed config are "
      "taken; flags win over it",
      source_.path));
  return {};
}

}  // namespace

Expected<void> apply_accelerate_config(const SourceText& source, LaunchLine& line) {
  SLURMTUNE_TRY(Scalars scalars, read_scalars(source));
  return Applier(source, std::move(scalars), line).apply();
}

}  // namespace slurmtune
