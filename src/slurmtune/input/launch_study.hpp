// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "slurmtune/base/error.hpp"
#include "slurmtune/input/launch_line.hpp"
#include "slurmtune/input/source_text.hpp"
#include "slurmtune/input/study_spec.hpp"

namespace slurmtune {

/// What is known of the place where the line was typed; absent = not there.
struct LaunchPlace {
  std::optional<SourceText> hostfile;
  std::optional<int> held_nodes;          ///< of the Slurm allocation that the command runs in
  std::optional<int> held_gpus_per_node;  ///< of it
  std::optional<int> site_gpus_per_node;  ///< of the site that was named
  int gpus_here = 0;
  std::optional<std::string> visible_devices;  ///< CUDA_VISIBLE_DEVICES
};

/// What one experiment takes, and where that was read.
struct LaunchResources {
  int nodes = 1;
  int processes_per_node = 1;
  std::string nodes_from;
  std::string processes_from;
  std::string devices;  ///< `1,3`: of this machine, by name (`--include localhost:1,3`); "" = all
  std::vector<std::string> notes;
};

/// The nodes and processes that a line asks for: by its counts, by a hostfile (`host slots=N`) with
/// include or exclude specifications (`host:0,2@host2`), else what an allocation, the site or this
/// machine has. Of uneven hosts the smallest counts.
/// Errors: invalid_input, with `file:line` for the hostfile.
[[nodiscard]] Expected<LaunchResources> launch_resources(const LaunchLine& line,
                                                         const LaunchPlace& place);

struct LaunchStudyRequest {
  std::vector<std::string> argv;  ///< as it was typed
  StudyMode mode = StudyMode::tune;
  std::string name;                 ///< "" = made from the line
  std::string file;                 ///< where the study goes; "" = study-<name>.toml
  std::string workdir = ".";        ///< of the trials, relative to the study file
  std::string directory_of_config;  ///< put before a relative ds_config; "" = nothing
  std::string site;                 ///< as it is to be written; "" = none
  std::vector<std::string> slurm;   ///< further keys of [slurm], KEY=VALUE each
};

/// One thing that was understood, for people.
struct UnderstoodThing {
  std::string what;
  std::string value;
  std::string from;
};

/// A launch line as a study.
struct LaunchStudy {
  std::string name;
  std::string text;  ///< of a complete study.toml, with comments that say where each thing is from
  std::vector<UnderstoodThing> understood;
  UnderstoodThing config;  ///< the DeepSpeed config's file, as the line names it
  std::vector<std::string> notes;
};

/// Where the study of a launch line goes if nobody says.
[[nodiscard]] std::string study_file_of(std::string_view name);

/// Writes the study.toml that does what the line says.
/// Errors: invalid_input if the line names no DeepSpeed config, or holds it inline.
[[nodiscard]] Expected<LaunchStudy> launch_study(const LaunchLine& line,
                                                 const LaunchResources& resources,
                                                 const LaunchStudyRequest& request);

}  // namespace slurmtune
