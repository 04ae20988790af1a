// SPDX-License-Identifier: MIT
#include "slurmtune/execute/expected_wait.hpp"

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "slurmtune/execute/process.hpp"
#include "slurmtune/execute/slurm_words.hpp"

namespace slurmtune {

namespace {

Expected<std::vector<std::string>> test_command(const Site& site, const NodesJob& job) {
  std::vector<SbatchDirective> directives = nodes_directives(site, job);
  SLURMTUNE_CHECK(add_site_options(site, JobRole::trials, directives));
  std::vector<std::string> argv{"sbatch", "--test-only", "--output=/dev/null"};
  for (const SbatchDirective& directive : directives) {
    argv.push_back("--" + directive.key + (directive.value.empty() ? "" : "=" + directive.value));
  }
  argv.emplace_back("--wrap=true");
  return argv;
}

}  // namespace

Expected<Instant> parse_expected_start(std::string_view output) {
  constexpr std::string_view mark = " to start at ";
  const std::size_t at = output.find(mark);
  if (at == std::string_view::npos) {
    return unavailable(fmt::format("sbatch --test-only names no start: {}", slurm_reason(output)));
  }
  const std::string text(output.substr(at + mark.size(), 19));
  std::tm local{};
  const char* end = ::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &local);
  if (end == nullptr || *end != '\0') {
    return unavailable(fmt::format("sbatch --test-only names a start that cannot be read: {}",
                                   slurm_reason(output)));
  }
  local.tm_isdst = -1;
  return Instant{std::chrono::seconds(std::mktime(&local))};
}

Expected<std::chrono::seconds> expected_wait(const Site& site, const NodesJob& job, Instant now,
                                             std::chrono::milliseconds patience) {
  if (!find_program("sbatch")) return unavailable("sbatch is not in PATH");
  const char* conf = std::getenv("SLURM_CONF");
  if (conf != nullptr && *conf != '\0' && ::access(conf, R_OK) != 0) {
    // sbatch would look for it for a minute.
    return unavailable(fmt::format("SLURM_CONF={}: that file cannot be read", conf));
  }
  SLURMTUNE_TRY(const std::vector<std::string> argv, test_command(site, job));
  SLURMTUNE_TRY(const ProcessResult result,
                run_process({.call = {.argv = argv,
                                      .environment = submission_environment(current_environment()),
                                      .workdir = ""},
                             .input = "",
                             .timeout = patience}));
  if (result.ending == Ending::timed_out) {
    return unavailable(fmt::format("Slurm gave no answer in {} s", patience.count() / 1000));
  }
  if (!result.status.success()) {
    return invalid_input(slurm_reason(result.err.empty() ? result.status.text() : result.err));
  }
  SLURMTUNE_TRY(const Instant start, parse_expected_start(result.err + result.out));
  return std::max(std::chrono::seconds(0), std::chrono::ceil<std::chrono::seconds>(start - now));
}

}  // namespace slurmtune
