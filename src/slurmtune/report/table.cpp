// SPDX-License-Identifier: MIT
#include "slurmtune/report/table.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace slurmtune {

namespace {

bool continues(char byte) { return (static_cast<unsigned char>(byte) & 0xc0U) == 0x80U; }

/// Bytes of the UTF-8 character at `at`.
std::size_t length_at(std::string_view text, std::size_t at) {
  std::size_t end = at + 1;
  while (end < text.size() && continues(text[end])) ++end;
  return end - at;
}

/// C0 and C1 controls and DEL: a terminal obeys them.
bool is_control(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return first < 0x20 || first >= 0x7f;
  return character.size() == 2 && first == 0xc2 && static_cast<unsigned char>(character[1]) < 0xa0;
}

}  // namespace

std::string paint(std::string_view text, Paint paint, Colour colour) {
  if (colour == Colour::never || paint == Paint::plain || text.empty()) return std::string(text);
  std::string_view code = "1";
  switch (paint) {
    case Paint::green: code = "32"; break;
    case Paint::red: code = "31"; break;
    case Paint::yellow: code = "33"; break;
    case Paint::bold:
    case Paint::plain: break;
  }
  return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

std::string one_line(std::string_view text, std::size_t width_max) {
  std::string line;
  std::size_t width = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view character = text.substr(at, length_at(text, at));
    if (width == width_max) return line + "…";
    if (is_control(character)) {
      line += ' ';
    } else {
      line += character;
    }
    ++width;
    at += character.size();
  }
  return line;
}

std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char byte) { return !continues(byte); }));
}

std::string node_hours(std::int64_t node_seconds) {
  return fmt::format("{:.2f}", static_cast<double>(node_seconds) / 3600.0);
}

std::string walltime_text(std::int64_t seconds) {
  return fmt::format("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
}

void Table::add(std::vector<std::string> cells, Paint paint) {
  cells.resize(columns_.size());
  rows_.push_back({std::move(cells), paint});
}

std::string Table::render(Colour colour) const {
  if (rows_.empty()) return "";
  std::vector<std::size_t> widths;
  for (const Column& column : columns_) widths.push_back(width_of(column.title));
  for (const Row& row : rows_) {
    for (std::size_t i = 0; i < widths.size(); ++i) {
      widths[i] = std::max(widths[i], width_of(row.cells[i]));
    }
  }
  const auto line_of = [&](const auto& cell_of) {
    std::string line;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const std::string& cell = cell_of(i);
      const std::string padding(widths[i] - width_of(cell), ' ');
      line += "  " + (columns_[i].align == Align::right ? padding + cell : cell + padding);
    }
    const std::size_t last = line.find_last_not_of(' ');
    line.resize(last == std::string::npos ? 0 : last + 1);
    return line;
  };
  const auto title = [&](std::size_t i) -> const std::string& { return columns_[i].title; };
  std::string text = paint(line_of(title), Paint::bold, colour) + "\n";
  for (const Row& row : rows_) {
    const auto cell = [&](std::size_t i) -> const std::string& { return row.cells[i]; };
    text += paint(line_of(cell), row.paint, colour) + "\n";
  }
  return text;
}

}  // namespace slurmtune
