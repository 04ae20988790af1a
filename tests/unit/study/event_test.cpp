// SPDX-License-Identifier: MIT
#include "slurmtune/study/event.hpp"

#include <vector>

#include "tests/support/catch.hpp"

using namespace slurmtune;

namespace {

const Instant noon = parse_instant("2026-11-30T12:00:00.250Z").value();

std::vector<EventBody> one_of_each() {
  return {
      StudyCreated{.study = {"6b1f3c52-7c1e-4f0a-9d55-0a3b8e2f4c61"},
                   .name = "gpt2",
                   .inputs = "sha256:00",
                   .origin = "/home/u",
                   .submit = "graph",
                   .deadline = noon,
                   .window = TimeWindow{parse_daily_hours("20:00-07:00").value(),
                                        {{noon, std::chrono::seconds(3600)},
                                         {noon + std::chrono::hours(99), {}}}},
                   .version = "0.1.0"},
      PlanMade{"ab"},
      SubmitIntended{.stage = {"01-profile"},
                     .kind = JobKind::array,
                     .attempt = 1,
                     .name = "st-6b1f3c52-01-profile-a-1",
                     .first_slice = 2,
                     .tasks = 5,
                     .by = "login1:77"},
      Submitted{.name = "st-6b1f3c52-final-0",
                .stage = {},
                .kind = JobKind::final,
                .attempt = 0,
                .job = 4711,
                .first_slice = 0,
                .tasks = std::nullopt},
      SubmitLost{"st-6b1f3c52-guard-0"},
      Decided{{"01-profile"}, "cd"},
      Released{{"02-frontier"}, 3, 600},
      SlicesDropped{{"02-frontier"}, 4711, 3, 8},
      Cancelled{"login1:78"},
      Extended{
          .max_node_hours = 12.5, .max_gpu_hours = 50.0, .max_experiments = 80, .deadline = noon},
      Resumed{"login1:79"},
      Finished{Stop::gain, ConfigurationId{"9f3c1e07a2b4c6d8e0f1"}},
      TrainingStarted{4712},
      TrainingEnded{7},
      TasksEnded{{"02-frontier"},
                 4711,
                 {EndedTask{.task = 3,
                            .ending = TaskEnding::failed,
                            .exit_code = 3,
                            .signal = {},
                            .nodes = "n[1-2]"},
                  EndedTask{.task = 4, .ending = TaskEnding::cancelled_by_owner}}},
      NodesExcluded{{"n2", "n7"}, "n2: 02-frontier: NODE_FAIL"},
      Retried{{{ExperimentId{"9f3c1e07a2b4c6d8e0f1-s20-r0"}, 1}},
              "login1:80",
              StageName{"01-profile"},
              Next{.action = NextAction::release,
                   .stage = {"02-frontier"},
                   .experiments = 2,
                   .slices = 1,
                   .manifest_sha256 = "abc"}}};
}

}  // namespace

TEST_CASE("parse_event: reads back every kind of event", "[study]") {
  const auto bodies = one_of_each();
  REQUIRE(bodies.size() == std::variant_size_v<EventBody>);
  for (const EventBody& body : bodies) {
    const Event event{17, noon, body};
    const std::string text = render_event(event).value();
    CAPTURE(text);
    CHECK(parse_event(text, "000017.json").value() == event);
  }
}

TEST_CASE("parse_event: refuses what it does not know, and says where", "[study]") {
  const auto refuse = [](const std::string& text) {
    const auto event = parse_event(text, "journal/000003.json");
    REQUIRE_FALSE(event);
    CHECK(event.error().kind == ErrorKind::corrupt_data);
    CHECK(event.error().message.find("journal/000003.json") == 0);
    return event.error().message;
  };
  const std::string head = R"({"format":"slurmtune.event","number":3,"at":"2026-11-30T12:00:00Z",)";
  CHECK(refuse(head + R"("version":1,"event":"teleported"})").find("teleported") !=
        std::string::npos);
  CHECK(refuse(head + R"("version":2,"event":"plan_made","sha256":"a"})").find("newer") !=
        std::string::npos);
  CHECK(refuse(head + R"("version":1,"event":"plan_made"})").find("sha256") != std::string::npos);
  CHECK(refuse(head + R"("version":1,"event":"submitted")").find("journal") == 0);
  CHECK(refuse("").find("journal") == 0);
}
