// SPDX-License-Identifier: MIT
#include "slurmtune/execute/libslurm/job_description.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <utility>

#include <fmt/format.h>
#include <slurm/slurm.h>
#include <slurm/slurm_version.h>
#include <sys/resource.h>
#include <unistd.h>

#include "slurmtune/execute/libslurm/directive_support.hpp"
#include "slurmtune/execute/process.hpp"
#include "slurmtune/execute/sbatch_directives.hpp"
#include "slurmtune/execute/slurm_words.hpp"
#include "slurmtune/study/files.hpp"

namespace slurmtune {
namespace {

// The limits that sbatch hands on, if the site's PropagateResourceLimits says so.
constexpr std::array<std::pair<const char*, __rlimit_resource>, 10> limits{{
    {"CPU", RLIMIT_CPU},
    {"FSIZE", RLIMIT_FSIZE},
    {"DATA", RLIMIT_DATA},
    {"STACK", RLIMIT_STACK},
    {"CORE", RLIMIT_CORE},
    {"RSS", RLIMIT_RSS},
    {"NPROC", RLIMIT_NPROC},
    {"NOFILE", RLIMIT_NOFILE},
    {"MEMLOCK", RLIMIT_MEMLOCK},
    {"AS", RLIMIT_AS},
}};

std::string own_umask() {
  // umask(2) cannot be read without being changed, for all threads.
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("Umask:")) return line.substr(line.find_first_not_of(" \t", 6));
  }
  return "0022";
}

std::uint32_t count(const std::string& value) { return parse_count(value).value_or(1); }

}  // namespace

JobDescription::JobDescription() : message_(std::make_unique<job_descriptor>()) {
  ::slurm_init_job_desc_msg(message_.get());  // most fields are "not given", not 0
}

JobDescription::~JobDescription() = default;

Expected<std::unique_ptr<JobDescription>> JobDescription::make(const JobRequest& job) {
  SLURMTUNE_CHECK(check_job_name(job.name));
  SLURMTUNE_TRY(const auto array, array_text(job));
  const auto script = read_file(job.script);
  if (!script) return invalid_input(script.error().message);
  if (!script->starts_with("#!")) {
    // sbatch refuses it; by the library it would be submitted, and fail.
    return invalid_input(job.script + ":1: a job script must begin with #! and its shell");
  }
  const auto directives = read_directives(*script);
  if (!directives) return in_context(job.script, directives.error());
  if (const auto unknown = unknown_to_libslurm(*directives)) {
    return invalid_input(fmt::format("{}: #SBATCH --{}={} is not known to the libslurm client",
                                     job.script, unknown->key, unknown->value));
  }

  auto made = std::unique_ptr<JobDescription>(new JobDescription());
  job_desc_msg_t& d = *made->message_;
  d.user_id = ::getuid();
  d.group_id = ::getgid();
  d.name = made->keep(job.name);
  d.script = made->keep(*script);
  d.work_dir = made->keep(job.workdir);
  d.std_in = made->keep("/dev/null");
  made->arguments_[0] = made->keep(job.script);
  d.argv = made->arguments_;
  d.argc = 1;
  if (array) d.array_inx = made->keep(*array);
  if (!job.after_any.empty()) d.dependency = made->keep(dependency_text(job));
  if (job.begin) d.begin_time = std::chrono::system_clock::to_time_t(*job.begin);
  for (const auto& [key, value] : *directives) made->apply(key, value);
  if (!made->gres_.empty()) d.tres_per_node = made->keep(made->gres_);
  // As sbatch counts where a script leaves it open.
  const std::uint32_t nodes = d.min_nodes == NO_VAL ? 1U : d.min_nodes;
  const std::uint32_t on_each = d.ntasks_per_node == NO_VAL16 ? 1U : d.ntasks_per_node;
  const std::uint32_t cpus = d.cpus_per_task == NO_VAL16 ? 1U : d.cpus_per_task;
  if (d.num_tasks == NO_VAL) d.num_tasks = nodes * on_each;
  d.min_cpus = d.num_tasks * cpus;
  if (!job.exclude.empty()) d.exc_nodes = made->keep(job.exclude);
  made->set_environment(job);
  return made;
}

char* JobDescription::keep(const std::string& text) {
  texts_.push_back(
      std::make_unique<std::vector<char>>(text.c_str(), text.c_str() + text.size() + 1));
  return texts_.back()->data();
}

void JobDescription::apply(const std::string& key, const std::string& value) {
  job_desc_msg_t& d = *message_;
  const std::pair<const char*, char**> texts[] = {
      {"account", &d.account},
      {"comment", &d.comment},
      {"constraint", &d.features},
      {"error", &d.std_err},
      {"exclude", &d.exc_nodes},
      {"licenses", &d.licenses},
      {"mail-user", &d.mail_user},
      {"nodelist", &d.req_nodes},
      {"output", &d.std_out},
      {"partition", &d.partition},
      {"qos", &d.qos},
      {"reservation", &d.reservation},
  };
  for (const auto& [name, field] : texts) {
    if (key == name) *field = keep(value);
  }
  if (key == "nodes") d.min_nodes = d.max_nodes = count(value);
  if (key == "ntasks") {
    d.num_tasks = count(value);
    d.bitflags |= JOB_NTASKS_SET;
  }
  if (key == "ntasks-per-node") {
    d.ntasks_per_node = static_cast<std::uint16_t>(count(value));
    variables_.push_back("SLURM_NTASKS_PER_NODE=" + value);
  }
  if (key == "cpus-per-task") {
    d.cpus_per_task = static_cast<std::uint16_t>(count(value));
    d.bitflags |= JOB_CPUS_SET;
    variables_.push_back("SLURM_CPUS_PER_TASK=" + value);
  }
  if (key == "exclusive") d.shared = 0;
  if (key == "requeue") d.requeue = 1;
  if (key == "no-requeue") d.requeue = 0;
  if (key == "gres") add_gres(value);
  if (key == "gpus-per-node") {
    add_gres("gpu:" + value);
    variables_.push_back("SLURM_GPUS_PER_NODE=" + value);
  }
  if (key == "open-mode") {
    d.open_mode = value == "append" ? OPEN_MODE_APPEND : OPEN_MODE_TRUNCATE;
    variables_.push_back(std::string("SLURM_OPEN_MODE=") + (value == "append" ? "a" : "t"));
  }
  if (key == "time") {
    const auto walltime = parse_walltime(value).value_or(std::chrono::seconds(60));
    d.time_limit = static_cast<std::uint32_t>((walltime.count() + 59) / 60);
  }
  if (key == "mem") d.pn_min_memory = parse_mebibytes(value).value_or(0);
  if (key == "mem-per-cpu") d.pn_min_memory = parse_mebibytes(value).value_or(0) | MEM_PER_CPU;
  if (key == "mail-type") {
    const MailTypes types = parse_mail_types(value).value_or(MailTypes{});
    d.mail_type = 0;  // in place of the mark for "not given", which has bits of its own
    if (types.begin) d.mail_type |= MAIL_JOB_BEGIN;
    if (types.end) d.mail_type |= MAIL_JOB_END;
    if (types.fail) d.mail_type |= MAIL_JOB_FAIL;
  }
  if (key == "signal") {
    const WarningSignal signal = parse_warning_signal(value).value_or(WarningSignal{});
    d.warn_signal = static_cast<std::uint16_t>(signal.number);
    d.warn_time = static_cast<std::uint16_t>(signal.seconds);
    if (signal.batch_only) d.warn_flags = KILL_JOB_BATCH;
  }
}

void JobDescription::add_gres(const std::string& gres) {
  constexpr const char* prefix = SLURMTUNE_SLURM_SINCE(23, 11) ? "gres/" : "gres:";
  gres_ += (gres_.empty() ? "" : ",") + (prefix + gres);
}

void JobDescription::set_environment(const JobRequest& job) {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  std::error_code ignored;
  const std::string here = std::filesystem::current_path(ignored).string();
  std::vector<std::string> all = submission_environment(current_environment());
  // What sbatch adds, and the library does not.
  all.push_back("SLURM_JOB_NAME=" + job.name);
  all.push_back("SLURM_SUBMIT_DIR=" + here);
  all.push_back(std::string("SLURM_SUBMIT_HOST=") + host.data());
  all.push_back("SLURM_UMASK=" + own_umask());
  all.push_back(fmt::format("SLURM_PRIO_PROCESS={}", ::getpriority(PRIO_PROCESS, 0)));
  for (const auto& [name, resource] : limits) {
    rlimit limit{};
    if (::getrlimit(resource, &limit) != 0) continue;
    all.push_back(fmt::format("SLURM_RLIMIT_{}={}", name, limit.rlim_cur));
  }
  all.insert(all.end(), variables_.begin(), variables_.end());
  for (const std::string& variable : all) environment_.push_back(keep(variable));
  environment_.push_back(nullptr);
  message_->environment = environment_.data();
  message_->env_size = static_cast<std::uint32_t>(environment_.size() - 1);
}

}  // namespace slurmtune
