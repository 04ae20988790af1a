// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace slurmtune {

/// Bytes that a GPU of that name offers: `A100-80GB`, `H100`, `MI250X`, `NVIDIA A100-SXM4-40GB`.
/// The size in its name, if there is one, else the one by its vendor's data sheet; of what is
/// written as GB, 99 % in GiB: the rest is the driver's (an A100 of 80 GB shows 79.15 GiB, an H100
/// 79.18, a V100 of 32 GB 31.75). An MI250X shows as two devices, each half of it. Nothing for a
/// name that is not known.
[[nodiscard]] std::optional<double> gpu_memory_named(std::string_view name);

/// `80GiB`, `80GB` (10^9), `80G` and `80` (GiB), `512MiB`, bytes with `B`; nothing for another
/// text or no positive size.
[[nodiscard]] std::optional<double> parse_bytes(std::string_view text);

/// The names of gpu_memory_named, for messages.
[[nodiscard]] std::vector<std::string_view> known_gpus();

}  // namespace slurmtune
