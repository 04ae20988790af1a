// SPDX-License-Identifier: MIT
#include "slurmtune/input/launch_line.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include <fmt/core.h>

#include "slurmtune/base/shell_quote.hpp"
#include "slurmtune/base/units.hpp"
#include "slurmtune/input/launch_flags.hpp"
#include "slurmtune/input/launch_names.hpp"
#include "slurmtune/input/launch_prefix.hpp"

namespace slurmtune {

namespace {

using Words = std::vector<std::string>;

tl::unexpected<Error> fail(std::string_view what) {
  return invalid_input(fmt::format("launch line: {}", what));
}

bool starts_programs(LineLauncher launcher) {
  return launcher == LineLauncher::mpi || launcher == LineLauncher::srun;
}

std::string joined(const std::string& flag, const Words& values) {
  Words words{flag};
  words.insert(words.end(), values.begin(), values.end());
  return shell_quote(words);
}

/// Walks over the words of one launch line.
class Parser {
 public:
  explicit Parser(std::span<const std::string> words) : words_(words.begin(), words.end()) {}

  Expected<LaunchLine> parse();

 private:
  Expected<void> read_prefix();
  Expected<void> find_launcher();
  Expected<void> read_flags(LineLauncher launcher);
  Expected<void> read_python();
  Expected<void> apply(const LauncherFlag& row, const std::string& flag, const Words& values);
  Expected<void> set_count(std::optional<GivenCount>& count, const std::string& flag,
                           const std::string& value);
  void apply_exports(const std::string& flag, const std::string& value);
  Expected<void> apply_mapping(const std::string& flag, const std::string& value);
  Expected<void> read_script();
  Expected<LaunchLine> with_program();
  [[nodiscard]] std::optional<GivenCount> own_nodes() const;
  void enter(LineLauncher launcher);

  [[nodiscard]] bool at_end() const { return at_ >= words_.size(); }

  Words words_;
  std::size_t at_ = 0;
  Words python_;  // the interpreter and its own flags, if the line names one
  bool is_module_ = false;
  bool no_python_ = false;
  bool passes_local_rank_ = true;
  LaunchLine line_;
};

Expected<void> Parser::read_prefix() {
  SLURMTUNE_TRY(LinePrefix prefix, read_line_prefix(words_));
  at_ = prefix.words;
  line_.env = std::move(prefix.env);
  line_.setup = std::move(prefix.setup);
  line_.notes = std::move(prefix.notes);
  return {};
}

void Parser::enter(LineLauncher launcher) {
  line_.launcher = launcher;
  const std::string& word = words_[at_++];
  line_.launcher_name = file_name(word);
  // A launcher of an environment runs the Python beside it.
  if (python_.empty() && word.find('/') != std::string::npos && !starts_programs(launcher)) {
    python_ = {word.substr(0, word.rfind('/')) + "/python3"};
  }
}

Expected<void> Parser::find_launcher() {
  const std::string& word = words_[at_];
  if (is_python(word)) return read_python();
  const auto launcher = launcher_named(word);
  if (!launcher) return {};
  enter(*launcher);
  if (*launcher == LineLauncher::accelerate && line_.launcher_name != "accelerate-launch") {
    if (at_end() || words_[at_] != "launch") {
      return fail("of accelerate only `accelerate launch …` starts a training");
    }
    ++at_;
  }
  return {};
}

/// `python3 -u -m torch.distributed.run …`, `python3 /venv/bin/deepspeed …`, `python3 train.py …`
Expected<void> Parser::read_python() {
  constexpr std::array<std::string_view, 2> with_value{"-W", "-X"};
  std::size_t end = at_ + 1;
  for (; end < words_.size() && words_[end].starts_with('-') && words_[end] != "-m"; ++end) {
    if (words_[end] == "-c" || words_[end] == "-") {
      return fail(fmt::format("`{} {}` runs no script; give one", words_[at_], words_[end]));
    }
    if (std::ranges::find(with_value, words_[end]) != with_value.end()) ++end;
  }
  const bool module = end < words_.size() && words_[end] == "-m";
  const std::size_t named = module ? end + 1 : end;
  if (named >= words_.size()) return fail("Python is given no script");
  python_.assign(words_.begin() + static_cast<std::ptrdiff_t>(at_),
                 words_.begin() + static_cast<std::ptrdiff_t>(end));
  const auto launcher = launcher_named(words_[named]);
  at_ = named;
  if (!launcher || starts_programs(*launcher)) {
    is_module_ = module;
    return {};
  }
  enter(*launcher);
  const bool has_word =
      *launcher == LineLauncher::accelerate && line_.launcher_name != "accelerate.commands.launch";
  if (has_word && !at_end() && words_[at_] == "launch") ++at_;
  return {};
}

Expected<void> Parser::set_count(std::optional<GivenCount>& count, const std::string& flag,
                                 const std::string& value) {
  const std::string from = joined(flag, {value});
  std::string number = value;
  // `2:4` of torchrun, `2-4` of srun.
  if (const std::size_t to = value.find_first_of(":-", 1); to != std::string::npos) {
    number = value.substr(to + 1);
    line_.notes.push_back(fmt::format(
        "{}: a trial has a fixed number of nodes; the largest, {}, is taken", from, number));
  }
  if (value == "gpu" || value == "auto") {
    line_.all_devices = true;
    return {};
  }
  if (value == "-1" && line_.launcher == LineLauncher::deepspeed) return {};
  int parsed = 0;
  const char* end = number.data() + number.size();
  const auto [after, problem] = std::from_chars(number.data(), end, parsed);
  if (problem != std::errc{} || after != end || parsed < 1) {
    return fail(fmt::format("{} is given {}, but takes a number from 1{}", flag,
                            value.empty() ? "nothing" : shell_quote(value),
                            value.empty() ? "; is a shell variable unset?" : ""));
  }
  count = GivenCount{parsed, from};
  return {};
}

Expected<void> Parser::apply(const LauncherFlag& row, const std::string& flag,
                             const Words& values) {
  const std::string value = values.empty() ? "" : values.front();
  constexpr std::array named{FlagMeaning::hostfile, FlagMeaning::hosts, FlagMeaning::venv_script,
                             FlagMeaning::accelerate_config};
  if (value.empty() && std::ranges::find(named, row.meaning) != named.end()) {
    return fail(fmt::format("{} is given nothing; is a shell variable unset?", flag));
  }
  switch (row.meaning) {
    case FlagMeaning::hostfile: line_.hostfile = value; return {};
    case FlagMeaning::hosts: line_.hosts += (line_.hosts.empty() ? "" : ",") + value; return {};
    case FlagMeaning::include: line_.include = value; return {};
    case FlagMeaning::exclude: line_.exclude = value; return {};
    case FlagMeaning::nodes: return set_count(line_.nodes, flag, value);
    case FlagMeaning::processes_per_node: return set_count(line_.processes_per_node, flag, value);
    case FlagMeaning::processes: return set_count(line_.processes, flag, value);
    case FlagMeaning::module: is_module_ = true; return {};
    case FlagMeaning::no_python: no_python_ = true; return {};
    case FlagMeaning::no_local_rank: passes_local_rank_ = false; return {};
    case FlagMeaning::venv_script: line_.setup.push_back("source " + shell_quote(value)); return {};
    case FlagMeaning::autotuning:
      if (value != "tune" && value != "run") {
        return fail(fmt::format("--autotuning takes tune or run, not {}", shell_quote(value)));
      }
      line_.autotuning = value;
      return {};
    case FlagMeaning::ds_config:
      line_.ds_config = value;
      line_.ds_config_from = flag;
      return {};
    case FlagMeaning::accelerate_config: line_.accelerate_config = value; return {};
    case FlagMeaning::variable: line_.env[std::string(row.why)] = value; return {};
    case FlagMeaning::assign:
      if (values.size() == 2) line_.env[value] = values.back();
      if (values.size() == 1 && is_assignment(value)) {
        line_.env[value.substr(0, value.find('='))] = value.substr(value.find('=') + 1);
      }
      return {};
    case FlagMeaning::exports: apply_exports(flag, value); return {};
    case FlagMeaning::map_by: return apply_mapping(flag, value);
    case FlagMeaning::dropped:
      line_.notes.push_back(fmt::format("{} is left out: {}", joined(flag, values), row.why));
      return {};
    case FlagMeaning::silent: return {};
    case FlagMeaning::refused: return fail(fmt::format("{}: {}", flag, row.why));
  }
  return {};
}

/// `--export=ALL,NAME=VALUE`
void Parser::apply_exports(const std::string& flag, const std::string& value) {
  std::string_view left = value;
  while (!left.empty()) {
    const std::string_view item = left.substr(0, left.find(','));
    left.remove_prefix(std::min(left.size(), item.size() + 1));
    if (is_assignment(item)) {
      const std::size_t equals = item.find('=');
      line_.env[std::string(item.substr(0, equals))] = item.substr(equals + 1);
    } else if (item != "ALL") {
      line_.notes.push_back(fmt::format(
          "{} is left out: trials get the whole environment of their job", joined(flag, {value})));
      return;
    }
  }
}

/// `--map-by ppr:4:node` gives each node four processes, `--map-by node` takes turns.
Expected<void> Parser::apply_mapping(const std::string& flag, const std::string& value) {
  constexpr std::string_view per_node = "ppr:";
  const std::string_view what = std::string_view(value).substr(0, value.find(','));
  if (what.starts_with(per_node)) {
    const std::string_view count = what.substr(4, what.find(':', 4) - 4);
    if (what.substr(4 + count.size()).starts_with(":node")) {
      SLURMTUNE_CHECK(set_count(line_.processes_per_node, flag, std::string(count)));
      line_.processes_per_node->from = joined(flag, {value});
      return {};
    }
  }
  line_.by_node = line_.by_node || value.empty() || what == "node" || what.starts_with("node:");
  if (!line_.by_node) {
    line_.notes.push_back(
        fmt::format("{} is left out: {}", joined(flag, {value}), why_own_binding));
  }
  return {};
}

Expected<void> Parser::read_flags(LineLauncher launcher) {
  for (; !at_end() && words_[at_].size() > 1 && words_[at_].front() == '-'; ++at_) {
    const std::string& word = words_[at_];
    if (word == "--") {
      ++at_;
      break;
    }
    if (looks_unexpanded(word)) {
      return fail(
          fmt::format("{} holds a variable that the shell did not expand; write it "
                      "without single quotes",
                      word));
    }
    std::string flag = word.substr(0, word.find('='));
    Words values;
    if (flag.size() < word.size()) values.push_back(word.substr(flag.size() + 1));
    const LauncherFlag* row = find_launcher_flag(flag, launcher);
    // `-N2`
    if (row == nullptr && word.size() > 2 && word[1] != '-') {
      flag = word.substr(0, 2);
      row = find_launcher_flag(flag, launcher);
      if (row != nullptr && row->arity == FlagArity::one) values = {word.substr(2)};
    }
    if (row == nullptr) {
      std::vector<std::string_view> known;
      for (const LauncherFlag& other : flags_of(launcher)) known.push_back(other.name);
      const std::string_view nearest = nearest_word(flag, known);
      return fail(fmt::format(
          "{} is no flag of {} that is understood{}; remove it, or put it behind the script", flag,
          line_.launcher_name, nearest.empty() ? "" : fmt::format(" (did you mean {}?)", nearest)));
    }
    const bool attached = row->arity == FlagArity::attached;
    const std::size_t wanted = attached ? values.size() : static_cast<std::size_t>(row->arity);
    while (values.size() < wanted) {
      if (++at_ >= words_.size()) return fail(fmt::format("{} lacks its value", flag));
      values.push_back(words_[at_]);
    }
    if (values.size() > wanted) return fail(fmt::format("{} takes no value", flag));
    SLURMTUNE_CHECK(apply(*row, flag, values));
  }
  return {};
}

Expected<void> Parser::read_script() {
  if (at_end()) return fail(fmt::format("{} is given no script", line_.launcher_name));
  line_.script = words_[at_++];
  if (line_.script.empty() || looks_unexpanded(line_.script)) {
    return fail(fmt::format("the script is {}; is a shell variable unset?",
                            line_.script.empty() ? "an empty word" : line_.script));
  }
  SLURMTUNE_CHECK(check_one_word(line_.script));
  const bool launched = line_.launcher != LineLauncher::none && !starts_programs(line_.launcher);
  if (launched && launcher_named(line_.script)) {
    return fail(fmt::format("{} starts {}, which starts processes itself; give the line of one",
                            line_.launcher_name, line_.script));
  }
  if (launched && !no_python_) {
    line_.prefix = python_.empty() ? Words{"python3"} : python_;
    if (std::ranges::find(line_.prefix, "-u") == line_.prefix.end()) line_.prefix.push_back("-u");
  } else if (!no_python_) {
    line_.prefix = python_;
  }
  if (is_module_) line_.prefix.emplace_back("-m");
  if (passes_local_rank_ && line_.launcher == LineLauncher::deepspeed) {
    line_.local_rank_flag = "--local_rank";
  }
  if (passes_local_rank_ && line_.launcher == LineLauncher::torch_launch) {
    line_.local_rank_flag = "--local-rank";
    line_.notes.emplace_back(
        "torch.distributed.launch gives --local-rank (before torch 2.0: --local_rank); change it "
        "in the study if the script asks for the other");
  }
  line_.arguments.assign(words_.begin() + static_cast<std::ptrdiff_t>(at_), words_.end());
  return check_arguments(line_);
}

/// The nodes on each of which mpirun or srun start another launcher.
std::optional<GivenCount> Parser::own_nodes() const {
  const auto& each = line_.processes_per_node;
  if (line_.nodes || !line_.processes || !each) return line_.nodes;
  if (line_.processes->value % each->value != 0) return std::nullopt;
  return GivenCount{line_.processes->value / each->value,
                    line_.processes->from + ", " + each->from};
}

/// What mpirun or srun start: a program, or one of the other launchers on each node.
Expected<LaunchLine> Parser::with_program() {
  if (at_end()) return fail(fmt::format("{} is given no program", line_.launcher_name));
  // Both take a `:` anywhere for the beginning of another program with other resources.
  if (std::ranges::find(words_, ":") != words_.end()) {
    return fail(fmt::format(
        "{} … : … starts different programs or resources side by side, and all processes of a "
        "trial are alike; give the line of one program",
        line_.launcher_name));
  }
  SLURMTUNE_TRY(LaunchLine inner, parse_launch_line(std::span(words_).subspan(at_)));
  if (starts_programs(inner.launcher)) {
    return fail(fmt::format("{} starts {}, which starts processes itself; give the line of one",
                            line_.launcher_name, inner.launcher_name));
  }
  if (inner.launcher == LineLauncher::none) {
    inner.launcher = line_.launcher;
    inner.launcher_name = line_.launcher_name;
    inner.processes_per_node = line_.processes_per_node;
    inner.processes = line_.processes;
    inner.hostfile = line_.hostfile;
    inner.hosts = line_.hosts;
    inner.by_node = line_.by_node;
    inner.nodes = line_.nodes;
  }
  // One of `srun torchrun …` on each node: the nodes are srun's.
  if (inner.launcher != line_.launcher && !inner.nodes) inner.nodes = own_nodes();
  for (const auto& [name, value] : line_.env) inner.env.emplace(name, value);
  inner.setup.insert(inner.setup.begin(), line_.setup.begin(), line_.setup.end());
  inner.notes.insert(inner.notes.begin(), line_.notes.begin(), line_.notes.end());
  return inner;
}

Expected<LaunchLine> Parser::parse() {
  if (words_.empty()) {
    return fail(
        "nothing stands after --; write what you type to train, e.g. slurmtune tune -- "
        "deepspeed train.py --deepspeed ds_config.json");
  }
  SLURMTUNE_CHECK(read_prefix());
  SLURMTUNE_CHECK(find_launcher());
  if (line_.launcher != LineLauncher::none) SLURMTUNE_CHECK(read_flags(line_.launcher));
  if (starts_programs(line_.launcher)) {
    return with_program();
  }
  SLURMTUNE_CHECK(read_script());
  return std::move(line_);
}

}  // namespace

Expected<LaunchLine> parse_launch_line(std::span<const std::string> argv) {
  return Parser(argv).parse();
}

}  // namespace slurmtune
