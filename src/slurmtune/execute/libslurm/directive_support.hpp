// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "slurmtune/execute/sbatch_directives.hpp"

namespace slurmtune {

// The #SBATCH lines of a script are read by sbatch, not by libslurm: our client for libslurm reads
// those that it knows.

/// The first directive that the libslurm client cannot express; such a job has to go by sbatch.
[[nodiscard]] std::optional<SbatchDirective> unknown_to_libslurm(
    const std::vector<SbatchDirective>& directives);

/// `--signal=[B:]NAME@SECONDS`
struct WarningSignal {
  int number = 0;
  int seconds = 60;  ///< before the end of the job; Slurm's default
  bool batch_only = false;

  bool operator==(const WarningSignal&) const = default;
};
[[nodiscard]] std::optional<WarningSignal> parse_warning_signal(std::string_view text);

/// `--mail-type`, as far as our own scripts have it: BEGIN, END and FAIL, with commas.
struct MailTypes {
  bool begin = false;
  bool end = false;
  bool fail = false;

  bool operator==(const MailTypes&) const = default;
};
[[nodiscard]] std::optional<MailTypes> parse_mail_types(std::string_view text);

/// `--mem`: mebibytes, from a number with a suffix K M G T, or none for M.
[[nodiscard]] std::optional<std::uint64_t> parse_mebibytes(std::string_view text);

/// A whole number from 1.
[[nodiscard]] std::optional<std::uint32_t> parse_count(std::string_view text);

}  // namespace slurmtune
