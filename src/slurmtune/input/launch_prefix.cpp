// SPDX-License-Identifier: MIT
#include "slurmtune/input/launch_prefix.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "slurmtune/base/shell_quote.hpp"
#include "slurmtune/input/launch_names.hpp"
#include "slurmtune/input/readers.hpp"

namespace slurmtune {

namespace {

constexpr std::string_view blanks = " \t\n";

tl::unexpected<Error> fail(std::string_view what) {
  return invalid_input(fmt::format("launch line: {}", what));
}

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

/// One option of env, with its value: of the next word where it is not in the same.
struct EnvOption {
  std::string name;
  std::string value;
  std::size_t words = 1;
};

EnvOption read_option(std::span<const std::string> words) {
  const std::string& word = words.front();
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> with_value{
      {{"-u", "--unset"}, {"-C", "--chdir"}, {"-S", "--split-string"}}};
  for (const auto& [letter, name] : with_value) {
    if (word == letter || word == name) {
      return {std::string(letter), words.size() > 1 ? words[1] : "", 2};
    }
    if (word.starts_with(std::string(name) + "=")) {
      return {std::string(letter), word.substr(name.size() + 1)};
    }
    if (word.starts_with(letter) && !word.starts_with("--")) {
      return {std::string(letter), word.substr(letter.size())};
    }
  }
  return {word, ""};
}

Expected<void> apply_option(const EnvOption& option, LinePrefix& prefix) {
  if (option.name == "-u") {
    if (!is_identifier(option.value)) {
      return fail(fmt::format("env -u is given {}, but takes the name of a variable",
                              option.value.empty() ? "nothing" : shell_quote(option.value)));
    }
    prefix.env.erase(option.value);
    prefix.setup.push_back("unset " + option.value);
    return {};
  }
  if (is_one_of(option.name, {"-v", "--debug"})) return {};
  if (is_one_of(option.name, {"-i", "-", "--ignore-environment"})) {
    return fail(
        "env -i takes from the processes what they are started by (RANK, MASTER_ADDR, Slurm's "
        "variables); leave it out, and take single variables away with env -u NAME");
  }
  if (option.name == "-C") {
    return fail(
        fmt::format("env -C {0}: trials begin in the directory where slurmtune is started; "
                    "go there first: cd {0}",
                    option.value.empty() ? "DIR" : shell_quote(option.value)));
  }
  if (option.name == "-S") {
    return fail(fmt::format("env -S: give its words by themselves: slurmtune tune -- {} …",
                            option.value.empty() ? "deepspeed train.py" : option.value));
  }
  return fail(fmt::format("{} is no option of env that is understood; remove it", option.name));
}

/// `env` and its options; the assignments behind it are those of any line.
Expected<void> read_env(std::span<const std::string> words, LinePrefix& prefix) {
  ++prefix.words;
  while (prefix.words < words.size() && words[prefix.words].starts_with('-')) {
    if (words[prefix.words] == "--") {
      ++prefix.words;
      return {};
    }
    const EnvOption option = read_option(words.subspan(prefix.words));
    prefix.words += option.words;
    SLURMTUNE_CHECK(apply_option(option, prefix));
  }
  return {};
}

/// A study.toml, and all that is written of it, holds UTF-8.
Expected<void> check_text(std::span<const std::string> words) {
  using Json = nlohmann::json;
  for (const std::string& word : words) {
    const auto with = [text = Json(word)](Json::error_handler_t handler) {
      return text.dump(-1, ' ', false, handler);
    };
    if (with(Json::error_handler_t::ignore) == with(Json::error_handler_t::replace)) continue;
    return fail(fmt::format("{} is not UTF-8; give the file another name, or the text in UTF-8",
                            with(Json::error_handler_t::replace)));
  }
  return {};
}

/// `bash -c "deepspeed train.py …"`
Expected<void> check_shell(std::span<const std::string> words) {
  if (!is_shell(words.front())) return {};
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (!words[i].starts_with('-') && !words[i].starts_with('+')) return {};
    const bool is_command = !words[i].starts_with("--") && words[i].ends_with('c');
    if (!is_command) continue;
    const std::string line = i + 1 < words.size() ? words[i + 1] : "deepspeed train.py …";
    return fail(fmt::format(
        "{} {} hides the line that starts the training; write that line itself: slurmtune tune -- "
        "{} (what comes before it, as `module load`, belongs into trial.setup of the study)",
        words.front(), words[i], line));
  }
  return {};
}

}  // namespace

Expected<void> check_one_word(const std::string& word) {
  const std::size_t blank = word.find_first_of(blanks);
  if (blank == std::string::npos || blank == 0) return {};
  const std::string first = word.substr(0, blank);
  const bool starts = is_python(first) || launcher_named(first) || is_assignment(first) ||
                      is_shell(first) || first == "env" || word.find(" -") != std::string::npos;
  if (!starts) return {};
  return fail(fmt::format(
      "{} is one word, and no program has that name; write the line without the quotes around it: "
      "slurmtune tune -- {}",
      shell_quote(word), word));
}

Expected<LinePrefix> read_line_prefix(std::span<const std::string> words) {
  SLURMTUNE_CHECK(check_text(words));
  LinePrefix prefix;
  while (prefix.words < words.size()) {
    const std::string& word = words[prefix.words];
    SLURMTUNE_CHECK(check_one_word(word));
    if (is_assignment(word)) {
      const std::size_t equals = word.find('=');
      prefix.env[word.substr(0, equals)] = word.substr(equals + 1);
      ++prefix.words;
    } else if (file_name(word) == "env") {
      SLURMTUNE_CHECK(read_env(words, prefix));
    } else if (is_one_of(word, {"nohup", "time", "exec", "command"})) {
      prefix.notes.push_back(
          fmt::format("{} is left out: slurmtune starts and times the processes itself", word));
      ++prefix.words;
    } else {
      break;
    }
  }
  if (prefix.words >= words.size()) return fail("it names no program");
  SLURMTUNE_CHECK(check_shell(words.subspan(prefix.words)));
  return prefix;
}

}  // namespace slurmtune
