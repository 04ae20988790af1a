// SPDX-License-Identifier: MIT
#include "slurmtune/report/submit_text.hpp"

#include <fmt/format.h>

#include "slurmtune/plan/shape.hpp"

#include "tests/support/catch.hpp"
#include "tests/unit/report/report_fixture.hpp"

using namespace slurmtune;
using namespace slurmtune::test;
using namespace std::chrono_literals;

namespace {

std::string text_of(const StudyInput& input, SubmitMode mode, const QueueWaits& waits) {
  PlanIdentity identity;
  identity.submit = mode;
  identity.submit_why = "it fits";
  const auto plan = make_plan(input, identity);
  REQUIRE(plan);
  return submit_text(submit_costs(input), *plan, waits, Colour::never);
}

std::string row(const std::string& text, const std::string& way) {
  const std::size_t at = text.find("\n  " + way + " ");
  REQUIRE(at != std::string::npos);
  return text.substr(at + 1, text.find('\n', at + 1) - at - 1);
}

}  // namespace

TEST_CASE("the ways to submit stand beside each other, with the waits as the queue is",
          "[report]") {
  const StudyInput input = deepspeed_input();
  const auto costs = submit_costs(input);
  QueueWaits waits;
  waits.task = 600s;
  waits.whole = 7200s;
  const std::string text = text_of(input, SubmitMode::graph, waits);
  CHECK(contains(row(text, "graph"), format_duration(costs[0].long_waits * 600s)));
  CHECK(contains(row(text, "graph"), "this plan"));
  CHECK_FALSE(contains(row(text, "step"), "this plan"));
  CHECK(contains(row(text, "one-job"), format_duration(7200s)));
  CHECK(contains(text, "graph is chosen: it fits"));
  CHECK(contains(text, "in 10 min"));
}

TEST_CASE("waits that nobody knows are unknown, and why is said once", "[report]") {
  QueueWaits waits;
  waits.task = unavailable("Slurm gave no answer in 10 s");
  waits.whole = unavailable("Slurm gave no answer in 10 s");
  const std::string text = text_of(deepspeed_input(), SubmitMode::step, waits);
  CHECK(contains(row(text, "step"), "unknown"));
  CHECK(contains(text, "waits: unknown: Slurm gave no answer in 10 s"));
  CHECK(text.find("no answer") == text.rfind("no answer"));
}

TEST_CASE("a way that the site does not allow is in the table with its reason", "[report]") {
  StudyInput input = deepspeed_input();
  input.site.jobs_can_submit = false;
  const std::string text = text_of(input, SubmitMode::graph, {});
  CHECK(contains(row(text, "step"), "not possible"));
  CHECK(contains(text, "jobs_can_submit = false"));
}

TEST_CASE("with a window each job waits for one that it ends in", "[report]") {
  StudyInput input = deepspeed_input();
  const auto costs = submit_costs(input);
  REQUIRE(costs[0].long_waits > 1);
  // From 20:00 on, as long as one job and a minute: at 12:00 UTC the first waits for 8 h, and each
  // further one for the next evening.
  const std::chrono::minutes begin = 20h;
  const auto lasts = std::chrono::seconds(costs[0].walltime_s);
  const DailyHours hours{begin, begin + std::chrono::ceil<std::chrono::minutes>(lasts) + 1min};
  QueueWaits waits;
  waits.now = parse_instant("2026-12-01T12:00:00Z").value();
  waits.window = TimeWindow{hours, {{waits.now, 0s}}};
  waits.task = 0s;
  const std::string text = text_of(input, SubmitMode::graph, waits);
  const auto wait = 8h + (costs[0].long_waits - 1) * (24h - lasts);
  CHECK(contains(row(text, "graph"), format_duration(wait)));
}

TEST_CASE("a way that leaves stages out, and one that is a chain, say so in their rows",
          "[report]") {
  StudyInput input = deepspeed_input();
  input.site.submit_jobs_max = 10;
  input.site.walltime_max_s = 7200;
  const auto costs = submit_costs(input);
  REQUIRE(costs[0].stages_left_out > 0);
  const std::string text = text_of(input, SubmitMode::step, {});
  CHECK(contains(row(text, "graph"), fmt::format("without {} stage", costs[0].stages_left_out)));
  CHECK(contains(row(text, "one-job"), fmt::format("a chain: {} job", costs[2].waits)));
}
