// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "slurmtune/report/text.hpp"

namespace slurmtune {

enum class Paint { plain, bold, green, red, yellow };

/// The text in a terminal's colours, or as it is.
[[nodiscard]] std::string paint(std::string_view text, Paint paint, Colour colour);

/// Text of others (a trial, a batch system) as one line of at most `width_max` characters: what
/// could move the cursor or change colours becomes a space, what is cut off `…`.
[[nodiscard]] std::string one_line(std::string_view text, std::size_t width_max = 200);

/// Characters of a UTF-8 text.
[[nodiscard]] std::size_t width_of(std::string_view text);

/// `1.25`, from node-seconds.
[[nodiscard]] std::string node_hours(std::int64_t node_seconds);

/// `H:MM:SS`.
[[nodiscard]] std::string walltime_text(std::int64_t seconds);

/// Rows of cells in aligned columns, indented by two, under a heading. Cells are never cut.
class Table {
 public:
  enum class Align { left, right };
  struct Column {
    std::string title;
    Align align = Align::left;
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// Missing cells are empty.
  void add(std::vector<std::string> cells, Paint paint = Paint::plain);
  [[nodiscard]] bool empty() const { return rows_.empty(); }
  /// "" without rows.
  [[nodiscard]] std::string render(Colour colour) const;

 private:
  struct Row {
    std::vector<std::string> cells;
    Paint paint = Paint::plain;
  };

  std::vector<Column> columns_;
  std::vector<Row> rows_;
};

}  // namespace slurmtune
