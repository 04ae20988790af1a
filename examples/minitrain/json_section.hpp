// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "expected.hpp"

namespace minitrain {

/// What reading a configuration has found: the first error ends it, warnings do not.
struct Findings {
  std::string file;
  std::string error;
  std::vector<std::string> warnings;

  void fail(const std::string& where, const std::string& what);
};

/// One object of a JSON configuration, read key by key with the types that DeepSpeed wants.
/// An absent key and null are "not given"; what cannot be used is recorded in the findings.
class JsonSection {
 public:
  /// `value` may be null (no such section) and must outlive the section.
  JsonSection(const nlohmann::json* value, std::string path, Findings& findings);

  [[nodiscard]] bool exists() const { return object_ != nullptr; }
  [[nodiscard]] JsonSection section(std::string_view key) const;
  /// A whole number; 5e8 is one, 5.5 and "auto" are not.
  [[nodiscard]] std::optional<std::int64_t> integer(std::string_view key) const;
  [[nodiscard]] std::optional<double> number(std::string_view key) const;
  [[nodiscard]] std::optional<bool> boolean(std::string_view key) const;
  [[nodiscard]] std::optional<std::string> text(std::string_view key) const;
  [[nodiscard]] std::optional<std::vector<double>> numbers(std::string_view key) const;
  [[nodiscard]] std::string path_of(std::string_view key) const;
  /// Warns about every key that is not among these.
  void warn_of_others(std::initializer_list<std::string_view> known) const;

 private:
  [[nodiscard]] const nlohmann::json* find(std::string_view key) const;
  void refuse(std::string_view key, const nlohmann::json& value, std::string_view wanted) const;

  const nlohmann::json* object_;
  std::string path_;
  Findings& findings_;
};

/// Parses JSON text as DeepSpeed does: duplicate keys are an error, as is anything but an object.
[[nodiscard]] Expected<nlohmann::json> parse_json_object(std::string_view text,
                                                         const std::string& file);

}  // namespace minitrain
