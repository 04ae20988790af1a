// SPDX-License-Identifier: MIT
#include "slurmtune/execute/site/ask_controller.hpp"

#include <cstdlib>
#include <vector>

#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include "slurmtune/execute/process.hpp"
#include "slurmtune/execute/slurm_words.hpp"

namespace slurmtune {

namespace {

struct Said {
  std::string out;
  std::string err;
};

Expected<Said> call(std::vector<std::string> argv, std::chrono::milliseconds timeout) {
  const std::string program = argv.front();
  SLURMTUNE_TRY(const ProcessResult result,
                run_process({.call = {.argv = std::move(argv),
                                      .environment = submission_environment(current_environment()),
                                      .workdir = ""},
                             .input = "",
                             .timeout = timeout}));
  if (result.ending == Ending::timed_out) {
    return unavailable(
        fmt::format("{} gave no answer in {} s", program,
                    std::chrono::duration_cast<std::chrono::seconds>(timeout).count()));
  }
  if (!result.status.success()) {
    return unavailable(
        fmt::format("Slurm does not answer ({}): {}", program,
                    result.err.empty() ? result.status.text() : slurm_reason(result.err)));
  }
  return Said{result.out, result.err};
}

Expected<void> check_commands() {
  for (const char* program : {"scontrol", "sinfo"}) {
    if (find_program(program)) continue;
    return unavailable(
        fmt::format("{} is not in PATH: this is no login node of a Slurm cluster, or Slurm's "
                    "module is not loaded",
                    program));
  }
  const char* conf = std::getenv("SLURM_CONF");
  if (conf != nullptr && *conf != '\0' && ::access(conf, R_OK) != 0) {
    // The commands would look for it for a minute.
    return unavailable(fmt::format("SLURM_CONF={}: that file cannot be read", conf));
  }
  return {};
}

/// What accounting says of whoever asks.
Expected<void> ask_accounting(std::chrono::milliseconds timeout, ControllerTexts& texts) {
  const passwd* entry = ::getpwuid(::geteuid());
  if (entry == nullptr) return unavailable("this user has no name");
  const std::string user = fmt::format("user={}", entry->pw_name);
  SLURMTUNE_TRY(Said associations, call({"sacctmgr", "--noheader", "--parsable2", "show", "assoc",
                                         user, fmt::format("format={}", association_format)},
                                        timeout));
  SLURMTUNE_TRY(Said qos, call({"sacctmgr", "--noheader", "--parsable2", "show", "qos",
                                fmt::format("format={}", qos_format)},
                               timeout));
  texts.associations = std::move(associations.out);
  texts.qos = std::move(qos.out);
  return {};
}

}  // namespace

Expected<ControllerAnswer> ask_controller(std::chrono::milliseconds command_timeout) {
  SLURMTUNE_CHECK(check_commands());
  ControllerAnswer answer;
  ControllerTexts& texts = answer.texts;
  SLURMTUNE_TRY(Said config, call({"scontrol", "show", "config"}, command_timeout));
  texts.config = std::move(config.out);
  SLURMTUNE_TRY(Said partitions,
                call({"scontrol", "--oneliner", "show", "partition"}, command_timeout));
  texts.partitions = std::move(partitions.out);
  SLURMTUNE_TRY(Said nodes,
                call({"sinfo", "--noheader", "--exact", fmt::format("--format={}", node_format)},
                     command_timeout));
  texts.nodes = std::move(nodes.out);
  // What follows is not everywhere, and a site file can do without.
  if (auto licenses = call({"scontrol", "--oneliner", "show", "licenses"}, command_timeout)) {
    texts.licenses = std::move(licenses->out);
  }
  if (auto mpi = call({"srun", "--mpi=list"}, command_timeout)) {
    texts.mpi = mpi->out + mpi->err;  // before 23.11 it is an error message
  }
  if (!has_accounting(texts.config)) return answer;
  if (const auto asked = ask_accounting(command_timeout, texts); !asked) {
    answer.note = fmt::format(
        "accounting does not answer, so that limits of accounts and QOS are "
        "not compared: {}",
        asked.error().message);
  }
  return answer;
}

}  // namespace slurmtune
