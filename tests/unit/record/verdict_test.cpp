// SPDX-License-Identifier: MIT
#include "slurmtune/record/verdict.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include <nlohmann/json.hpp>

#include "tests/support/catch.hpp"
#include "tests/unit/record/field_checks.hpp"
#include "tests/unit/record/random_records.hpp"

using namespace slurmtune;

namespace {

const char* const sample = "formats/verdict-v1.jsonl";

Expected<void> read_record(const std::string& text) {
  SLURMTUNE_CHECK(parse_shard(text, "s.jsonl"));
  return {};
}

Error problem(const std::string& text) {
  const auto result = read_record(text);
  REQUIRE_FALSE(result.has_value());
  return result.error();
}

std::string line(const ShardLine& held) { return render_shard_line(held).value() + "\n"; }

std::string start_line() { return line(RandomRecords(Seed{1}).task_start()); }

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

// A shard, as it was put together and as it was written.
struct Made {
  Shard shard;
  std::string text;
};

Made random_shard(RandomRecords& records, int later_lines) {
  Made made;
  made.shard.start = records.task_start();
  made.text = line(made.shard.start);
  for (int i = 0; i < later_lines; ++i) {
    const ShardLine later = records.later_line();
    made.text += line(later);
    if (const auto* verdict = std::get_if<Verdict>(&later)) made.shard.verdicts.push_back(*verdict);
    if (const auto* node = std::get_if<NodeRecord>(&later)) made.shard.nodes.push_back(*node);
    if (const auto* beat = std::get_if<Heartbeat>(&later)) made.shard.last_heartbeat = *beat;
    if (const auto* end = std::get_if<TaskEnd>(&later)) made.shard.end = *end;
  }
  return made;
}

}  // namespace

TEST_CASE("parse_shard: version 1 stays readable", "[record]") {
  const std::string text = test_data(sample);
  const Shard shard = parse_shard(text, "verdict-v1.jsonl").value();
  const TaskStart& start = shard.start;
  CHECK(start.study.text == "6b1f3c52-7c1e-4f0a-9d55-0a3b8e2f4c61");
  CHECK(start.stage.text == "03-frontier");
  CHECK(start.array_job == 4711);
  CHECK(start.nodes == std::vector<std::string>{"n1", "n2", "n3", "n4"});
  CHECK(start.allocated_nodes == 4);
  CHECK(start.gpus == 16);
  CHECK(start.at == parse_instant("2026-11-30T21:04:05.120Z"));
  CHECK(start.ends_by == parse_instant("2026-11-30T21:34:05Z").value());
  CHECK(start.runner == "0.1.0");
  REQUIRE(shard.verdicts.size() == 2);
  const Verdict& oom = shard.verdicts[0];
  CHECK(oom.outcome == Outcome::gpu_oom);
  CHECK(oom.attempt == 1);
  CHECK(oom.evidence ==
        Evidence{3, "n2", 1, std::nullopt, "logs/33f2c1999aaf1aca45cc-s20-r0.r3.tail",
                 "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"});
  CHECK(oom.metrics.peak_gpu_bytes == 8.42e10);
  CHECK_FALSE(oom.metrics.throughput.has_value());
  const Verdict& ok = shard.verdicts[1];
  CHECK(ok.experiment.text == "d18cbbfcdcf6a2e03809-s20-r0");
  CHECK(ok.configuration.text == "d18cbbfcdcf6a2e03809");
  CHECK(ok.outcome == Outcome::ok);
  CHECK(ok.reason == "interval_reached");
  CHECK_FALSE(ok.evidence.has_value());
  CHECK(ok.lane == 1);
  CHECK(ok.nodes == std::vector<std::string>{"n3", "n4"});
  CHECK(ok.ended == parse_instant("2026-11-30T21:04:48.8Z"));
  CHECK(ok.startup_s == 21.3);
  CHECK(ok.wall_s == 39.8);
  CHECK(ok.steps == StepTimes{5, 2, 0, {0.431, 0.428}});
  CHECK(ok.metrics.step_s == Interval{0.427, 0.429, 0.432});
  CHECK(ok.metrics.throughput == Interval{148.1, 149.2, 149.9});
  CHECK(ok.metrics.flops_per_gpu == 3.1e13);
  CHECK(ok.metrics.peak_host_bytes == 7.1e9);
  CHECK(ok.metrics.global_batch == 64);
  CHECK(ok.metrics.params == 774'030'080.0);
  CHECK(ok.metrics.user == std::map<std::string, double>{{"loss", 2.5}});
  CHECK(ok.hardware == Hardware{"NVIDIA H100", 85'017'493'504.0, "570.1"});
  CHECK(ok.source == "deepspeed");
  CHECK(shard.last_heartbeat == Heartbeat{parse_instant("2026-11-30T21:05:05.120Z").value()});
  REQUIRE(shard.end.has_value());
  CHECK(shard.end->reason == "done");
  CHECK(shard.end->node_seconds == 244);
  CHECK(line(start) + line(Heartbeat{parse_instant("2026-11-30T21:04:35.120Z").value()}) +
            line(oom) + line(ok) + line(*shard.last_heartbeat) + line(*shard.end) ==
        text);
}

TEST_CASE("parse_shard: reads back every line that render_shard_line writes", "[record]") {
  RandomRecords records(Seed{51});
  for (int i = 0; i < 300; ++i) {
    const Made made = random_shard(records, 6);
    const auto parsed = parse_shard(made.text, "s.jsonl");
    REQUIRE(parsed.has_value());
    REQUIRE(*parsed == made.shard);
  }
}

TEST_CASE("render_shard_line: writes one line, whatever the trial said", "[record]") {
  Verdict verdict = RandomRecords(Seed{5}).verdict();
  verdict.evidence = Evidence{};
  verdict.evidence->line = "a\nb\r\n\xff\x00 end";
  const std::string written = render_shard_line(verdict).value();
  CHECK(written.find('\n') == std::string::npos);
  CHECK(parse_shard(start_line() + written + "\n", "s").value().verdicts.size() == 1);
}

TEST_CASE("render_shard_line: refuses a number that is none", "[record]") {
  Verdict verdict;
  verdict.steps.step_s = {0.5, std::nan("")};
  const auto written = render_shard_line(verdict);
  REQUIRE_FALSE(written.has_value());
  CHECK(written.error().message.find("steps.step_s[1] is nan") == 0);
}

TEST_CASE("parse_shard: asks for the fields that it needs, and for no other", "[record]") {
  const auto lines = lines_of(test_data(sample));
  check_fields(Json::parse(lines[0]), "",
               {"format", "version", "type", "study", "stage", "slice", "array_job", "task",
                "restart", "nodes", "allocated_nodes", "gpus", "at"},
               "s.jsonl:1", [](const std::string& start) { return read_record(start + "\n"); });
  const auto second = [&lines](const std::string& later) {
    return read_record(lines[0] + "\n" + later + "\n" + lines[1] + "\n");
  };
  const Json verdict = Json::parse(lines[2]);
  check_fields(verdict, "",
               {"type", "experiment", "configuration", "attempt", "outcome", "reason", "lane",
                "nodes", "started", "ended"},
               "s.jsonl:2", second);
  check_fields(verdict, "/evidence", {}, "s.jsonl:2", second);
  check_fields(verdict, "/hardware", {}, "s.jsonl:2", second);
  check_fields(verdict, "/steps", {"warmup", "measured", "skipped", "step_s"}, "s.jsonl:2", second);
  const Json measured = Json::parse(lines[3]);
  check_fields(measured, "/metrics", {}, "s.jsonl:2", second);
  check_fields(measured, "/metrics/throughput", {"low", "mid", "high"}, "s.jsonl:2", second);
  check_fields(Json::parse(lines[1]), "", {"type", "at"}, "s.jsonl:2", second);
  check_fields(Json::parse(lines[5]), "", {"type", "at", "reason", "node_seconds"}, "s.jsonl:2",
               second);
}

TEST_CASE("parse_shard: a last line that is torn is left out", "[record]") {
  RandomRecords records(Seed{61});
  const Made made = random_shard(records, 3);
  const std::string torn = line(records.verdict());
  const std::string tail =
      GENERATE_COPY(torn.substr(0, 1), torn.substr(0, torn.size() / 2),
                    torn.substr(0, torn.size() / 2) + "\n", std::string(4096, '\0'));
  CHECK(parse_shard(made.text + tail, "s.jsonl") == made.shard);
}

TEST_CASE("parse_shard: a shard cut at any byte has every line that was whole", "[record]") {
  const std::string text = test_data(sample);
  const Shard whole = parse_shard(text, "s.jsonl").value();
  const std::size_t first_line = text.find('\n');
  const std::vector<std::string> lines = lines_of(text);
  for (std::size_t size = 0; size <= text.size(); ++size) {
    INFO(size);
    const auto parsed = parse_shard(std::string_view(text).substr(0, size), "s.jsonl");
    if (size < first_line) {  // its task may be about to write it
      REQUIRE_FALSE(parsed.has_value());
      REQUIRE(parsed.error().kind == ErrorKind::unavailable);
      continue;
    }
    REQUIRE(parsed.has_value());
    REQUIRE(parsed->start == whole.start);
    std::size_t verdicts = 0;
    std::size_t end_of_line = 0;
    for (const std::string& each : lines) {
      end_of_line += each.size();
      if (end_of_line <= size && each.find(R"("type":"verdict")") != std::string::npos) ++verdicts;
      ++end_of_line;
    }
    REQUIRE(parsed->verdicts.size() == verdicts);
    REQUIRE(std::equal(parsed->verdicts.begin(), parsed->verdicts.end(), whole.verdicts.begin()));
    REQUIRE(parsed->end.has_value() == (size >= text.size() - 1));
  }
}

TEST_CASE("parse_shard: a line before the last that is not JSON is refused", "[record]") {
  const Error error = problem(start_line() + "{\"type\":\n" + line(Heartbeat{}));
  CHECK(error.kind == ErrorKind::corrupt_data);
  CHECK(error.message.find("s.jsonl:2: not valid JSON: ") == 0);
  CHECK(problem("{\n" + start_line()).kind == ErrorKind::corrupt_data);
}

TEST_CASE("parse_shard: lines of unknown type are left out", "[record]") {
  const Shard shard =
      parse_shard(start_line() + "{\"type\":\"node_report\",\"x\":1}\n" + line(TaskEnd{}), "s")
          .value();
  CHECK(shard.verdicts.empty());
  CHECK(shard.end == TaskEnd{});
}

TEST_CASE("parse_shard: says what is wrong and where", "[record]") {
  const auto lines = lines_of(test_data(sample));
  const auto message = [](const std::string& text) {
    const Error error = problem(text);
    CHECK(error.kind == ErrorKind::corrupt_data);
    return error.message;
  };
  CHECK(message(lines[2] + "\n") == "s.jsonl:1: format is missing");
  CHECK(message(lines[0] + "\n" + lines[0] + "\n") ==
        "s.jsonl:2: type may be task_start only in the first line");
  Json start = Json::parse(lines[0]);
  start["version"] = 2;
  CHECK(message(start.dump() + "\n").find("s.jsonl:1: slurmtune.verdict version 2 is newer") == 0);
  start["version"] = 1;
  start["type"] = "heartbeat";
  CHECK(message(start.dump() + "\n") == "s.jsonl:1: type must be task_start in the first line");
  Json verdict = Json::parse(lines[2]);
  verdict["outcome"] = "exploded";
  CHECK(message(lines[0] + "\n" + verdict.dump() + "\n") ==
        "s.jsonl:2: outcome has the unknown value 'exploded'; use the slurmtune that wrote it");
  verdict["outcome"] = "ok";
  verdict["started"] = "yesterday";
  CHECK(message(lines[0] + "\n" + verdict.dump() + "\n").find("s.jsonl:2: started is wrong: ") ==
        0);
  verdict["started"] = verdict["ended"];
  verdict["steps"]["step_s"] = {0.4, "slow"};
  CHECK(message(lines[0] + "\n" + verdict.dump() + "\n") ==
        "s.jsonl:2: steps: step_s must be a number");
}

TEST_CASE("parse_shard: a damaged shard is read or refused, never more", "[record]") {
  check_damaged(test_data(sample), 3000, "s.jsonl", read_record);
}

TEST_CASE("writable: a figure that JSON cannot hold costs the figures, not the verdict",
          "[record]") {
  const double infinity = std::numeric_limits<double>::infinity();
  const auto verdicts = parse_shard(test_data(sample), "s").value().verdicts;
  const auto found = std::ranges::find(verdicts, Outcome::ok, &Verdict::outcome);
  REQUIRE(found != verdicts.end());
  const Verdict& good = *found;
  CHECK(writable(good) == good);

  std::vector<Verdict> bad(5, good);
  bad[0].metrics.throughput = Interval{1.0, infinity, infinity};
  bad[1].metrics.user["big"] = std::nan("");
  bad[2].steps.step_s = {0.1, infinity};
  bad[3].hardware.gpu_bytes = infinity;
  bad[4].startup_s = infinity;
  const std::vector<std::string> names{"metrics.throughput.high", "big", "steps.step_s[1]",
                                       "hardware.gpu_bytes", "startup_s"};
  for (std::size_t i = 0; i < bad.size(); ++i) {
    INFO(names[i]);
    REQUIRE_FALSE(render_shard_line(bad[i]));
    const Verdict kept = writable(bad[i]);
    CHECK(render_shard_line(kept));
    CHECK(kept.experiment == good.experiment);
    CHECK(kept.outcome == Outcome::nan);
    CHECK(kept.reason == "figure_out_of_range");
    REQUIRE(kept.evidence);
    CHECK(kept.evidence->line.find(names[i] + " is ") != std::string::npos);
  }
  // What failed for a reason of its own keeps that reason.
  bad[0].outcome = Outcome::gpu_oom;
  bad[0].reason = "rule:torch-cuda-oom";
  CHECK(writable(bad[0]).outcome == Outcome::gpu_oom);
  CHECK(writable(bad[0]).reason == "rule:torch-cuda-oom");
  CHECK(render_shard_line(writable(bad[0])));
}
