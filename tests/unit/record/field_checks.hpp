// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <set>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "slurmtune/base/error.hpp"

namespace slurmtune {

/// Reads a record from one JSON text and tells only whether that worked.
using ReadRecord = std::function<Expected<void>(const std::string& text)>;

/// Checks, for each field of the object at `pointer` (RFC 6901) in `whole`, that leaving it out is
/// refused with corrupt_data, `where` and its name if it is in `required`, and accepted if not;
/// and that a field that nobody knows is ignored.
void check_fields(const nlohmann::json& whole, const std::string& pointer,
                  const std::set<std::string>& required, const std::string& where,
                  const ReadRecord& read);

/// Reads `text` `times` times with a few bytes changed, lost or doubled: it must be read, or
/// refused with a message that begins with `path`.
void check_damaged(const std::string& text, int times, const std::string& path,
                   const ReadRecord& read);

/// The bytes of a file below tests/data.
[[nodiscard]] std::string test_data(const std::string& path);

}  // namespace slurmtune
