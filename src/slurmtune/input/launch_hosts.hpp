// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "slurmtune/base/error.hpp"
#include "slurmtune/input/source_text.hpp"

namespace slurmtune {

/// A host and its free slots; a host's slots may be unknown.
struct Host {
  std::string name;
  std::optional<std::vector<int>> slots;
  int line = 0;
};

/// DeepSpeed's hostfile: `host slots=N` a line. Errors: invalid_input, `file:line: …`.
[[nodiscard]] Expected<std::vector<Host>> read_hostfile(const SourceText& source);

/// That of mpirun: `host slots=N max_slots=M`, `host:N`, or a host as often as it has slots; a host
/// that stands once and without a number has an unknown one.
/// Errors: invalid_input, `file:line: …`. Source: mpirun(1) of Open MPI 4.1; mpiexec of MPICH.
[[nodiscard]] Expected<std::vector<Host>> read_mpi_hostfile(const SourceText& source);

/// `a:2,b:2`, or a host as often as it has slots: `a,a,b,b`. Errors: invalid_input.
[[nodiscard]] Expected<std::vector<Host>> read_host_list(std::string_view text);

/// `host:0,2@host2`: hosts, each with its slots or without. `flag` is `--include` or `--exclude`.
/// Errors: invalid_input.
[[nodiscard]] Expected<std::vector<Host>> read_host_filter(std::string_view flag,
                                                           std::string_view text);

/// The hosts of the file that a filter leaves. Errors: invalid_input.
struct HostFilter {
  std::string_view flag;
  std::string_view text;
  const std::vector<Host>& hosts;
};
[[nodiscard]] Expected<std::vector<Host>> filtered_hosts(const std::vector<Host>& hosts,
                                                         const HostFilter& filter,
                                                         const std::string& hostfile);

}  // namespace slurmtune
