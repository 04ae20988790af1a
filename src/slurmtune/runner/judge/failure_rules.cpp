// SPDX-License-Identifier: MIT
#include "slurmtune/runner/judge/failure_rules.hpp"

#include <array>
#include <charconv>
#include <csignal>
#include <regex>
#include <vector>

namespace slurmtune {

namespace {

// std::regex recurses once a character.
constexpr std::size_t line_bytes_max = 2048;

const std::vector<std::regex>& expressions() {
  static const std::vector<std::regex> compiled = [] {
    std::vector<std::regex> all;
    for (const FailureRule& rule : failure_rules()) {
      all.emplace_back(rule.expression, std::regex::ECMAScript);
    }
    return all;
  }();
  return compiled;
}

bool matches(const std::regex& expression, std::string_view line) {
  const std::string_view text = line.substr(0, line_bytes_max);
  return std::regex_search(text.begin(), text.end(), expression);
}

bool applies(const FailureRule& rule, const FailureContext& context) {
  switch (rule.scope) {
    case RuleScope::any: return true;
    case RuleScope::before_first_step: return !context.had_steps;
    case RuleScope::no_rank_failed: return !context.rank_failed;
    case RuleScope::exit_2: return !context.had_steps && context.exit_code == 2;
    case RuleScope::memory_short: return context.memory_short;
  }
  return false;
}

bool is_consequence(std::string_view line) {
  const auto rules = failure_rules();
  for (std::size_t i = 0; i < rules.size(); ++i) {
    if (rules[i].kind == RuleKind::consequence && matches(expressions()[i], line)) return true;
  }
  return false;
}

bool looks_like_error(std::string_view line) {
  static const std::regex error_form(
      R"(^([A-Za-z_]\w*\.)*[A-Za-z_]\w*(Error|Exception|Interrupt)(:|$))"
      R"(|^\S+: ([Ff]atal |FATAL )?[Ee]rror|^terminate called|^[Ff]atal)"
      R"(|: [Ee]rror: |[Aa]ssertion .*failed)");
  return matches(error_form, line);
}

/// Whose lines are looked at.
enum class Speaker { failed_rank, unknown, other_rank };

/// The lines of a failed trial, and who wrote each.
struct FailureText {
  std::span<const std::string> lines;
  std::span<const std::optional<int>> ranks;
  const FailureContext& context;

  [[nodiscard]] Speaker speaker(std::size_t line) const {
    if (line >= ranks.size() || !ranks[line] || !context.rank) return Speaker::unknown;
    return ranks[line] == context.rank ? Speaker::failed_rank : Speaker::other_rank;
  }
};

/// The first rule of `kind` that matches a line that `wanted` takes.
template <class Wanted>
std::optional<RuleMatch> first_match(const FailureText& text, RuleKind kind, Wanted wanted) {
  const auto rules = failure_rules();
  for (std::size_t i = 0; i < rules.size(); ++i) {
    if (rules[i].kind != kind || !applies(rules[i], text.context)) continue;
    for (std::size_t step = 0; step < text.lines.size(); ++step) {
      // The first of several is the cause; but what refuses its arguments says so at the end.
      const bool backwards = rules[i].scope == RuleScope::exit_2;
      const std::size_t at = backwards ? text.lines.size() - 1 - step : step;
      if (wanted(at) && matches(expressions()[i], text.lines[at])) return RuleMatch{&rules[i], at};
    }
  }
  return std::nullopt;
}

bool is_own_fault(std::optional<int> signal) {
  return signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGILL;
}

/// Whether nothing but consequences was said by the rank that failed, or by unknown ones.
bool only_consequences(const FailureText& text) {
  for (std::size_t at = 0; at < text.lines.size(); ++at) {
    const std::string& line = text.lines[at];
    if (text.speaker(at) == Speaker::other_rank || is_launcher_line(line)) continue;
    if (looks_like_error(line) && !is_consequence(line)) return false;
  }
  return true;
}

/// The number at the start, and what follows it.
std::optional<int> take_number(std::string_view& text) {
  int value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc{} || text.front() == '-') return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

bool take(std::string_view& text, std::string_view head) {
  if (!text.starts_with(head)) return false;
  text.remove_prefix(head.size());
  return true;
}

}  // namespace

OutputLine strip_prefix(std::string_view line) {
  std::string_view text = line;
  if (take(text, "[rank")) {  // torch 2.2 and later
    const auto rank = text.empty() ? std::nullopt : take_number(text);
    if (rank && take(text, "]:")) {
      take(text, " ");
      return {text, rank};
    }
  }
  text = line;
  if (take(text, "[")) {  // mpirun --tag-output: [job,rank]<stdout>:
    const auto job = text.empty() ? std::nullopt : take_number(text);
    if (job && take(text, ",") && !text.empty()) {
      const auto rank = take_number(text);
      const bool tagged = take(text, "]<stdout>:") || take(text, "]<stderr>:");
      if (rank && tagged) return {text, rank};
    }
  }
  text = line;
  if (take(text, "[default") && !text.empty()) {  // torchrun --tee: a local rank
    if (take_number(text) && take(text, "]:")) return {text, std::nullopt};
  }
  text = line;
  while (take(text, " ")) continue;  // srun --label pads the rank
  if (!text.empty()) {
    const auto rank = take_number(text);
    if (rank && take(text, ": ")) return {text, rank};
  }
  return {line, std::nullopt};
}

std::optional<RuleMatch> match_failure(std::span<const std::string> lines,
                                       std::span<const std::optional<int>> ranks,
                                       const FailureContext& context) {
  const FailureText text{lines, ranks, context};
  const auto by = [&](Speaker speaker) {
    return [&text, speaker](std::size_t line) { return text.speaker(line) == speaker; };
  };
  const auto anybody = [](std::size_t) { return true; };
  if (const auto match = first_match(text, RuleKind::system, anybody)) return match;
  for (const Speaker speaker : {Speaker::failed_rank, Speaker::unknown, Speaker::other_rank}) {
    if (speaker == Speaker::other_rank && is_own_fault(context.signal)) continue;
    if (const auto match = first_match(text, RuleKind::cause, by(speaker))) return match;
  }
  const bool explained = context.signal && context.signal != SIGABRT;
  if (explained || !only_consequences(text)) return std::nullopt;
  const auto own = first_match(text, RuleKind::consequence, by(Speaker::failed_rank));
  return own ? own : first_match(text, RuleKind::consequence, by(Speaker::unknown));
}

std::optional<RuleMatch> match_failure(std::span<const std::string> lines,
                                       const FailureContext& context) {
  return match_failure(lines, {}, context);
}

bool is_launcher_line(std::string_view line) {
  constexpr std::array<std::string_view, 17> beginnings{"-----",
                                                        "mpirun ",
                                                        "MPI_ABORT was invoked",
                                                        "with errorcode ",
                                                        "NOTE: invoking MPI_ABORT",
                                                        "You may or may not see output",
                                                        "Primary job ",
                                                        "Per user-direction, the job",
                                                        "a non-zero exit code",
                                                        "  Process name:",
                                                        "  Exit code:",
                                                        "exiting without calling",
                                                        "srun: ",
                                                        "slurmstepd: ",
                                                        "slurmstepd-",
                                                        "Killed by signal",
                                                        "exactly when Open MPI kills"};
  for (const std::string_view beginning : beginnings) {
    if (line.starts_with(beginning)) return true;
  }
  return line.find("a non-zero exit code. Per user-direction") != std::string_view::npos ||
         line.find("[[") == 0;
}

std::string_view telling_line(std::span<const std::string> lines) {
  std::string_view last;
  for (std::size_t back = 1; back <= lines.size(); ++back) {
    const std::string& line = lines[lines.size() - back];
    if (is_launcher_line(line)) continue;
    if (line.find_first_not_of(" \t") == std::string::npos) continue;
    if (looks_like_error(line) && !is_consequence(line)) return line;
    if (last.empty()) last = line;
  }
  if (last.empty() && !lines.empty()) last = lines.back();
  return last;
}

}  // namespace slurmtune
