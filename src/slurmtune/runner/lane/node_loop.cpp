// SPDX-License-Identifier: MIT
#include "slurmtune/runner/lane/node_loop.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace slurmtune {

namespace {

constexpr int poll_alone_ms = 50;    ///< nobody can send us anything
constexpr int poll_longest_ms = 10;  ///< between two looks at messages of others
/// What trials write is left in their pipes while more than this waits to be sent: a loud trial is
/// slowed down, and our memory does not grow.
constexpr std::size_t backlog_bytes_max = std::size_t{16} << 20U;

}  // namespace

void NodeLoop::lead(std::unique_ptr<LaneLeader> leader) {
  const int lane = leader->lane();
  leaders_[lane] = std::move(leader);
}

void NodeLoop::route(const Words& message, int from) {
  WordReader words(message);
  const std::string what = words.text();
  if (what == "leave") {
    leaves_ = true;
    return;
  }
  if (what == "stop") {
    told_ = static_cast<EndReason>(words.integer());
    return;
  }
  if (what == "facts") {
    if (dispatcher_ != nullptr) dispatcher_->node(from, words);
    return;
  }
  const int lane = static_cast<int>(words.integer());
  if (what == "host") return host_.obey(lane, words);
  if (dispatcher_ != nullptr) {
    if (what == "next") return dispatcher_->next(lane);
    if (what == "verdict") return dispatcher_->verdict(words);
    if (what == "error") return dispatcher_->error(words);
  }
  const auto leader = leaders_.find(lane);
  if (leader == leaders_.end()) return;
  if (what == "run") {
    const std::string experiment = words.text();
    const int attempt = static_cast<int>(words.integer());
    leader->second->run(experiment, attempt, words);
  } else if (what == "node") {
    const auto node = static_cast<std::size_t>(words.integer());
    leader->second->on_event(node, read_node_event(words));
  }
}

void NodeLoop::wait(bool was_busy) {
  pause_ms_ = was_busy ? 1 : std::min(2 * pause_ms_, poll_longest_ms);
  std::vector<pollfd> descriptors{{stop_.wake_fd(), POLLIN, 0}};
  if (link_.backlog_bytes() < backlog_bytes_max) host_.watch(descriptors);
  const int longest_ms = link_.size() == 1 ? poll_alone_ms : pause_ms_;
  ::poll(descriptors.data(), descriptors.size(), was_busy ? 0 : longest_ms);
  if (descriptors.front().revents != 0) stop_.drain();
}

bool NodeLoop::look_at_host() {
  if (link_.backlog_bytes() >= backlog_bytes_max) return false;
  bool is_busy = false;
  host_.look([&](int lane, const NodeEvent& event) {
    const LanePlace& place = places_.at(static_cast<std::size_t>(lane));
    const auto node = std::find(place.ranks.begin(), place.ranks.end(), link_.rank());
    Words words{"node", std::to_string(lane), std::to_string(node - place.ranks.begin())};
    for (std::string& word : to_words(event)) words.push_back(std::move(word));
    link_.send(place.ranks.front(), words);
    is_busy = true;
  });
  return is_busy;
}

bool NodeLoop::go_on() {
  bool is_busy = look_at_host();
  while (const auto packet = link_.receive()) {
    route(packet->words, packet->from);
    is_busy = true;
  }
  const auto stop = stop_.requested() ? stop_.requested() : told_;
  for (const auto& [lane, leader] : leaders_) leader->go_on(stop);
  if (dispatcher_ == nullptr) return is_busy;
  if (stop && !told_) {
    told_ = stop;
    for (int rank = 1; rank < link_.size(); ++rank) {
      link_.send(rank, {"stop", std::to_string(static_cast<int>(*stop))});
    }
  }
  dispatcher_->go_on(stop);
  return is_busy;
}

void NodeLoop::run_with(Dispatcher& dispatcher) {
  dispatcher_ = &dispatcher;
  for (const auto& [lane, leader] : leaders_) leader->begin();
  for (bool is_busy = true; !dispatcher.is_done(); is_busy = go_on()) wait(is_busy);
  dispatcher_ = nullptr;
}

void NodeLoop::run() {
  for (const auto& [lane, leader] : leaders_) leader->begin();
  for (bool is_busy = true; !leaves_; is_busy = go_on()) wait(is_busy);
}

}  // namespace slurmtune
