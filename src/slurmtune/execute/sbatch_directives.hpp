// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "slurmtune/base/error.hpp"

namespace slurmtune {

/// One `#SBATCH --key=value`. A value that is absent in the script is "".
struct SbatchDirective {
  std::string key;  ///< without the dashes
  std::string value;

  bool operator==(const SbatchDirective&) const = default;
};

/// Checks one option of a site file (`--gpus-per-node=4`, `--exclusive`).
/// Errors: invalid_input for what is not `--key` or `--key=value`, for characters that do not
/// survive a #SBATCH line (quotes, backslashes, `#`, control characters), and for keys that are
/// ours to set (`--array`, `--dependency`, `--time`, …).
[[nodiscard]] Expected<SbatchDirective> parse_site_option(std::string_view option);

/// `#SBATCH --key="value"`, without a newline. Errors: invalid_input as above, but any key.
[[nodiscard]] Expected<std::string> render_directive(const SbatchDirective& directive);

/// The `#SBATCH` lines, without a newline after the last. Errors: as render_directive.
[[nodiscard]] Expected<std::string> render_directives(
    const std::vector<SbatchDirective>& directives);

/// The directives of a job script, in order: those before its first command, as sbatch(1) reads
/// them. Errors: invalid_input for a short option or an unfinished quotation.
[[nodiscard]] Expected<std::vector<SbatchDirective>> read_directives(std::string_view script);

/// The last value of a key, which is the one that counts.
[[nodiscard]] std::optional<std::string> directive_value(
    const std::vector<SbatchDirective>& directives, std::string_view key);

/// `HH:MM:SS`, the hours as many as they are. Slurm's own format; it rounds up to minutes.
[[nodiscard]] std::string format_walltime(std::chrono::seconds walltime);

/// Any form that sbatch(1) takes: `M`, `M:S`, `H:M:S`, `D-H`, `D-H:M`, `D-H:M:S`.
/// Errors: invalid_input.
[[nodiscard]] Expected<std::chrono::seconds> parse_walltime(std::string_view text);

/// Fills in `%A %a %j %x %%` of an output path (sbatch(1), filename pattern).
struct OutputNames {
  std::string job;   ///< `%A`, and `%j` of a single job
  std::string task;  ///< `%a`
  std::string name;  ///< `%x`
};
[[nodiscard]] std::string fill_output_pattern(std::string_view pattern, const OutputNames& names);

}  // namespace slurmtune
