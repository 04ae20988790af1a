// SPDX-License-Identifier: MIT
#include "slurmtune/tune/create_study.hpp"

#include <fstream>
#include <set>

#include "slurmtune/study/files.hpp"
#include "slurmtune/tune/deadline.hpp"
#include "slurmtune/tune/freeze.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace slurmtune;

namespace {

const Instant noon = parse_instant("2026-11-30T12:00:00Z").value();

/// A directory with a generic study in it.
struct Home {
  TemporaryDirectory directory;

  explicit Home(const std::string& more = "") {
    std::ofstream(directory / "study.toml") << R"(format = 1
name = "sort"
[trial]
command = ["./sort.sh", "{p:buffer}"]
)" << more << R"(
[[parameter]]
name = "buffer"
type = "int"
values = [1, 2, 4]
[search]
strategy = "grid"
)";
  }
  [[nodiscard]] std::string study() const { return (directory.path() / "study.toml").string(); }
  [[nodiscard]] LoadedStudy load() const {
    StudyOptions options;
    options.submit = SubmitMode::local;
    const auto loaded = load_study(study(), options);
    INFO((loaded ? "" : loaded.error().message));
    REQUIRE(loaded);
    return *loaded;
  }
  [[nodiscard]] std::set<std::string> entries() const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory.path())) {
      names.insert(entry.path().filename().string());
    }
    return names;
  }
};

}  // namespace

TEST_CASE("create_study: freezes the input, plans, and begins the journal", "[tune]") {
  const Home home;
  const auto created = create_study(home.load(), home.directory.path() / "s", noon);
  INFO((created ? "" : created.error().message));
  REQUIRE(created);
  CHECK(created->creation == Creation::created);
  const StudyDirectory& study = created->directory;
  CHECK(read_file(study.study_toml()).value() == read_file(home.study()).value());
  const Plan plan = study.read_plan().value();
  CHECK(plan.inputs == hash_inputs(study.root()).value());
  CHECK(study.read_manifest(plan.stages[0].name).value());
  const auto state = fold(Journal(study.journal()).read().value()).value();
  CHECK(state.created.origin == home.directory.path().string());
  CHECK(state.created.study == plan.study);
  CHECK(plan.study.text.size() == 36);
}

TEST_CASE("create_study: the same input again finds the study; another one is refused", "[tune]") {
  const Home home;
  const auto place = home.directory.path() / "s";
  REQUIRE(create_study(home.load(), place, noon));
  const auto before = home.entries();
  const auto again = create_study(home.load(), place, noon);
  REQUIRE(again);
  CHECK(again->creation == Creation::found);
  std::ofstream(home.study(), std::ios::app) << "# edited\n";
  const auto other = create_study(home.load(), place, noon);
  REQUIRE_FALSE(other);
  CHECK(other.error().kind == ErrorKind::invalid_input);
  CHECK(other.error().message.find("--dir") != std::string::npos);
  CHECK(home.entries() == before);
}

TEST_CASE("F-02: a study that cannot be created is a value, and leaves nothing behind", "[tune]") {
  const Home home("snapshot = [\"*.py\"]\n");
  const auto before = home.entries();
  const auto created = create_study(home.load(), home.directory.path() / "s", noon);
  REQUIRE_FALSE(created);
  CHECK(created.error().kind == ErrorKind::invalid_input);
  CHECK(created.error().message.find("*.py") != std::string::npos);
  CHECK(home.entries() == before);
}

TEST_CASE("create_study, plan_study: a workdir that is not there is refused with its line",
          "[tune]") {
  const Home home("workdir = \"run/here\"\n");
  const auto before = home.entries();
  const auto refusal = [&home] {
    const auto created = create_study(home.load(), home.directory.path() / "s", noon);
    REQUIRE_FALSE(created);
    CHECK(created.error().kind == ErrorKind::invalid_input);
    const auto planned = plan_study(home.load(), noon);
    REQUIRE_FALSE(planned);
    CHECK(planned.error().message == created.error().message);
    return created.error().message;
  };
  CHECK(refusal().find("study.toml:5: trial.workdir = \"run/here\": ") != std::string::npos);
  CHECK(refusal().find(home.directory.path().string() + "/run/here is not there") !=
        std::string::npos);
  CHECK(home.entries() == before);
  std::filesystem::create_directory(home.directory.path() / "run");
  std::ofstream(home.directory / "run/here") << "a file\n";
  CHECK(refusal().find("run/here is not a directory") != std::string::npos);
  std::filesystem::remove(home.directory.path() / "run/here");
  std::filesystem::create_directory(home.directory.path() / "run/here");
  CHECK(create_study(home.load(), home.directory.path() / "s", noon));
}

TEST_CASE("create_study: a place that job scripts cannot hold is refused first", "[tune]") {
  const Home home;
  const auto before = home.entries();
  for (const char* name : {"a'b", "a\"b", "a#b", "a\\b", "a\nb"}) {
    const auto created = create_study(home.load(), home.directory.path() / name, noon);
    REQUIRE_FALSE(created);
    CHECK(created.error().kind == ErrorKind::invalid_input);
    CHECK(created.error().message.find("--dir") != std::string::npos);
    CHECK(home.entries() == before);
  }
  CHECK(create_study(home.load(), home.directory.path() / "a $b 50%", noon));
}

TEST_CASE("plan_study: a finish_by that is past is refused with its line", "[tune]") {
  const Home home("[budget]\nfinish_by = \"2026-11-30T13:00:00Z\"\n");
  CHECK(plan_study(home.load(), noon));
  const auto late = plan_study(home.load(), noon + std::chrono::hours(1));
  REQUIRE_FALSE(late);
  CHECK(late.error().kind == ErrorKind::invalid_input);
  CHECK(late.error().message.find("study.toml:6: budget.finish_by") != std::string::npos);
}

TEST_CASE("withdraw_study: leaves nothing of a refused study, and keeps what has a job", "[tune]") {
  const Home home;
  const auto before = home.entries();
  const auto created = create_study(home.load(), home.directory.path() / "s", noon);
  REQUIRE(created);
  const Journal journal(created->directory.journal());
  SubmitIntended intent;
  intent.kind = JobKind::final;
  intent.name = "st-final-0";
  REQUIRE(journal.append(3, noon, intent));
  withdraw_study(created->directory);  // whether the job came to be is not known
  CHECK(file_exists(created->directory.plan_json()));
  REQUIRE(journal.append(4, noon, SubmitLost{intent.name}));
  withdraw_study(created->directory);
  CHECK(home.entries() == before);
}

TEST_CASE("create_study: does not touch a directory that holds something else", "[tune]") {
  const Home home;
  const auto place = home.directory.path() / "mine";
  std::filesystem::create_directory(place);
  std::ofstream(place / "thesis.tex") << "x";
  const auto created = create_study(home.load(), place, noon);
  REQUIRE_FALSE(created);
  CHECK(created.error().kind == ErrorKind::invalid_input);
  CHECK(read_file(place / "thesis.tex").value() == "x");
}

TEST_CASE("freeze_snapshot: copies what the globs name, and nothing else", "[tune]") {
  const TemporaryDirectory directory;
  for (const char* name : {"a.py", "b.txt", "src/c.py", "src/deep/d.py", ".git/e.py"}) {
    const auto path = directory.path() / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << name;
  }
  const auto frozen = [&](const std::vector<std::string>& patterns) {
    const TemporaryDirectory into;
    REQUIRE(freeze_snapshot(directory.path(), patterns, into.path()));
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(into.path())) {
      if (entry.is_regular_file()) {
        names.insert(entry.path().lexically_relative(into.path()).string());
      }
    }
    return names;
  };
  CHECK(frozen({"*.py"}) == std::set<std::string>{"a.py"});
  CHECK(frozen({"**.py"}) == std::set<std::string>{"a.py", "src/c.py", "src/deep/d.py"});
  CHECK(frozen({"src"}) == std::set<std::string>{"src/c.py", "src/deep/d.py"});
  CHECK_FALSE(freeze_snapshot(directory.path(), {"none*"}, directory.path() / "x"));
}

TEST_CASE("load_study: files that are not there are bad input, named with what to do", "[tune]") {
  const TemporaryDirectory directory;
  const auto message = [&](const std::string& study) {
    std::ofstream(directory / "study.toml") << study;
    const auto loaded = load_study(directory / "study.toml", {});
    REQUIRE_FALSE(loaded);
    CHECK(loaded.error().kind == ErrorKind::invalid_input);
    return loaded.error().message;
  };
  CHECK_FALSE(load_study(directory / "none.toml", {}));
  CHECK(load_study(directory.path(), {}).error().message.find("directory") != std::string::npos);
  const std::string head =
      "format = 1\nname = \"x\"\n[trial]\ncommand = [\"a\", \"{p:n}\"]\n"
      "[[parameter]]\nname = \"n\"\ntype = \"int\"\nvalues = [1, 2]\n";
  CHECK(message(head + "[deepspeed]\nconfig = \"gone.json\"\n").find("gone.json") !=
        std::string::npos);
  CHECK(message(head + "[slurm]\nsite = \"genric\"\n").find("'generic'") != std::string::npos);
}

TEST_CASE("deadline_of: a deadline before the window opens is refused with its line", "[tune]") {
  StudySpec spec;
  spec.budget.window = parse_daily_hours("02:00-03:00").value();
  const Instant opens = window_from(*spec.budget.window, noon).span_at(noon).begin;
  spec.budget.finish_by_line = 7;
  spec.budget.finish_by = format_instant(opens + std::chrono::minutes(16));
  CHECK(deadline_of(spec, noon));
  spec.budget.finish_by = format_instant(opens + std::chrono::minutes(15));
  CHECK(deadline_of(spec, noon).error().message.starts_with("study.toml:7: budget.finish_by: "));
}

TEST_CASE("deadline_of: a clock time is the next one, RFC 3339 is as it stands", "[tune]") {
  const auto clock = deadline_of("07:30", noon);
  REQUIRE(clock);
  CHECK(*clock > noon);
  CHECK(*clock <= noon + std::chrono::hours(25));
  CHECK(deadline_of("2026-12-01T07:30:00Z", noon).value() ==
        parse_instant("2026-12-01T07:30:00Z").value());
  CHECK_FALSE(deadline_of("2026-11-01T07:30:00Z", noon));
  // The guard would end the study before anything was measured.
  CHECK(deadline_of(format_instant(noon + std::chrono::minutes(16)), noon));
  CHECK(deadline_of(format_instant(noon + std::chrono::minutes(15)), noon)
            .error()
            .message.find("too near: 15 min before it") != std::string::npos);
  CHECK_FALSE(deadline_of("25:00", noon));
  CHECK_FALSE(deadline_of("soon", noon));
}
