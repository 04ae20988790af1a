// SPDX-License-Identifier: MIT
#include "slurmtune/runner/start/local_trial.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

namespace slurmtune {

namespace {

constexpr std::size_t pipe_bytes = 65'536;  ///< what a pipe of Linux holds
/// Reads in a row from one output, so that a loud one does not silence the others.
constexpr int reads_max = 16;

Expected<Pipe> output_pipe() {
  SLURMTUNE_TRY(Pipe pipe, make_pipe());
  ::fcntl(pipe.read_end.get(), F_SETFL, O_NONBLOCK);
  return pipe;
}

}  // namespace

Expected<LocalTrial> LocalTrial::begin(Spawner& spawner) {
  LocalTrial trial;
  SLURMTUNE_TRY(trial.socket_, spawner.fork_keeper());
  return trial;
}

Expected<std::vector<std::string>> LocalTrial::open_outputs(int first_index, int count) {
  std::vector<std::string> paths;
  for (int i = 0; i < count; ++i) {
    SLURMTUNE_TRY(Pipe pipe, output_pipe());
    paths.push_back(fmt::format("/proc/{}/fd/{}", ::getpid(), pipe.write_end.get()));
    outputs_.push_back({first_index + i, std::move(pipe.read_end), std::move(pipe.write_end)});
  }
  return paths;
}

Expected<void> LocalTrial::start(int index, const ProcessSpec& spec) {
  SLURMTUNE_TRY(Pipe pipe, output_pipe());
  Words words{"start", std::to_string(index)};
  for (std::string& word : to_words(spec)) words.push_back(std::move(word));
  if (!socket_.send(words, pipe.write_end.get())) {
    return unavailable("the process that keeps a trial was killed");
  }
  outputs_.push_back({index, std::move(pipe.read_end), Descriptor()});
  return {};
}

void LocalTrial::watch(std::vector<pollfd>& descriptors) const {
  if (!gone_) descriptors.push_back({socket_.fd(), POLLIN, 0});
  for (const Output& output : outputs_) {
    if (output.read_end.get() >= 0) descriptors.push_back({output.read_end.get(), POLLIN, 0});
  }
}

void LocalTrial::read_outputs(const Listener& listener) {
  std::array<char, pipe_bytes> buffer;
  for (Output& output : outputs_) {
    for (int i = 0; i < reads_max && output.read_end.get() >= 0; ++i) {
      const ssize_t count = ::read(output.read_end.get(), buffer.data(), buffer.size());
      if (count < 0) break;  // nothing there now
      NodeEvent event;
      event.index = output.index;
      if (count == 0) {
        event.kind = NodeEvent::Kind::output_ended;
        output.read_end.close();
      } else {
        event.text.assign(buffer.data(), static_cast<std::size_t>(count));
      }
      listener(event);
    }
  }
}

std::optional<NodeEvent> LocalTrial::event_of(const Words& message) {
  WordReader words(message);
  const std::string what = words.text();
  NodeEvent event;
  if (what == "keeper") {
    keeper_ = static_cast<pid_t>(words.integer());
    return std::nullopt;
  }
  if (what == "failed") {
    event.kind = NodeEvent::Kind::start_failed;
    event.index = static_cast<int>(words.integer());
    event.text = words.text();
    return event;
  }
  if (what == "ended") return read_node_event(words);
  if (what != "gone" && what != "stuck") return std::nullopt;
  gone_ = true;
  event.kind = what == "gone" ? NodeEvent::Kind::gone : NodeEvent::Kind::stuck;
  return event;
}

void LocalTrial::look(const Listener& listener) {
  // First what happened, then what was written until then, and told the other way round.
  std::vector<NodeEvent> events;
  const bool is_open = gone_ || socket_.read_ready();
  while (const auto message = socket_.next()) {
    if (auto event = event_of(message->words)) events.push_back(std::move(*event));
  }
  if (!is_open && !gone_) {
    // Its keeper was killed, and with it what it had started. There is nobody to tell of the rest.
    gone_ = true;
    NodeEvent event;
    event.kind = NodeEvent::Kind::gone;
    events.push_back(event);
  }
  const bool launcher_ended = std::any_of(events.begin(), events.end(), [](const NodeEvent& event) {
    return event.kind != NodeEvent::Kind::start_failed;
  });
  if (launcher_ended) {
    for (Output& output : outputs_) output.write_end.close();
  }
  read_outputs(listener);
  for (const NodeEvent& event : events) listener(event);
}

void LocalTrial::signal_all(int signal) { socket_.send(Words{"signal", std::to_string(signal)}); }

void LocalTrial::signal_leaders(int signal) {
  socket_.send(Words{"signal-leaders", std::to_string(signal)});
}

void LocalTrial::kill() { socket_.send(Words{"kill"}); }

}  // namespace slurmtune
