// SPDX-License-Identifier: MIT
#include "slurmtune/space/json_path.hpp"

#include <string>

#include <nlohmann/json.hpp>

namespace slurmtune {

const Json* json_at(const Json& document, std::string_view path) {
  const Json* at = &document;
  while (!path.empty()) {
    const std::size_t dot = path.find('.');
    const std::string key(path.substr(0, dot));
    if (!at->is_object() || !at->contains(key)) return nullptr;
    at = &(*at)[key];
    path = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
  }
  return at;
}

}  // namespace slurmtune
