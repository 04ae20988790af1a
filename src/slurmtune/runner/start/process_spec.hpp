// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "slurmtune/runner/start/environment.hpp"
#include "slurmtune/runner/start/words.hpp"

namespace slurmtune {

/// How processes on other nodes are ended, besides by what ends with the launcher's own group.
enum class RemoteEnding {
  none,       ///< none of them is another's child
  interrupt,  ///< SIGINT to the launcher makes it kill its ranks (srun --quit-on-interrupt)
};

/// One process of a trial on one node.
struct ProcessSpec {
  std::vector<std::string> argv;
  Environment environment;
  std::string workdir;
  RemoteEnding remote = RemoteEnding::none;
  std::vector<int> cpus;  ///< that it may run on; empty = all that we may
};

[[nodiscard]] Words to_words(const ProcessSpec& spec);
[[nodiscard]] ProcessSpec read_process_spec(WordReader& words);

/// How a process ended.
struct ProcessEnd {
  std::optional<int> exit_code;
  std::optional<int> signal;
  double peak_bytes = 0;  ///< resident, of the largest among it and those it waited for

  [[nodiscard]] bool failed() const { return exit_code != 0; }
};

/// What happens to the processes of a trial on one node. `index` counts the processes that were
/// started there, then the outputs that were opened for ranks of a launcher.
struct NodeEvent {
  enum class Kind {
    output,        ///< `text` came from `index`
    output_ended,  ///< nothing more will come from `index`
    start_failed,  ///< `index` could not be started; `text` says why
    ended,         ///< `index` ended as `end` says
    gone,          ///< no process is left on the node; `text` is its NodeUsage
    stuck,         ///< one outlived SIGKILL (it waits for a dead file system); the same
  };
  Kind kind = Kind::output;
  int index = 0;
  std::string text;
  ProcessEnd end;
  long long oom_kills = 0;  ///< with `gone`: by the kernel, while the trial ran
};

[[nodiscard]] Words to_words(const NodeEvent& event);
[[nodiscard]] NodeEvent read_node_event(WordReader& words);

}  // namespace slurmtune
