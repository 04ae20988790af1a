// SPDX-License-Identifier: MIT
#include "slurmtune/runner/lane/lane_leader.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "slurmtune/record/verdict.hpp"
#include "slurmtune/runner/experiment_verdict.hpp"
#include "slurmtune/runner/lane/node_report.hpp"
#include "slurmtune/runner/wall_clock.hpp"

namespace slurmtune {

namespace {

constexpr int dispatcher = 0;

Words to_words(int lane, const Verdict& verdict, const std::string& line) {
  return {
      "verdict",
      std::to_string(lane),
      std::to_string(static_cast<int>(verdict.outcome)),
      fmt::format("{}", verdict.wall_s),
      fmt::format("{} {} {}", verdict.experiment.text, name_of(verdict.outcome), verdict.reason),
      verdict.evidence ? verdict.evidence->line : "",
      line};
}

}  // namespace

void LaneLeader::begin() { link_.send(dispatcher, {"next", std::to_string(frame_.lane)}); }

void LaneLeader::send(const Verdict& verdict) {
  const auto line = render_shard_line(verdict);
  if (!line) return fail(line.error());
  link_.send(dispatcher, to_words(frame_.lane, verdict, *line));
  begin();
}

void LaneLeader::fail(const Error& error) {
  trial_.reset();
  link_.send(dispatcher, {"error", std::to_string(frame_.lane),
                          std::to_string(static_cast<int>(error.kind)), error.message});
}

void LaneLeader::take(const Expected<void>& done) {
  if (!done) fail(done.error());
}

void LaneLeader::run(const std::string& experiment, int attempt, WordReader& nodes) {
  const auto& all = frame_.files.manifest->experiments;
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const Experiment& one) { return one.id.text == experiment; });
  if (found == all.end()) {
    return fail({ErrorKind::corrupt_data,
                 fmt::format("the manifest on this node has no experiment {}; its file system lags "
                             "behind",
                             experiment)});
  }
  std::vector<NodeRecord> records;
  while (!nodes.rest().empty()) records.push_back(read_node_report(nodes).record);
  frame_.hardware = hardware_of(records);
  experiment_ = *found;
  experiment_.attempt = attempt;
  started_ = wall_clock();
  port_tries_ = 0;
  if (refusal_) {
    return send(verdict_without_trial(frame_, experiment_, Outcome::launch_error, "setup",
                                      refusal_->message, started_));
  }
  take(start());
}

Expected<void> LaneLeader::start() {
  auto run = set_up_trial(frame_, experiment_, port_tries_);
  if (!run && run.error().kind == ErrorKind::invalid_input) {
    send(verdict_without_trial(frame_, experiment_, Outcome::config_error, "render",
                               run.error().message, started_));
    return {};
  }
  if (!run) return tl::unexpected<Error>(run.error());
  SLURMTUNE_TRY(trial_,
                LaneTrial::begin(std::move(*run), [this](std::size_t node, const Words& command) {
                  Words words{"host", std::to_string(frame_.lane)};
                  words.insert(words.end(), command.begin(), command.end());
                  link_.send(frame_.place.ranks.at(node), words);
                }));
  return {};
}

void LaneLeader::on_event(std::size_t node, const NodeEvent& event) {
  if (trial_) take(trial_->on_event(node, event));
}

void LaneLeader::go_on(std::optional<EndReason> stop) {
  if (!trial_) return;
  take(trial_->go_on(stop));
  if (trial_ && trial_->is_done()) finish();
}

void LaneLeader::finish() {
  auto result = trial_->result();
  if (!result) return fail(result.error());
  trial_.reset();
  const bool port_was_taken =
      result->verdict.outcome == Outcome::launch_error && result->verdict.reason == "rule:port";
  // Somebody else was faster; that says nothing about the experiment.
  if (port_was_taken && ++port_tries_ < port_tries_max) return take(start());
  send(verdict_of(frame_, experiment_, *result, started_, wall_clock()));
}

}  // namespace slurmtune
