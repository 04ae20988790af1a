// SPDX-License-Identifier: MIT
#include "slurmtune/model/gpu_memory.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <utility>

namespace slurmtune {

namespace {

constexpr double gib = 1024.0 * 1024.0 * 1024.0;
constexpr double shown_share = 0.99;

// Data sheets; the first row whose name is in the text counts. Where a GPU is sold in two sizes,
// the larger, unless the text says a size.
constexpr std::array<std::pair<std::string_view, double>, 28> gpus{
    {{"GB300", 288.0}, {"B300", 288.0},   {"GB200", 192.0},  {"B200", 192.0},   {"GH200", 96.0},
     {"H200", 141.0},  {"H100", 80.0},    {"H800", 80.0},    {"H20", 96.0},     {"A100", 80.0},
     {"A800", 80.0},   {"V100", 32.0},    {"L40S", 48.0},    {"L40", 48.0},     {"A40", 48.0},
     {"A30", 24.0},    {"A10G", 24.0},    {"A10", 24.0},     {"L4", 24.0},      {"T4", 16.0},
     {"P100", 16.0},   {"MI355X", 288.0}, {"MI325X", 256.0}, {"MI300X", 192.0}, {"MI300A", 128.0},
     {"MI250X", 64.0}, {"MI210", 64.0},   {"MI100", 32.0}}};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string upper(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return result;
}

/// The number before `GB` in a name, in GB.
std::optional<double> size_in(std::string_view name) {
  const std::size_t unit = name.find("GB");
  if (unit == std::string_view::npos) return std::nullopt;
  std::size_t begin = unit;
  while (begin > 0 && (is_digit(name[begin - 1]) || name[begin - 1] == ' ')) --begin;
  while (begin < unit && name[begin] == ' ') ++begin;
  double size = 0.0;
  const auto [end, problem] = std::from_chars(name.data() + begin, name.data() + unit, size);
  return problem == std::errc{} && size > 0.0 ? std::optional(size) : std::nullopt;
}

bool is_word_in(std::string_view word, std::string_view text) {
  const auto is_part = [](char c) { return is_digit(c) || (c >= 'A' && c <= 'Z'); };
  for (auto at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    const bool begins = at == 0 || !is_part(text[at - 1]);
    if (begins && (end == text.size() || !is_part(text[end]))) return true;
  }
  return false;
}

}  // namespace

std::optional<double> gpu_memory_named(std::string_view name) {
  const std::string text = upper(name);
  for (const auto& [gpu, size] : gpus) {
    // "GB200" is a name, not a size.
    if (is_word_in(gpu, text)) return size_in(text).value_or(size) * shown_share * gib;
  }
  return std::nullopt;
}

std::optional<double> parse_bytes(std::string_view text) {
  double number = 0.0;
  const char* const last = text.data() + text.size();
  const auto [end, problem] = std::from_chars(text.data(), last, number);
  if (problem != std::errc{} || !(number > 0.0) || number > 1e18) return std::nullopt;
  const std::string unit = upper(std::string_view(end, static_cast<std::size_t>(last - end)));
  constexpr double mib = 1024.0 * 1024.0;
  constexpr std::array<std::pair<std::string_view, double>, 9> units{{{"", gib},
                                                                      {"G", gib},
                                                                      {"GIB", gib},
                                                                      {"GB", 1e9},
                                                                      {"MIB", mib},
                                                                      {"MB", 1e6},
                                                                      {"TIB", 1024.0 * gib},
                                                                      {"TB", 1e12},
                                                                      {"B", 1.0}}};
  for (const auto& [word, factor] : units) {
    if (unit == word) return number * factor;
  }
  return std::nullopt;
}

std::vector<std::string_view> known_gpus() {
  std::vector<std::string_view> names;
  names.reserve(gpus.size());
  for (const auto& [gpu, size] : gpus) names.push_back(gpu);
  return names;
}

}  // namespace slurmtune
