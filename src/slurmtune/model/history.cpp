// SPDX-License-Identifier: MIT
#include "slurmtune/model/history.hpp"

#include <algorithm>
#include <set>
#include <string_view>
#include <tuple>

namespace slurmtune {

namespace {

/// Final: nothing that comes later can say more about the experiment.
bool is_final(const Verdict& verdict) {
  const OutcomeRule& rule = rule_of(verdict.outcome);
  return rule.counts_as_tried && rule.retry == Retry::never;
}

bool counts_against(const Verdict& verdict) {
  return rule_of(verdict.outcome).retry != Retry::while_budget_lasts;
}

/// What orders two verdicts of one experiment, without hosts and times: the last is believed.
auto precedence(const Verdict& verdict) {
  const double slowness = verdict.metrics.step_s ? verdict.metrics.step_s->mid : 0.0;
  const std::string_view line =
      verdict.evidence ? std::string_view(verdict.evidence->line) : std::string_view();
  return std::tuple(is_final(verdict), !is_stand_in(verdict), verdict.attempt,
                    counts_against(verdict), static_cast<int>(verdict.outcome), slowness,
                    std::string_view(verdict.reason), line);
}

bool is_loss(const Verdict& verdict) {
  if (verdict.reason == retried_try) return false;
  if (verdict.outcome == Outcome::not_started) return is_stand_in(verdict);
  return losses_max(verdict.outcome) > 0;
}

}  // namespace

bool is_stand_in(const Verdict& verdict) {
  return verdict.reason == lost_task || verdict.reason == lost_for_good;
}

int losses_max(Outcome outcome) {
  switch (outcome) {
    case Outcome::cancelled: return 2;
    case Outcome::node_failure:
    case Outcome::not_started: return 3;
    // Where jobs are preempted they are preempted often, and their owners know it.
    case Outcome::preempted: return 10;
    default: return 0;
  }
}

Outcome Trial::outcome() const {
  if (!verdict) return Outcome::not_started;
  if (verdict->outcome == Outcome::launch_error && !wants_another_try()) {
    return Outcome::config_error;
  }
  return verdict->outcome;
}

bool Trial::wants_another_try() const {
  if (!verdict) return true;
  if (verdict->outcome == Outcome::not_started && verdict->reason == "dropped") return false;
  return is_tried_again(verdict->outcome, tries) && !is_given_up();
}

bool Trial::is_given_up() const {
  if (!verdict || rule_of(verdict->outcome).retry != Retry::while_budget_lasts) return false;
  if (verdict->reason == lost_for_good || verdict->reason == cancelled_by_owner) return true;
  if (!is_loss(*verdict)) return false;
  const auto lost = losses.find(verdict->outcome);
  return lost != losses.end() && lost->second >= losses_max(verdict->outcome);
}

bool Trial::worked() const { return verdict && rule_of(verdict->outcome).rankable; }

void History::add(const Manifest& manifest, std::span<const Verdict> verdicts) {
  std::map<ExperimentId, std::vector<const Verdict*>> found;
  for (const Verdict& verdict : verdicts) found[verdict.experiment].push_back(&verdict);
  for (const Experiment& experiment : manifest.experiments) {
    const auto [at, is_new] = by_experiment_.try_emplace(experiment.id, trials_.size());
    if (is_new) {
      trials_.emplace_back().asked_by = experiment.purpose;
      by_configuration_.emplace(experiment.configuration_id, at->second);
    }
    Trial& trial = trials_[at->second];
    trial.experiment = experiment;
    trial.last_attempt = std::max(trial.last_attempt, experiment.attempt);
    if (const auto news = found.find(experiment.id); news != found.end()) {
      take(trial, std::move(news->second));
    }
  }
}

void History::take(Trial& trial, std::vector<const Verdict*> verdicts) {
  std::map<int, std::pair<bool, bool>> attempts;  // -> started, counts against it
  std::set<std::pair<int, Outcome>> lost;
  for (const Verdict* verdict : verdicts) {
    auto& [started, against] = attempts[verdict->attempt];
    started = started || verdict->outcome != Outcome::not_started;
    against = against || counts_against(*verdict);
    if (is_loss(*verdict)) lost.insert({verdict->attempt, verdict->outcome});
    trial.last_attempt = std::max(trial.last_attempt, verdict->attempt);
    if (!trial.verdict || precedence(*trial.verdict) < precedence(*verdict)) {
      trial.verdict = *verdict;
    }
  }
  for (const auto& [attempt, facts] : attempts) {
    tries_started_ += facts.first ? 1 : 0;
    trial.tries += facts.second ? 1 : 0;
  }
  for (const auto& [attempt, outcome] : lost) ++trial.losses[outcome];
}

const Trial* History::find(const ExperimentId& experiment) const {
  const auto at = by_experiment_.find(experiment);
  return at == by_experiment_.end() ? nullptr : &trials_[at->second];
}

bool History::has_asked(const ConfigurationId& configuration) const {
  return by_configuration_.contains(configuration);
}

const Trial* History::of(const ConfigurationId& configuration) const {
  const auto [first, last] = by_configuration_.equal_range(configuration);
  const Trial* longest = nullptr;
  for (auto at = first; at != last; ++at) {
    const Trial& trial = trials_[at->second];
    if (!trial.worked()) continue;
    const bool is_longer =
        longest == nullptr || trial.experiment.max_steps > longest->experiment.max_steps;
    if (is_longer) longest = &trial;
  }
  if (longest != nullptr) return longest;
  return first == last ? nullptr : &trials_[first->second];
}

}  // namespace slurmtune
