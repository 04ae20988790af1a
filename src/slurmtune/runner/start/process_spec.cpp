// SPDX-License-Identifier: MIT
#include "slurmtune/runner/start/process_spec.hpp"

#include <fmt/format.h>

namespace slurmtune {

namespace {

constexpr int none = -1;

std::string number_or_none(const std::optional<int>& number) {
  return std::to_string(number.value_or(none));
}

std::optional<int> read_number(WordReader& words) {
  const auto number = static_cast<int>(words.integer());
  return number == none ? std::nullopt : std::optional<int>(number);
}

}  // namespace

Words to_words(const ProcessSpec& spec) {
  Words words{spec.workdir, spec.remote == RemoteEnding::interrupt ? "interrupt" : "none"};
  append_list(words, spec.argv);
  append_list(words, environment_entries(spec.environment));
  for (const int cpu : spec.cpus) words.push_back(std::to_string(cpu));
  return words;
}

ProcessSpec read_process_spec(WordReader& words) {
  ProcessSpec spec;
  spec.workdir = words.text();
  spec.remote = words.text() == "interrupt" ? RemoteEnding::interrupt : RemoteEnding::none;
  spec.argv = words.list();
  for (const std::string& entry : words.list()) {
    const std::size_t equals = entry.find('=');
    if (equals != std::string::npos) {
      spec.environment[entry.substr(0, equals)] = entry.substr(equals + 1);
    }
  }
  while (!words.rest().empty()) spec.cpus.push_back(static_cast<int>(words.integer()));
  return spec;
}

Words to_words(const NodeEvent& event) {
  return {std::to_string(static_cast<int>(event.kind)),
          std::to_string(event.index),
          event.text,
          number_or_none(event.end.exit_code),
          number_or_none(event.end.signal),
          fmt::format("{}", event.end.peak_bytes),
          std::to_string(event.oom_kills)};
}

NodeEvent read_node_event(WordReader& words) {
  NodeEvent event;
  event.kind = static_cast<NodeEvent::Kind>(words.integer());
  event.index = static_cast<int>(words.integer());
  event.text = words.text();
  event.end.exit_code = read_number(words);
  event.end.signal = read_number(words);
  event.end.peak_bytes = words.real();
  event.oom_kills = words.integer();
  return event;
}

}  // namespace slurmtune
