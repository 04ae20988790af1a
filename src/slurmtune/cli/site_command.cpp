// SPDX-License-Identifier: MIT
#include <chrono>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include "slurmtune/base/instant.hpp"
#include "slurmtune/cli/command.hpp"
#include "slurmtune/cli/output.hpp"
#include "slurmtune/execute/site/ask_controller.hpp"
#include "slurmtune/execute/site/balance.hpp"
#include "slurmtune/execute/site/compare_site.hpp"
#include "slurmtune/execute/site/write_site.hpp"
#include "slurmtune/report/table.hpp"
#include "slurmtune/study/files.hpp"
#include "slurmtune/tune/create_study.hpp"

namespace slurmtune {

namespace {

Expected<Controller> controller_here() {
  SLURMTUNE_TRY(const ControllerAnswer answer, ask_controller());
  if (!answer.note.empty()) spdlog::warn("{}", answer.note);
  return read_controller(answer.texts);
}

/// The site that is meant if none is named: the one that bears the cluster's name.
Expected<SiteFile> site_of(const Controller& controller) {
  if (is_bundled_site(controller.cluster)) return named_site_file(controller.cluster);
  return invalid_input(fmt::format(
      "no site comes with slurmtune for a cluster named {}; name one with --site, or write one "
      "with slurmtune site init",
      controller.cluster));
}

/// What differs at all places; what a [[queue]] only takes over from the file is told once.
struct Differences {
  Table table{{{"where"}, {"key"}, {"site file"}, {"controller"}, {"then"}}};
  int count = 0;
  int refused = 0;

  void add(const std::string& place, const std::vector<SiteDifference>& differences) {
    for (const SiteDifference& difference : differences) {
      const auto what = std::tuple(difference.key, difference.site, difference.controller);
      if (!seen.insert(what).second) continue;
      const bool is_refused = difference.effect == Effect::refused;
      ++count;
      if (is_refused) ++refused;
      table.add({place, difference.key, one_line(difference.site), one_line(difference.controller),
                 is_refused ? "a job is refused, or waits for ever" : ""},
                is_refused ? Paint::red : Paint::plain);
    }
  }

  std::set<std::tuple<std::string, std::string, std::string>> seen;
};

std::string head(const SiteFile& file, const Controller& controller) {
  std::string text = fmt::format(
      "{}: against cluster {}, Slurm {}{}\n", file.path, controller.cluster, controller.version,
      controller.has_accounting ? "" : ", without accounting (no limits of users)");
  std::set<std::string> accounts;
  for (const Association& association : controller.associations) {
    accounts.insert(association.account);
  }
  if (!accounts.empty()) text += fmt::format("you may charge: {}\n", fmt::join(accounts, ", "));
  return text;
}

Expected<ExitCode> check_site(const std::string& named) {
  SiteFile file;
  if (!named.empty()) {
    SLURMTUNE_TRY(file, named_site_file(named));
  }
  SLURMTUNE_TRY(const Controller controller, controller_here());
  if (named.empty()) {
    SLURMTUNE_TRY(file, site_of(controller));
  }
  SLURMTUNE_TRY(const Site site, resolve_site(file, {}));
  SLURMTUNE_TRY(const std::vector<SiteQueue> queues, queues_of(file));
  Differences differences;
  differences.add("", compare_site(site, controller));
  std::set<std::string> told{site.partition, site.reducer_partition};
  for (const SiteQueue& queue : queues) {
    differences.add(queue.place, compare_site(queue.site, controller));
    told.insert(queue.site.partition);
  }
  std::string text = head(file, controller);
  std::vector<std::string> untold;
  for (const ControllerPartition& partition : controller.partitions) {
    const bool is_told =
        told.contains(partition.name) || (partition.is_default && told.contains(std::string()));
    if (!is_told) untold.push_back(partition.name);
  }
  if (!untold.empty()) {
    text += fmt::format("partitions that the file says nothing of: {}\n", fmt::join(untold, ", "));
  }
  const auto balance = ask_balance(site);
  if (!balance) {
    spdlog::warn("{}", balance.error().message);
  } else if (*balance) {
    text += fmt::format("left of the account: {:g} node-hours\n", **balance);
  }
  text += differences.table.empty() ? "no difference\n"
                                    : "\n" + differences.table.render(colour_of_output());
  print(text);
  return differences.refused > 0 ? ExitCode::no_result : ExitCode::done;
}

/// Before the controller is asked.
Expected<void> check_new_file(const std::string& file) {
  namespace fs = std::filesystem;
  std::error_code code;
  if (fs::exists(file, code)) {
    return invalid_input(fmt::format("{} is there already; give -o another name", file));
  }
  const fs::path above = fs::absolute(file, code).lexically_normal().parent_path();
  if (fs::is_directory(above, code) && ::access(above.c_str(), W_OK) == 0) return {};
  return invalid_input(
      fmt::format("{}: cannot be written: {} is not a writable directory; give -o "
                  "another name",
                  file, above.string()));
}

Expected<ExitCode> write_first_site(const std::string& file) {
  if (!file.empty()) SLURMTUNE_CHECK(check_new_file(file));
  SLURMTUNE_TRY(const Controller controller, controller_here());
  const std::string today = format_instant(std::chrono::time_point_cast<Instant::duration>(
                                               std::chrono::system_clock::now()))
                                .substr(0, 10);
  const std::string text = render_site_file(controller, today);
  // What is written is read as a site file, or it is a fault of ours.
  SLURMTUNE_TRY([[maybe_unused]] const SiteFile read, read_site_file({"site.toml", text}));
  if (file.empty()) {
    print(text);
    return ExitCode::done;
  }
  if (const auto written = replace_file(file, text, Durability::synced); !written) {
    // What access() allows root, a read-only filesystem still refuses.
    return unavailable(fmt::format("{}: cannot be written: {}", file, written.error().message));
  }
  print(fmt::format(
      "{0} is written; read it, fill in what stands in comments, then: slurmtune site "
      "check --site {0}\n",
      file.find('/') == std::string::npos && !file.ends_with(".toml") ? "./" + file : file));
  return ExitCode::done;
}

}  // namespace

void add_site_command(CLI::App& app, Command& selected) {
  CLI::App* command = add_subcommand(
      app, "site", "Compare a site file with the controller, or write a first one",
      "  slurmtune site check --site mycluster.toml   what the controller says otherwise\n"
      "  slurmtune site init -o mycluster.toml        a first site file, from the controller");
  command->require_subcommand(1);

  CLI::App* check = add_subcommand(
      *command, "check", "Compare a site file with what the controller says",
      "  slurmtune site check                         the site that bears the cluster's name\n"
      "  slurmtune site check --site mycluster.toml");
  auto site = std::make_shared<std::string>();
  check->add_option("--site", *site,
                    "site file, or the name of one that comes with slurmtune [the cluster's name]");
  check->callback([site, &selected] { selected = [site] { return check_site(*site); }; });

  CLI::App* init = add_subcommand(*command, "init", "Write a first site file from the controller",
                                  "  slurmtune site init                          print it\n"
                                  "  slurmtune site init -o mycluster.toml");
  auto file = std::make_shared<std::string>();
  init->add_option("-o,--output", *file, "where it goes [standard output]");
  init->callback([file, &selected] { selected = [file] { return write_first_site(*file); }; });
}

}  // namespace slurmtune
