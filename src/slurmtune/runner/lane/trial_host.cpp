// SPDX-License-Identifier: MIT
#include "slurmtune/runner/lane/trial_host.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "slurmtune/runner/judge/kernel_oom.hpp"
#include "slurmtune/runner/start/rank_env.hpp"

namespace slurmtune {

namespace {

constexpr std::chrono::milliseconds first_sample_after{50};
constexpr std::chrono::seconds sample_every{1};

NodeEvent start_failure(int index, std::string why) {
  NodeEvent event;
  event.kind = NodeEvent::Kind::start_failed;
  event.index = index;
  event.text = std::move(why);
  return event;
}

NodeEvent nothing_left() {
  NodeEvent event;
  event.kind = NodeEvent::Kind::gone;
  return event;
}

}  // namespace

TrialHost::TrialHost(Spawner& spawner, Environment own)
    : spawner_(spawner), own_(std::move(own)), caches_(own_) {
  if (auto nvml = Nvml::load()) nvml_ = *std::move(nvml);
}

void TrialHost::begin(int lane) {
  auto trial = LocalTrial::begin(spawner_);
  if (!trial) {
    refused_[lane] = start_failure(0, trial.error().message);
    return;
  }
  Hosted hosted{std::move(*trial), {}, {}, kernel_oom_kills(), std::nullopt, {}};
  hosted_.insert_or_assign(lane, std::move(hosted));
}

void TrialHost::start(Hosted& hosted, WordReader& words) {
  const int index = static_cast<int>(words.integer());
  const Words node_variables = words.list();
  ProcessSpec spec = read_process_spec(words);
  for (const std::string& name : node_variables) {
    const auto value = variable(own_, name);
    if (value) {
      spec.environment[name] = *value;
    } else {
      spec.environment.erase(name);
    }
  }
  caches_.add_to(spec.environment);
  if (!hosted.rank_outputs.empty()) {
    spec.environment[rank_outputs_variable] =
        fmt::format("{}", fmt::join(hosted.rank_outputs, ":"));
  }
  if (!hosted.usage) {
    hosted.usage = UsageMeter::start(spec.environment);
    hosted.next_sample = std::chrono::steady_clock::now() + first_sample_after;
  }
  const auto started = hosted.trial.start(index, spec);
  if (!started) hosted.to_tell.push_back(start_failure(index, started.error().message));
}

void TrialHost::obey(int lane, WordReader& words) {
  const std::string what = words.text();
  if (what == "begin") return begin(lane);
  const auto found = hosted_.find(lane);
  if (found == hosted_.end()) return;  // it is gone, or could not begin
  Hosted& hosted = found->second;
  if (what == "outputs") {
    const int first = static_cast<int>(words.integer());
    const int count = static_cast<int>(words.integer());
    auto paths = hosted.trial.open_outputs(first, count);
    // Without them the launcher hands on what the ranks write.
    if (paths) hosted.rank_outputs = std::move(*paths);
  } else if (what == "start") {
    start(hosted, words);
  } else if (what == "signal") {
    hosted.trial.signal_all(static_cast<int>(words.integer()));
  } else if (what == "signal-leaders") {
    hosted.trial.signal_leaders(static_cast<int>(words.integer()));
  } else if (what == "kill") {
    hosted.trial.kill();
  }
}

void TrialHost::watch(std::vector<pollfd>& descriptors) const {
  for (const auto& [lane, hosted] : hosted_) hosted.trial.watch(descriptors);
}

void TrialHost::sample(Hosted& hosted) {
  const auto now = std::chrono::steady_clock::now();
  if (!hosted.usage || !hosted.trial.keeper() || now < hosted.next_sample) return;
  hosted.next_sample = now + sample_every;
  hosted.usage->sample(descendants(*hosted.trial.keeper()));
}

void TrialHost::look(const Teller& tell) {
  for (const auto& [lane, failure] : std::exchange(refused_, {})) {
    tell(lane, failure);
    tell(lane, nothing_left());
  }
  for (auto at = hosted_.begin(); at != hosted_.end();) {
    Hosted& hosted = at->second;
    const int lane = at->first;
    for (const NodeEvent& event : std::exchange(hosted.to_tell, {})) tell(lane, event);
    sample(hosted);
    hosted.trial.look([&](NodeEvent event) {
      if (event.kind == NodeEvent::Kind::gone || event.kind == NodeEvent::Kind::stuck) {
        event.oom_kills = std::max<long long>(0, kernel_oom_kills() - hosted.oom_kills_before);
        if (hosted.usage) event.text = render_usage(hosted.usage->usage()).value_or("");
      }
      tell(lane, event);
    });
    at = hosted.trial.is_gone() ? hosted_.erase(at) : std::next(at);
  }
}

}  // namespace slurmtune
