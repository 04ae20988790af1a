// SPDX-License-Identifier: MIT
#include <array>
#include <cmath>
#include <optional>

#include <fmt/core.h>

#include "slurmtune/base/instant.hpp"
#include "slurmtune/input/key_table.hpp"
#include "slurmtune/input/named_pattern.hpp"
#include "slurmtune/input/readers.hpp"

namespace slurmtune {

namespace {

const KeyRow& row_of(std::string_view section, std::string_view key) {
  return *study_keys().find(section)->table->find(key);
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// `07:30`
bool is_time_of_day(std::string_view text) {
  if (text.size() != 5 || text[2] != ':') return false;
  if (!is_digit(text[0]) || !is_digit(text[1]) || !is_digit(text[3]) || !is_digit(text[4])) {
    return false;
  }
  const int hour = (text[0] - '0') * 10 + (text[1] - '0');
  return hour < 24 && text[3] < '6';
}

Expected<std::string> read_metric(const Node& node, std::string_view path) {
  if (node.kind == Node::Kind::array) {
    return fail_at(path, node.line, "more than one objective is not supported by this version yet",
                   "use one metric, and subject_to for the others");
  }
  if (trimmed(node.text).empty()) {
    return fail_at(path, node.line, "the objective is empty", "write maximize = \"throughput\"");
  }
  return std::string(trimmed(node.text));
}

}  // namespace

Expected<ObjectiveSpec> read_objective(const Node& node, std::string_view path) {
  ObjectiveSpec objective;
  const Node* maximize = node.find("maximize");
  const Node* minimize = node.find("minimize");
  if (maximize != nullptr && minimize != nullptr) {
    return fail_at(path, minimize->line, "[objective] has both maximize and minimize",
                   "remove one of them");
  }
  if (maximize != nullptr) {
    objective.line = maximize->line;
    SLURMTUNE_TRY(objective.metric, read_metric(*maximize, path));
  } else if (minimize != nullptr) {
    objective.direction = Direction::minimize;
    objective.line = minimize->line;
    SLURMTUNE_TRY(objective.metric, read_metric(*minimize, path));
  }
  if (const Node* limits = node.find("subject_to")) {
    for (const Node& limit : limits->items) {
      if (trimmed(limit.text).empty()) {
        return fail_at(path, limit.line, "an item of subject_to is empty", "remove it");
      }
      objective.subject_to.push_back(ConstraintSpec{limit.text, limit.line});
    }
  }
  return objective;
}

Expected<MeasureSpec> read_measure(const Node& study, std::string_view path) {
  MeasureSpec measure;
  const bool deepspeed = study.find("deepspeed") != nullptr;
  if (deepspeed) measure.source = MeasureSource::deepspeed;
  const Node* section = study.find("measure");
  if (section == nullptr) return measure;
  if (const Node* source = section->find("source")) {
    measure.source =
        static_cast<MeasureSource>(word_index(row_of("measure", "source"), source->text));
    if (measure.source == MeasureSource::deepspeed && !deepspeed) {
      return fail_at(path, source->line, "source = \"deepspeed\" needs a section [deepspeed]",
                     "add it, or write source = \"metrics_file\"");
    }
  }
  const Node* pattern = section->find("pattern");
  if (pattern != nullptr && measure.source != MeasureSource::pattern) {
    return fail_at(path, pattern->line, "a pattern is used only with source = \"pattern\"",
                   "write source = \"pattern\", or remove it");
  }
  if (measure.source == MeasureSource::pattern) {
    measure.pattern = text_or(*section, "pattern", "");
    if (measure.pattern.find("(?<") == std::string::npos &&
        measure.pattern.find("(?P<") == std::string::npos) {
      return fail_at(path, pattern != nullptr ? pattern->line : section->find("source")->line,
                     "source = \"pattern\" needs a pattern with named groups",
                     fmt::format("write {}", row_of("measure", "pattern").example));
    }
    if (const auto compiled = compile_named_pattern(measure.pattern); !compiled) {
      return fail_at(path, pattern->line,
                     fmt::format("measure.pattern '{}' cannot be used: {}", measure.pattern,
                                 compiled.error().message),
                     fmt::format("write e.g. {}", row_of("measure", "pattern").example));
    }
  }
  measure.min_steps = static_cast<int>(integer_or(*section, "min_steps", measure.min_steps));
  measure.max_steps = static_cast<int>(integer_or(*section, "max_steps", measure.max_steps));
  // One of the two given alone moves the other's default along.
  if (section->find("max_steps") == nullptr) {
    measure.max_steps = std::max(measure.max_steps, measure.min_steps);
  } else if (section->find("min_steps") == nullptr) {
    measure.min_steps = std::min(measure.max_steps, measure.min_steps);
  } else if (measure.min_steps > measure.max_steps) {
    return fail_at(path, section->find("min_steps")->line,
                   fmt::format("min_steps = {} is more than max_steps = {}", measure.min_steps,
                               measure.max_steps),
                   "lower the one or raise the other");
  }
  measure.interval = real_or(*section, "interval", measure.interval);
  measure.startup_s = real_or(*section, "startup_s", measure.startup_s);
  measure.stall_s = real_or(*section, "stall_s", measure.stall_s);
  measure.total_s = real_or(*section, "total_s", measure.total_s);
  const Node* total = section->find("total_s");
  measure.limit_line = section->line;
  for (const char* key : {"stall_s", "startup_s", "total_s"}) {
    if (const Node* limit = section->find(key)) measure.limit_line = limit->line;
  }
  if (total != nullptr && section->find("startup_s") != nullptr &&
      measure.total_s < measure.startup_s) {
    return fail_at(
        path, total->line,
        fmt::format("total_s = {} is less than startup_s = {}", measure.total_s, measure.startup_s),
        "raise the one or lower the other");
  }
  return measure;
}

Expected<SearchSpec> read_search(const Node& study, std::string_view path) {
  SearchSpec search;
  const Node* section = study.find("search");
  if (section == nullptr) return search;
  if (const Node* strategy = section->find("strategy")) {
    search.strategy =
        static_cast<StrategyKind>(word_index(row_of("search", "strategy"), strategy->text));
    if (search.strategy == StrategyKind::deepspeed && study.find("deepspeed") == nullptr) {
      return fail_at(path, strategy->line, "strategy = \"deepspeed\" needs a section [deepspeed]",
                     "add it, or write strategy = \"grid\"");
    }
  }
  search.rounds = static_cast<int>(integer_or(*section, "rounds", search.rounds));
  search.width = static_cast<int>(integer_or(*section, "width", search.width));
  search.stop_gain = real_or(*section, "stop_gain", search.stop_gain);
  search.knob_experiments = integer_or(*section, "knob_experiments", search.knob_experiments);
  search.knob_patience = integer_or(*section, "knob_patience", search.knob_patience);
  return search;
}

Expected<BudgetSpec> read_budget(const Node& node, std::string_view path) {
  BudgetSpec budget;
  budget.max_node_hours = real_at(node, "max_node_hours");
  budget.max_gpu_hours = real_at(node, "max_gpu_hours");
  const auto line_of = [&](const char* key) {
    const Node* value = node.find(key);
    return value == nullptr ? 0 : value->line;
  };
  budget.max_node_hours_line = line_of("max_node_hours");
  budget.max_gpu_hours_line = line_of("max_gpu_hours");
  budget.max_experiments_line = line_of("max_experiments");
  budget.max_concurrent_nodes_line = line_of("max_concurrent_nodes");
  if (const Node* experiments = node.find("max_experiments")) {
    budget.max_experiments = experiments->as_integer();
  }
  if (const Node* nodes = node.find("max_concurrent_nodes")) {
    budget.max_concurrent_nodes = static_cast<int>(nodes->as_integer());
  }
  if (const Node* finish = node.find("finish_by")) {
    budget.finish_by = finish->text;
    budget.finish_by_line = finish->line;
    if (!is_time_of_day(finish->text) && !parse_instant(finish->text)) {
      return fail_at(path, finish->line,
                     fmt::format("budget.finish_by = \"{}\" is not a time", finish->text),
                     "write \"07:30\" or \"2026-12-01T07:30:00+01:00\"");
    }
  }
  if (const Node* window = node.find("window")) {
    budget.window_line = window->line;
    const auto hours = parse_daily_hours(window->text);
    if (!hours) {
      return invalid_input(
          fmt::format("{}:{}: budget.window = {}", path, window->line, hours.error().message));
    }
    budget.window = *hours;
  }
  if (const Node* over = node.find("if_over")) {
    budget.if_over = over->text == "refuse" ? OverBudget::refuse : OverBudget::trim;
  }
  return budget;
}

TrainingSpec read_training(const Node& node) {
  TrainingSpec training;
  training.line = node.line;
  if (const Node* minutes = node.find("walltime_minutes")) {
    training.line = minutes->line;
    training.walltime_s = std::llround(minutes->as_real() * 60.0);
  }
  return training;
}

}  // namespace slurmtune
