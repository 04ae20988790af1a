// SPDX-License-Identifier: MIT
#include "slurmtune/tune/draft.hpp"

#include <fstream>

#include "slurmtune/tune/doctor_facts.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/unit/study/view_builder.hpp"

using namespace slurmtune;

namespace {

namespace fs = std::filesystem;

/// login1, where every process but 99 is gone.
World login1() {
  World world;
  world.who = "login1:7";
  world.is_dead = [](const std::string& who) {
    return who.starts_with("login1:") && who != "login1:99";
  };
  return world;
}

fs::path leave(const fs::path& path) {
  fs::create_directories(path / "inputs");
  std::ofstream(path / "study.toml") << "format = 1\n";
  return path;
}

}  // namespace

TEST_CASE("draft: it is beside its place, and gone unless it was moved there", "[tune]") {
  const TemporaryDirectory home;
  const fs::path place = home.path() / "s";
  fs::path path;
  {
    const Draft draft(place, "login1:7");
    path = draft.path();
    CHECK(path == home.path() / ".s.draft.login1.7");
    leave(path);
  }
  CHECK_FALSE(fs::exists(path));
  {
    Draft draft(place, "login1:7");
    leave(path);
    REQUIRE(draft.move_to(place));
  }
  CHECK(fs::exists(place / "study.toml"));
}

TEST_CASE("draft: abandoned is what a process has left that is gone", "[tune]") {
  const TemporaryDirectory home;
  const fs::path place = home.path() / "s";
  const fs::path dead = leave(home.path() / ".s.draft.login1.98");
  leave(home.path() / ".s.draft.login1.99");      // it goes on
  leave(home.path() / ".other.draft.login1.98");  // another study's
  leave(home.path() / ".s.draft.98");             // by nobody who is known
  const fs::path full = leave(home.path() / ".s.draft.login1.97");
  std::ofstream(full / "thesis.tex") << "mine\n";
  const fs::path far = leave(home.path() / ".s.draft.login2.98");
  CHECK(abandoned_drafts(place, login1()) == std::vector<fs::path>{dead});
  // Of another host it is known by its age alone.
  fs::last_write_time(far, fs::file_time_type::clock::now() - std::chrono::hours(2));
  CHECK(abandoned_drafts(place, login1()) == std::vector<fs::path>{dead, far});
  CHECK(abandoned_drafts(home.path() / "none", login1()).empty());
}

TEST_CASE("doctor_facts: the last refusal that a job was told is quoted", "[tune]") {
  const TemporaryDirectory home;
  const StudyDirectory directory(home.path());
  const ViewBuilder study(2);
  CHECK(refusal_in_job(directory, study.view).empty());
  const fs::path logs = directory.logs(study.name(1));
  fs::create_directories(logs);
  std::ofstream(logs / "slurm-7_0.out") << "slurmtune: Slurm refuses the job x (a): of a trial\n";
  CHECK(refusal_in_job(directory, study.view).empty());
  std::ofstream(logs / "reduce-8.out")
      << "slurmtune: decided\nslurmtune: Slurm refuses the job st-2 (b): Access denied\nend\n";
  CHECK(refusal_in_job(directory, study.view) == "Slurm refuses the job st-2 (b): Access denied");
}
