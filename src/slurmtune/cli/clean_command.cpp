// SPDX-License-Identifier: MIT
#include <map>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "slurmtune/base/units.hpp"
#include "slurmtune/cli/command.hpp"
#include "slurmtune/cli/open_study.hpp"
#include "slurmtune/cli/output.hpp"
#include "slurmtune/cli/study_commands.hpp"
#include "slurmtune/tune/clean.hpp"
#include "slurmtune/tune/draft.hpp"

namespace slurmtune {

namespace {

struct CleanArguments {
  std::shared_ptr<DirectoryArguments> study;
  bool all = false;
  bool force = false;
};

std::string size_in_words(std::uint64_t bytes) {
  constexpr double mebibyte = 1024.0 * 1024.0;
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / mebibyte);
}

/// What kinds of things there are, how many of each and how large.
std::string summary_of(const std::vector<Removal>& removals) {
  struct Kind {
    std::size_t count = 0;
    std::uint64_t bytes = 0;
  };
  std::map<std::string, Kind> kinds;
  Kind total;
  for (const Removal& removal : removals) {
    for (Kind* kind : {&kinds[removal.what], &total}) {
      ++kind->count;
      kind->bytes += removal.bytes;
    }
  }
  std::string text;
  for (const auto& [what, kind] : kinds) {
    text += fmt::format("{:>12}  {} ({})\n", size_in_words(kind.bytes), what, kind.count);
  }
  return text + fmt::format("{:>12}  in all\n", size_in_words(total.bytes));
}

/// Whether jobs of the study are in the queue: by one question, as `live_jobs` of the view.
Expected<StudyView> look_at_all(OpenStudy& study) {
  if (!study.is_one_job()) return study.autotuner->look(Autotuner::Queue::ask);
  SLURMTUNE_TRY(StudyView view, study.autotuner->look(Autotuner::Queue::skip));
  SLURMTUNE_CHECK(check_no_whole_job(study));
  return view;
}

Expected<ExitCode> clean(const CleanArguments& arguments) {
  SLURMTUNE_TRY(OpenStudy study, open_study(arguments.study->directory, LocalPart::bystander));
  const StudyDirectory& directory = study.autotuner->directory();
  if (arguments.all) SLURMTUNE_CHECK(check_removable(directory));
  SLURMTUNE_TRY(const StudyView view, look_at_all(study));
  SLURMTUNE_CHECK(check_over(view, directory.root().string()));
  const auto removals =
      plan_clean(directory, view, arguments.all ? CleanScope::all : CleanScope::leftovers,
                 abandoned_drafts(directory.root(), real_world()));
  if (removals.empty()) {
    print(std::string("nothing is left that could go\n"));
    return ExitCode::done;
  }
  const std::string summary = summary_of(removals);
  if (!arguments.force) {
    print(summary);
    print(fmt::format("nothing was removed; to remove it: slurmtune clean{} --force {}\n",
                      arguments.all ? " --all" : "", directory.root().string()));
    return ExitCode::done;
  }
  SLURMTUNE_CHECK(remove_planned(removals));
  print("removed:\n" + summary);
  return ExitCode::done;
}

}  // namespace

void add_clean_command(CLI::App& app, Command& selected) {
  CLI::App* command = add_subcommand(
      app, "clean", "Free the space of a study that is over; without --force, say how much",
      "  slurmtune clean slurmtune-gpt2\n"
      "  slurmtune clean --force slurmtune-gpt2\n"
      "  slurmtune clean --all --force slurmtune-gpt2");
  auto arguments = std::make_shared<CleanArguments>();
  arguments->study = directory_argument(*command);
  command->add_flag("--all", arguments->all, "the whole directory, result and all");
  command->add_flag("--force", arguments->force, "remove it");
  command->callback(
      [arguments, &selected] { selected = [arguments] { return clean(*arguments); }; });
}

}  // namespace slurmtune
