// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "slurmtune/base/error.hpp"
#include "slurmtune/study/scheduler.hpp"

// The headers of Slurm's releases differ in names; for sources that include them.
#define SLURMTUNE_SLURM_SINCE(major, minor) \
  (SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(major, minor, 0))

struct job_descriptor;  // slurm.h: job_desc_msg_t

namespace slurmtune {

/// A job_desc_msg_t with what it points to, as sbatch would make it from the same script.
class JobDescription {
 public:
  /// Errors: invalid_input if the script cannot be read or holds a directive that
  /// unknown_to_libslurm() names.
  [[nodiscard]] static Expected<std::unique_ptr<JobDescription>> make(const JobRequest& job);
  JobDescription(const JobDescription&) = delete;
  JobDescription& operator=(const JobDescription&) = delete;
  ~JobDescription();

  [[nodiscard]] job_descriptor* get() { return message_.get(); }

 private:
  JobDescription();

  /// Text that libslurm wants as pointer to mutable char; lives as long as this.
  char* keep(const std::string& text);
  void apply(const std::string& key, const std::string& value);
  void set_environment(const JobRequest& job);
  void add_gres(const std::string& gres);

  std::unique_ptr<job_descriptor> message_;
  std::vector<std::unique_ptr<std::vector<char>>> texts_;
  std::vector<char*> environment_;
  std::vector<std::string> variables_;  ///< further ones, that sbatch sets for some options
  char* arguments_[2] = {nullptr, nullptr};
  std::string gres_;
};

}  // namespace slurmtune
