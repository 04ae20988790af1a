// SPDX-License-Identifier: MIT
#include "slurmtune/execute/slurm_scheduler.hpp"

#include <cstdlib>
#include <utility>
#include <vector>

#include <dlfcn.h>
#include <fmt/format.h>

#include "slurmtune/base/version.hpp"
#include "slurmtune/execute/libslurm/directive_support.hpp"
#include "slurmtune/execute/libslurm/plugin.hpp"
#include "slurmtune/execute/slurm_cli/slurm_cli.hpp"
#include "slurmtune/study/files.hpp"

namespace slurmtune {
namespace {

namespace fs = std::filesystem;

constexpr const char* plugin_name = "slurmtune-libslurm.so";

/// libslurm, and the commands for the jobs that it cannot submit.
class LibslurmWithCommands final : public Scheduler {
 public:
  LibslurmWithCommands(std::unique_ptr<Scheduler> libslurm, std::unique_ptr<Scheduler> commands)
      : libslurm_(std::move(libslurm)), commands_(std::move(commands)) {}

  Expected<JobId> submit(const JobRequest& job) override {
    if (commands_ != nullptr && needs_sbatch(job)) return commands_->submit(job);
    return libslurm_->submit(job);
  }
  Expected<std::optional<JobId>> find(const std::string& name) override {
    return libslurm_->find(name);
  }
  Expected<std::vector<JobReport>> report(std::span<const JobId> jobs) override {
    return libslurm_->report(jobs);
  }
  /// Accounting is asked by its command: libslurmdb's interface changes with every release, and
  /// some sites allow sacct only.
  Expected<std::vector<JobReport>> accounting(std::span<const JobId> jobs) override {
    if (commands_ == nullptr) return libslurm_->accounting(jobs);
    return commands_->accounting(jobs);
  }
  Expected<void> exclude_nodes(JobId job, const std::string& nodes) override {
    return libslurm_->exclude_nodes(job, nodes);
  }
  Expected<void> cancel(JobId job) override { return libslurm_->cancel(job); }
  Expected<void> cancel_tasks(JobId job, std::int64_t first, std::int64_t end) override {
    return libslurm_->cancel_tasks(job, first, end);
  }
  [[nodiscard]] std::string description() const override { return libslurm_->description(); }

 private:
  static bool needs_sbatch(const JobRequest& job) {
    const auto script = read_file(job.script);
    if (!script) return false;
    const auto directives = read_directives(*script);
    return !directives || unknown_to_libslurm(*directives).has_value();
  }

  std::unique_ptr<Scheduler> libslurm_;
  std::unique_ptr<Scheduler> commands_;
};

Expected<SlurmClient> client_from_environment() {
  const char* value = std::getenv("SLURMTUNE_SLURM_CLIENT");
  const std::string name = value != nullptr ? value : "";
  if (name.empty() || name == "auto") return SlurmClient::automatic;
  if (name == "commands") return SlurmClient::commands;
  if (name == "libslurm") return SlurmClient::libslurm;
  return invalid_input(
      fmt::format("SLURMTUNE_SLURM_CLIENT={}: write commands, libslurm or auto", name));
}

std::vector<fs::path> plugin_paths(const ClientChoice& choice) {
  std::vector<fs::path> paths;
  if (!choice.plugin_directory.empty()) paths.push_back(choice.plugin_directory / plugin_name);
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (!error) {
    paths.push_back(program.parent_path() / plugin_name);
    paths.push_back(program.parent_path() / "../lib/slurmtune" / plugin_name);
  }
  return paths;
}

Expected<std::unique_ptr<Scheduler>> load_libslurm(const ClientChoice& choice) {
  for (const fs::path& path : plugin_paths(choice)) {
    std::error_code error;
    if (!fs::exists(path, error)) continue;
    // Global: libslurm's own plug-ins take its functions from there. Never closed: what libslurm
    // has started may still run.
    void* plugin = ::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (plugin == nullptr) {
      return unavailable(fmt::format("the libslurm client cannot be loaded: {}", ::dlerror()));
    }
    void* entry = ::dlsym(plugin, libslurm_entry);
    if (entry == nullptr) {
      return unavailable(fmt::format("{}: it is no plug-in of slurmtune", path.string()));
    }
    std::string why;
    const auto make = reinterpret_cast<MakeLibslurmScheduler>(entry);
    constexpr std::chrono::milliseconds usual{15'000};
    const auto patience = static_cast<int>(choice.patience.value_or(usual).count());
    Scheduler* scheduler = make(std::string(version()).c_str(), patience, &why);
    if (scheduler == nullptr) {
      return unavailable(fmt::format("the libslurm client is not used: {}", why));
    }
    return std::unique_ptr<Scheduler>(scheduler);
  }
  return unavailable(fmt::format("the libslurm client ({}) is not installed", plugin_name));
}

}  // namespace

Expected<std::unique_ptr<Scheduler>> make_slurm_scheduler(const ClientChoice& choice) {
  SlurmClient client = choice.client;
  if (client == SlurmClient::automatic) {
    SLURMTUNE_TRY(client, client_from_environment());
  }
  SlurmCliOptions options;
  options.command_timeout = choice.patience.value_or(options.command_timeout);
  auto commands = make_slurm_cli(options);
  if (client == SlurmClient::commands) return commands;
  // Without even the commands there is no Slurm to look for.
  if (client == SlurmClient::automatic && !commands) return commands;
  auto libslurm = load_libslurm(choice);
  if (libslurm) {
    return std::unique_ptr<Scheduler>(std::make_unique<LibslurmWithCommands>(
        *std::move(libslurm), commands ? *std::move(commands) : nullptr));
  }
  if (client == SlurmClient::libslurm) return libslurm;
  // Where it was never installed there is nothing to say.
  const bool is_broken = libslurm.error().message.find("is not installed") == std::string::npos;
  if (choice.note && is_broken) {
    choice.note(libslurm.error().message + "; sbatch, squeue and scancel are");
  }
  return commands;
}

}  // namespace slurmtune
